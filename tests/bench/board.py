"""What a run of the benchmark finds: a row for each library in each place, and why a library has none."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.bench.peers import OURS
from tests.bench.worker import Ready


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands: what was encoded, and how."""

    tokenizer: str
    kind: str
    workload: str


@dataclass(slots=True)
class Row:
    """One library in one place: a figure for each round, and how many texts it got wrong."""

    place: Place
    peer: str
    ns_per_byte: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    """How many times as fast as the base, in the same round."""
    n_texts: int = 0
    n_different: int = 0

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def mb_per_s(self) -> float:
        """Megabytes of UTF-8 for each second of CPU time, by the median round."""
        return 1000 / statistics.median(self.ns_per_byte)


@dataclass(slots=True)
class Board:
    """All that a run found."""

    rows: dict[tuple[Place, str], Row] = field(default_factory=dict)
    """By place and peer."""
    given_up: dict[tuple[Place, str], str] = field(default_factory=dict)
    """By place and peer: why there is no row, where the library has others of the kind."""
    absences: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """By tokenizer, kind and peer: why the library is not in the race, or not to its end."""
    shares_wrong: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """By tokenizer, kind and peer: the share of the kind's documents that came out other than the judge's."""
    loads: dict[tuple[str, str], list[Ready]] = field(default_factory=dict)
    """By tokenizer and peer: what each process took until it could encode."""

    def row(self, place: Place, peer: str) -> Row:
        """The row, made if it is not there."""
        return self.rows.setdefault((place, peer), Row(place, peer))

    def is_exact(self, row: Row) -> bool:
        """Whether no text of the row and no document of its kind came out other than the judge's."""
        share = self.shares_wrong.get((row.place.tokenizer, row.place.kind, row.peer), 0.0)
        return row.n_different == 0 and share == 0.0

    def best_peer(self, place: Place) -> Row | None:
        """The bar: the fastest library there beside ours, of those that are exact."""
        rivals = [
            row
            for (there, peer), row in self.rows.items()
            if there == place and peer != OURS.name and self.is_exact(row)
        ]
        return max(rivals, key=lambda row: row.ratio, default=None)

    def against_best(self, place: Place) -> float | None:
        """Our ratio to the bar's; None where there is no bar."""
        ours, best = self.rows.get((place, OURS.name)), self.best_peer(place)
        return ours.ratio / best.ratio if ours and best else None

    def remarks(self, tokenizer: str, kind: str) -> Iterator[str]:
        """Who is wrong there, and who is not in the race and why."""
        for (*where, peer), share in self.shares_wrong.items():
            if where == [tokenizer, kind] and share:
                yield f"{peer}: {share:.1%} of the documents have other ids"
        for row in self.rows.values():
            if (row.place.tokenizer, row.place.kind) == (tokenizer, kind) and row.n_different:
                yield f"{row.peer}, {row.place.workload}: {row.n_different} of {row.n_texts} texts came out otherwise"
        for (place, peer), reason in self.given_up.items():
            if (place.tokenizer, place.kind) == (tokenizer, kind):
                yield f"{peer}, {place.workload}: {reason}"
        peers_by_reason: dict[str, list[str]] = {}
        for (*where, peer), reason in self.absences.items():
            if where == [tokenizer, kind]:
                peers_by_reason.setdefault(reason, []).append(peer)
        for reason, peers in peers_by_reason.items():
            yield f"not in the race: {', '.join(peers)}: {reason}"
