"""CPU time of ours and of a reference on one workload, in turn, with the ids compared before anything is measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokenwire_core.encoder import Encoder

from tests.bench.texts import documents, short_strings

N_ROUNDS = 9
N_DOCUMENTS = 16
ROUND_S = 0.05

Work = Callable[[Sequence[str]], object]


@dataclass(frozen=True, slots=True)
class Result:
    """One row: medians of CPU nanoseconds per byte of UTF-8, and how many times as fast ours is."""

    tokenizer: str
    workload: str
    kind: str
    ours_ns_per_byte: float
    reference_ns_per_byte: float

    @property
    def ratio(self) -> float:
        return self.reference_ns_per_byte / self.ours_ns_per_byte


class Race:
    """Our encoder of one artifact, and how the reference implementation makes a list of ids."""

    def __init__(self, name: str, ours: Encoder, theirs: Callable[[str], list[int]]) -> None:
        self.name = name
        self.ours = ours
        self.theirs = theirs

    def run(self, kind: str, text: str) -> list[Result]:
        """Every workload on one kind of text."""
        assert self.ours.encode(text).ids == self.theirs(text), "the ids differ"
        same = documents(text, 0, N_DOCUMENTS)
        encode, count = self.ours.encode, self.ours.count
        reference = self.theirs
        lists: tuple[Work, Work] = (
            lambda texts: [encode(t).ids for t in texts],
            lambda texts: [reference(t) for t in texts],
        )
        counts: tuple[Work, Work] = (
            lambda texts: [count(t) for t in texts],
            lambda texts: [len(reference(t)) for t in texts],
        )
        fresh = [documents(text, N_DOCUMENTS * (1 + i), N_DOCUMENTS) for i in range(N_ROUNDS)]
        return [
            self._measure(
                "list of ids, repeated 4 KB documents", kind, *lists, [same] * N_ROUNDS, repeat=True
            ),
            self._measure("list of ids, new 4 KB documents", kind, *lists, fresh, repeat=False),
            self._measure(
                "list of ids, 40-byte strings", kind, *lists, [short_strings(same)] * N_ROUNDS, repeat=True
            ),
            self._measure("count, repeated 4 KB documents", kind, *counts, [same] * N_ROUNDS, repeat=True),
        ]

    def _measure(
        self, workload: str, kind: str, ours: Work, theirs: Work, rounds: list[list[str]], *, repeat: bool
    ) -> Result:
        """Medians over rounds in which the two take turns. Texts that are new may be encoded only once."""
        if repeat:
            assert ours(rounds[0]) == theirs(rounds[0])
        ours_ns, theirs_ns = [], []
        for texts in rounds:
            n_bytes = sum(len(text.encode()) for text in texts)
            ours_ns.append(_cpu_ns(ours, texts, repeat) / n_bytes)
            theirs_ns.append(_cpu_ns(theirs, texts, repeat) / n_bytes)
        return Result(self.name, workload, kind, statistics.median(ours_ns), statistics.median(theirs_ns))


def _cpu_ns(work: Work, texts: Sequence[str], repeat: bool) -> float:
    """CPU nanoseconds of one pass; where the texts may be repeated, the mean over ROUND_S of passes."""
    n_passes, spent, start = 0, 0, time.process_time_ns()
    while spent < ROUND_S * 1e9:
        work(texts)
        n_passes += 1
        spent = time.process_time_ns() - start
        if not repeat:
            break
    return spent / n_passes
