"""Sittings: fresh processes of all libraries, on one vocabulary and one kind of text, which take turns.

A library's first pass in a sitting is its cold row, and all it knows when new documents come. Then the same ones come
again and again. In each round every library encodes the same texts, in an order that rotates; a ratio is of the base's
time to the library's in that round, and a row's figure the median over the rounds of all sittings. What was timed is
what is compared with the judge's ids, text by text; the first sitting also compares all documents of the kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tests.bench.board import Board, Place
from tests.bench.peers import OURS, TIKTOKEN, CallName, Peer, Vocabulary
from tests.bench.texts import documents, short_strings
from tests.bench.worker import Answer, LostError, Timed, Turn, Worker

N_SAME = 16
N_NEW = 36
N_COLD = 95
N_ROUNDS = 3
"""Of a repeated workload in a sitting; what is cold or new has one."""
ROUND_S = 0.01
N_DOCUMENTS = 250
"""At most so many of a kind are looked at."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What is asked of every library."""

    name: str
    mode: Literal["cold", "new", "repeated"]
    call: CallName
    is_short: bool = False


WORKLOADS = (
    Workload("id buffer, cold process", "cold", "buffer"),
    Workload("id buffer, new text", "new", "buffer"),
    Workload("id buffer, repeated text", "repeated", "buffer"),
    Workload("list of ids, new text", "new", "list"),
    Workload("list of ids, repeated text", "repeated", "list"),
    Workload("count, new text", "new", "count"),
    Workload("count, repeated text", "repeated", "count"),
    Workload("40-byte strings, buffer", "repeated", "buffer", is_short=True),
    Workload("40-byte strings, list", "repeated", "list", is_short=True),
    Workload("40-byte strings, count", "repeated", "count", is_short=True),
)
CALLS: tuple[CallName, ...] = ("list", "count", "buffer")
"""In the order of their new texts."""
N_BEFORE_COLD = N_SAME + N_NEW * len(CALLS)


@dataclass(frozen=True, slots=True)
class Race:
    """Who runs with which vocabulary."""

    vocabulary: Vocabulary
    peers: Sequence[Peer]
    """Ours and the judge are among them."""
    judge: Peer
    """Its list of ids is the truth."""
    base: Vocabulary
    """With it, tiktoken's list of ids takes the time that is 1.0."""


def sit(race: Race, kind: str, text: str, workloads: Sequence[Workload], board: Board, number: int) -> None:
    """The sitting of this number; its rows go to the board. ValueError if the text has too few documents."""
    every = documents(text, 0, N_DOCUMENTS)
    if len(every) <= N_BEFORE_COLD:
        raise ValueError(f"{kind} has {len(every)} documents, and a sitting needs more than {N_BEFORE_COLD}")
    sitting = _Sitting(race, kind, board)
    try:
        for offset, (workload, turn) in enumerate(_turns(every, workloads)):
            sitting.round(workload, turn, number + offset)
        if number == 0:
            sitting.compare(every)
    finally:
        sitting.close()


def _turns(every: Sequence[str], workloads: Sequence[Workload]) -> Iterator[tuple[Workload | None, Turn]]:
    """The rounds of a sitting, in order; those of no workload only make all libraries equally warm."""
    cold = every[N_BEFORE_COLD : N_BEFORE_COLD + N_COLD]
    yield _wanted(workloads, "cold", "buffer"), Turn("buffer", cold)
    for number, call in enumerate(CALLS):
        start = N_SAME + number * N_NEW
        yield _wanted(workloads, "new", call), Turn(call, every[start : start + N_NEW], warm=cold)
    same = every[:N_SAME]
    for workload in workloads:
        if workload.mode == "repeated":
            texts = short_strings(same) if workload.is_short else same
            turn = Turn(workload.call, texts, texts, ROUND_S, one_by_one=workload.is_short)
            yield from itertools.repeat((workload, turn), N_ROUNDS)


def _wanted(workloads: Sequence[Workload], mode: str, call: CallName) -> Workload | None:
    return next((w for w in workloads if (w.mode, w.call) == (mode, call)), None)


