"""Runs the races, prints them, keeps them as JSON, and writes the README's table between its markers.

With names of artifacts (`python -m tests.bench llama2 xlm_roberta_sp`) those race their own libraries instead, and
nothing is kept.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

import tokenwire_core
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from tests import artifact_files
from tests.bench.measure import Race, Result
from tests.bench.texts import texts_by_kind
from tests.rank_files import ours, theirs

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / ".cache" / "bench.json"
TABLE = re.compile(r"(?<=<!-- bench:start -->\n).*?(?=<!-- bench:end -->)", re.S)
TOKENIZERS = ("cl100k_base", "o200k_base")


def machine() -> str:
    """The processor's own name, where the system tells it."""
    information = Path("/proc/cpuinfo")
    match = (
        re.search(r"^model name\s*: (.*)$", information.read_text(), re.M) if information.exists() else None
    )
    return match[1] if match else platform.machine()


def table(results: list[Result], where: str) -> str:
    """A Markdown table with a column per tokenizer and kind: how many times as fast as tiktoken."""
    columns = list(dict.fromkeys((r.tokenizer, r.kind) for r in results))
    cells = {(r.workload, r.tokenizer, r.kind): f"{r.ratio:.1f}" for r in results}
    lines = [
        "| times as fast as tiktoken | " + " | ".join(f"{name}, {kind}" for name, kind in columns) + " |"
    ]
    lines.append("|---" * (len(columns) + 1) + "|")
    for workload in dict.fromkeys(r.workload for r in results):
        lines.append(f"| {workload} | " + " | ".join(cells[workload, *column] for column in columns) + " |")
    return "\n".join([*lines, "", f"`make bench`, one thread, medians of CPU time, equal ids; {where}.", ""])


def of_library(name: str) -> Race:
    """The race of a tokenizer.json or SentencePiece model with the library of its format, at its fastest for ids."""
    data = artifact_files.artifact(name)
    if artifact_files.TABLE[name].format == "sentencepiece":
        model = SentencePieceProcessor(model_proto=data)
        return Race(name, tokenwire_core.load(data, "sentencepiece"), model.encode)
    tokenizer = Tokenizer.from_buffer(data)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True

    def ids(text: str) -> list[int]:
        (encoding,) = tokenizer.encode_batch_fast([text], add_special_tokens=False)
        return list(encoding.ids)

    return Race(name, tokenwire_core.load(data, "hf_json"), ids)


def run(races: Iterable[Race]) -> list[Result]:
    results: list[Result] = []
    texts = texts_by_kind()
    if "mixed" not in texts:
        print("mixed languages: not run, TOKENWIRE_TEST_DATA is not set")
    for race in races:
        for kind, text in texts.items():
            for result in race.run(kind, text):
                results.append(result)
                print(
                    f"{race.name:12} {kind:8} {result.workload:38} {result.ratio:5.1f}x"
                    f"  ({result.ours_ns_per_byte:6.2f} against {result.reference_ns_per_byte:6.2f} ns per byte)",
                    flush=True,
                )
    return results


def main(names: Sequence[str]) -> None:
    if names:
        run(map(of_library, names))
        return
    results = run(Race(name, ours(name), theirs(name).encode_ordinary) for name in TOKENIZERS)
    where = f"tiktoken {version('tiktoken')}, Python {platform.python_version()}, {machine()}"
    RESULTS.parent.mkdir(exist_ok=True)
    rows = [{**dataclasses.asdict(result), "ratio": round(result.ratio, 2)} for result in results]
    taken = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    RESULTS.write_text(json.dumps({"taken": taken, "where": where, "results": rows}, indent=2) + "\n")
    readme = ROOT / "README.md"
    readme.write_text(TABLE.sub(lambda _: table(results, where), readme.read_text()))
    print(f"kept in {RESULTS.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
