"""Worst cases: strings of 1 MB that are one piece or a million, each encoded once by a process that has not seen it.

A round is a fresh process for each library, which meets the cases one after the other, in turns. What a library does
not finish within `LIMIT_S` is given up and shown so. Ratios are to ours: tiktoken does not survive every case.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from tests.bench.board import Board, Place
from tests.bench.measure import Race
from tests.bench.peers import OURS, CallName, Peer
from tests.bench.worker import LostError, Timed, Turn, Worker

KIND = "1 MB"
N_BYTES = 1_000_000
N_ROUNDS = 3
LIMIT_S = 5.0
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


def _repeated(unit: str) -> str:
    return unit * (N_BYTES // len(unit.encode()))


def _random(first: str, last: str) -> str:
    alphabet = [chr(code) for code in range(ord(first), ord(last) + 1)]
    return "".join(random.Random(1).choices(alphabet, k=N_BYTES // len(first.encode())))


CASES: Mapping[str, Callable[[], str]] = {
    "blanks": lambda: _repeated(" "),
    "newlines": lambda: _repeated("\n"),
    "dashes": lambda: _repeated("-"),
    "one letter": lambda: _repeated("a"),
    "random letters": lambda: _random("a", "z"),
    "CJK": lambda: _random("\u4e00", "\u9fa5"),
    "ZWJ emoji": lambda: _repeated(FAMILY),
}


def meet(
    race: Race, board: Board, cases: Mapping[str, Callable[[], str]] = CASES, limit_s: float = LIMIT_S
) -> None:
    """All rounds of all cases; their rows go to the board.

    The judge's ids are the truth, or else those of the first other library that has an answer.
    """
    for _ in range(N_ROUNDS):
        workers: dict[str, Worker] = {}
        try:
            for name, make in cases.items():
                _round(race, Place(race.vocabulary.name, KIND, name), make(), workers, board, limit_s)
        finally:
            for worker in workers.values():
                worker.close()


def _round(
    race: Race, place: Place, text: str, workers: dict[str, Worker], board: Board, limit_s: float
) -> None:
    found: dict[str, Timed] = {}
    for peer in race.peers:
        if (place.tokenizer, KIND, peer.name) in board.absences or (place, peer.name) in board.given_up:
            continue
        worker = workers.get(peer.name) or _start(race, peer, board)
        if worker is None:
            continue
        workers[peer.name] = worker
        call: CallName = "buffer" if "buffer" in worker.ready.calls else "list"
        try:
            found[peer.name] = worker.turn(Turn(call, [text], limit_s=limit_s))
        except LostError as lost:
            del workers[peer.name]
            if peer.name == OURS.name:
                raise
            board.given_up[place, peer.name] = str(lost)
    first_other = next((timed for name, timed in found.items() if name != OURS.name), found[OURS.name])
    truth = found.get(race.judge.name, first_other).answers
    for name, timed in found.items():
        row = board.row(place, name)
        row.ns_per_byte.append(timed.cpu_ns / len(text.encode()))
        row.ratios.append(found[OURS.name].cpu_ns / timed.cpu_ns)
        row.n_texts += 1
        row.n_different += timed.answers != truth


def _start(race: Race, peer: Peer, board: Board) -> Worker | None:
    try:
        return Worker(peer, race.vocabulary)
    except LostError as lost:
        if peer.name == OURS.name:
            raise
        board.absences[race.vocabulary.name, KIND, peer.name] = str(lost)
        return None
