"""Runs the races and prints what they find; a run of everything also writes the README's table, docs and JSON.

`make bench` is everything, in about a quarter of an hour. While the core changes, `--quick` looks at what matters
most in half a minute, or name what to look at: `--tokenizer cl100k_base --kind English --workload new`.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import platform
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.bench import page, plot, show, worst
from tests.bench.board import Board
from tests.bench.measure import WORKLOADS, Race, Workload, sit
from tests.bench.peers import JUDGES, OURS, PEERS, Peer
from tests.bench.texts import KINDS, texts_by_kind
from tests.bench.vocabularies import JSON_OF_RANK_FILE, MissingError, vocabulary

ROOT = Path(__file__).parents[2]
TABLE = re.compile(r"(?<=<!-- bench:start -->\n).*?(?=<!-- bench:end -->)", re.S)
RANK_FILES = tuple(JSON_OF_RANK_FILE)
OTHERS = (
    *("llama3_1", "qwen3", "gemma3", "minilm_bert_uncased", "xlm_roberta"),
    *("mistral_v1", "xlm_roberta_sp"),
)
OTHERS_KINDS = ("English", "mixed")
OTHERS_WORKLOADS = (
    *(
        "id buffer, new text",
        "id buffer, repeated text",
        "list of ids, new text",
        "list of ids, repeated text",
    ),
    *("count, repeated text", "40-byte strings, list"),
)
N_SITTINGS = 3
N_OTHERS_SITTINGS = 1
QUICK_PEERS = ("tiktoken", "gigatoken", "fastokens", "toktok-rs")
QUICK_WORKLOADS = ("buffer, new", "buffer, repeated", "count, repeated", "40-byte")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--tokenizer", action="append", choices=[*RANK_FILES, *OTHERS], help="only these")
    parser.add_argument("--kind", action="append", choices=[*KINDS, worst.KIND], help="only these texts")
    parser.add_argument("--workload", action="append", help="only workloads with this in their name")
    parser.add_argument("--peer", action="append", choices=[peer.name for peer in PEERS], help="only these")
    parser.add_argument(
        "--sittings", type=int, help=f"fresh processes for each kind; {N_SITTINGS} if not given"
    )
    parser.add_argument("--quick", action="store_true", help="cl100k_base, English, the fastest peers, once")
    chosen = parser.parse_args()
    chosen.is_all = not any(vars(chosen).values())
    if chosen.quick:
        chosen.tokenizer = chosen.tokenizer or ["cl100k_base"]
        chosen.kind = chosen.kind or ["English"]
        chosen.peer = chosen.peer or list(QUICK_PEERS)
        chosen.workload = chosen.workload or list(QUICK_WORKLOADS)
        chosen.sittings = chosen.sittings or 1
    return chosen


def installed(peers: Sequence[Peer]) -> list[Peer]:
    """Those of the peers that can be raced; the others are named."""
    found = []
    for peer in peers:
        try:
            version(peer.name)
        except PackageNotFoundError:
            print(f"{peer.name} is not in the race: it is not installed")
        else:
            found.append(peer)
    return found


def machine() -> str:
    """The processor's own name, where the system tells it."""
    information = Path("/proc/cpuinfo")
    match = (
        re.search(r"^model name\s*: (.*)$", information.read_text(), re.M) if information.exists() else None
    )
    return match[1] if match else platform.machine()


def chosen_workloads(tokenizer: str, parts: Sequence[str] | None) -> list[Workload]:
    """Those with one of the parts in their name; without parts, all, or what other vocabularies are asked."""
    if parts:
        return [workload for workload in WORKLOADS if any(part in workload.name for part in parts)]
    return [
        workload for workload in WORKLOADS if tokenizer in RANK_FILES or workload.name in OTHERS_WORKLOADS
    ]


def race_of(tokenizer: str, peers: Sequence[Peer]) -> Race:
    """All of the peers with this vocabulary. MissingError where it cannot be had."""
    chosen = vocabulary(tokenizer)
    judge = JUDGES[chosen.format]
    base = chosen if chosen.format == "tiktoken" else vocabulary(RANK_FILES[0])
    return Race(chosen, tuple(dict.fromkeys([OURS, judge, *peers])), judge, base)


def keep(board: Board, bases: dict[str, str], peers: Sequence[Peer]) -> None:
    """The README's table, the page and the picture of docs/, and all figures as JSON."""
    names = [OURS.name, *(peer.name for peer in peers)]
    versions = ", ".join(f"{peer.name} {version(peer.name)}" for peer in peers)
    where = f"{versions}; Python {platform.python_version()}, {machine()}"
    readme = ROOT / "README.md"
    where_in_short = f"tiktoken {version('tiktoken')}, Python {platform.python_version()}, {machine()}"
    table = page.readme_table(board, where_in_short)
    readme.write_text(TABLE.sub(lambda _: table, readme.read_text()))
    (ROOT / "docs" / "bench.md").write_text(page.page(board, where, bases, names))
    (ROOT / "docs" / "bench.svg").write_text(plot.plot(board))
    rows = [
        {
            **dataclasses.asdict(row.place),
            "peer": row.peer,
            "ns_per_byte": [round(figure, 3) for figure in row.ns_per_byte],
            "ratios": [round(ratio, 3) for ratio in row.ratios],
            "is_exact": board.is_exact(row),
        }
        for row in board.rows.values()
    ]
    taken = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    results = ROOT / ".cache" / "bench.json"
    results.write_text(json.dumps({"taken": taken, "where": where, "rows": rows}, indent=1) + "\n")
    print("written: README.md, docs/bench.md, docs/bench.svg, .cache/bench.json")


def main() -> None:
    chosen = options()
    peers = installed([peer for peer in PEERS if not chosen.peer or peer.name in chosen.peer])
    texts = texts_by_kind()
    board, bases = Board(), {}
    for kind in KINDS:
        if kind not in texts:
            print(f"{kind} text: not run, TOKENWIRE_TEST_DATA is not set")
    for tokenizer in chosen.tokenizer or [*RANK_FILES, *OTHERS]:
        try:
            race = race_of(tokenizer, peers)
        except MissingError as missing:
            print(f"{tokenizer}: not run, {missing}")
            continue
        is_main = tokenizer in RANK_FILES
        bases[tokenizer] = race.base.name
        workloads = chosen_workloads(tokenizer, chosen.workload)
        for kind in chosen.kind or ([*KINDS, worst.KIND] if is_main else OTHERS_KINDS):
            if kind == worst.KIND:
                worst.meet(race, board)
            elif kind in texts:
                for number in range(chosen.sittings or (N_SITTINGS if is_main else N_OTHERS_SITTINGS)):
                    sit(race, kind, texts[kind], workloads, board, number)
            names = [peer.name for peer in race.peers]
            print(*show.lines(board, tokenizer, kind, race.base.name, names), sep="\n", flush=True)
    if wrong := [
        row.place for row in board.rows.values() if row.peer == OURS.name and not board.is_exact(row)
    ]:
        raise SystemExit(
            f"the ids of {OURS.name} are not the reference's: {wrong[0]} and {len(wrong) - 1} more"
        )
    if chosen.is_all:
        keep(board, bases, peers)


if __name__ == "__main__":
    main()