class _Sitting:
    """The processes of a sitting by the names of their libraries."""

    def __init__(self, race: Race, kind: str, board: Board) -> None:
        self._race = race
        self._kind = kind
        self._board = board
        self._workers: dict[str, Worker] = {}
        self._names = {peer.name for peer in race.peers}
        self._base = TIKTOKEN.name
        try:
            if race.base != race.vocabulary:
                self._base = f"{TIKTOKEN.name} with {race.base.name}"
                self._start(self._base, TIKTOKEN, race.base)
            for peer in race.peers:
                self._start(peer.name, peer, race.vocabulary)
        except BaseException:
            self.close()
            raise

    def round(self, workload: Workload | None, turn: Turn, number: int) -> None:
        """Everyone's turn at the same texts. Who begins differs from one number to the next."""
        is_cold = workload is not None and workload.mode == "cold"
        sides = self._sides(turn.call, is_cold=is_cold)
        first = number % len(sides)
        timed: dict[tuple[str, CallName], Timed] = {}
        for name, call in sides[first:] + sides[:first]:
            if (found := self._turn(name, replace(turn, call=call))) is not None:
                timed[name, call] = found
        if workload is None:
            return
        place = Place(self._race.vocabulary.name, self._kind, workload.name)
        n_bytes = sum(len(text.encode()) for text in turn.texts)
        base = timed[self._base, "list"]
        truth = self._truth(turn.texts)
        for (name, call), found in timed.items():
            if name in self._names and (call == turn.call or is_cold):
                row = self._board.row(place, name)
                row.ns_per_byte.append(found.cpu_ns / n_bytes)
                row.ratios.append(base.cpu_ns / found.cpu_ns)
                row.n_texts += len(truth)
                row.n_different += len(_different(found.answers, truth))

    def compare(self, texts: Sequence[str]) -> None:
        """The share of these texts that each library gets wrong by any of its calls."""
        truth = self._truth(texts)
        for name in self._names & self._workers.keys():
            wrong: set[int] = set()
            for call in self._workers[name].ready.calls:
                if (found := self._turn(name, Turn(call, texts))) is not None:
                    wrong |= _different(found.answers, truth)
            self._board.shares_wrong[self._race.vocabulary.name, self._kind, name] = len(wrong) / len(texts)

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers.values():
            worker.close()

    def _sides(self, wanted: CallName, *, is_cold: bool) -> list[tuple[str, CallName]]:
        """Who is asked for what: the base for its list, the others for what is wanted, if they have it.

        Cold, each is asked once: for its list if it does not have what is wanted.
        """
        sides: dict[tuple[str, CallName], None] = {(self._base, "list"): None}
        for name, worker in self._workers.items():
            if not is_cold and wanted in worker.ready.calls:
                sides[name, wanted] = None
            elif is_cold and name != self._base:
                sides[name, wanted if wanted in worker.ready.calls else "list"] = None
        return list(sides)

    def _start(self, name: str, peer: Peer, vocabulary: Vocabulary) -> None:
        if (self._race.vocabulary.name, self._kind, name) in self._board.absences:
            return
        try:
            worker = self._workers[name] = Worker(peer, vocabulary)
        except LostError as lost:
            self._lose(name, lost)
        else:
            self._board.loads.setdefault((vocabulary.name, name), []).append(worker.ready)

    def _turn(self, name: str, turn: Turn) -> Timed | None:
        """What the turn cost; None if the library is lost, now or before."""
        if name not in self._workers:
            return None
        try:
            return self._workers[name].turn(turn)
        except LostError as lost:
            del self._workers[name]
            self._lose(name, lost)
            return None

    def _lose(self, name: str, lost: LostError) -> None:
        """A library that is lost is named with the reason; without ours, the judge or the base there is no race."""
        if name in (OURS.name, self._race.judge.name, self._base):
            raise lost
        self._board.absences[self._race.vocabulary.name, self._kind, name] = str(lost)

    def _truth(self, texts: Sequence[str]) -> list[Answer]:
        return self._workers[self._race.judge.name].turn(Turn("list", texts)).answers


def _different(answers: Sequence[Answer], truth: Sequence[Answer]) -> set[int]:
    """The numbers of the texts that came out other than in truth; a count has no digest to compare."""
    pairs = zip(answers, truth, strict=True)
    return {
        number
        for number, ((n_ids, digest), (n_true, true_digest)) in enumerate(pairs)
        if n_ids != n_true or (digest and digest != true_digest)
    }
