"""Runs the races, prints them, keeps them as JSON, and writes the README's table between its markers."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version

from tests.bench import show
from tests.bench.board import Board
from tests.bench.measure import WORKLOADS, Race, sit
from tests.bench.peers import JUDGES, OURS, PEERS, Peer
from tests.bench.texts import KINDS, texts_by_kind
from tests.bench.vocabularies import JSON_OF_RANK_FILE, vocabulary

N_SITTINGS = 3


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--tokenizer", action="append", help="only these; default: all")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these texts")
    parser.add_argument(
        "--workload", action="append", default=[], help="only workloads with this in their name"
    )
    parser.add_argument("--peer", action="append", help="only these peers")
    parser.add_argument("--sittings", type=int, default=N_SITTINGS)
    return parser.parse_args()


def installed(peer: Peer) -> bool:
    try:
        version(peer.name)
    except PackageNotFoundError:
        print(f"{peer.name} is not installed")
        return False
    return True


def main() -> None:
    chosen = options()
    peers = [peer for peer in PEERS if (not chosen.peer or peer.name in chosen.peer) and installed(peer)]
    workloads = [
        w for w in WORKLOADS if not chosen.workload or any(part in w.name for part in chosen.workload)
    ]
    board = Board()
    texts = texts_by_kind()
    for name in chosen.tokenizer or JSON_OF_RANK_FILE:
        v = vocabulary(name)
        judge = JUDGES[v.format]
        base = v if v.format == "tiktoken" else vocabulary("cl100k_base")
        runners = list(dict.fromkeys([OURS, judge, *peers]))
        race = Race(v, runners, judge, base)
        for kind in chosen.kind or texts:
            for number in range(chosen.sittings):
                sit(race, kind, texts[kind], workloads, board, number)
            print(
                "\n".join(
                    show.lines(board, name, kind, [w.name for w in workloads], [r.name for r in runners])
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
