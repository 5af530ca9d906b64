"""What a run of the benchmark finds: a row for each library at each workload, and why a library has none."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from tests.bench.peers import OURS


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
    """How many times as fast as the base's list of ids, in the same round."""
    n_texts: int = 0
    n_different: int = 0

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)


@dataclass(slots=True)
class Board:
    """All rows of a run."""

    rows: dict[tuple[Place, str], Row] = field(default_factory=dict)
    shares_wrong: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """By tokenizer, kind and peer: the share of the kind's documents with other ids or counts than the reference's."""
    absences: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """By tokenizer, kind and peer: why it was not measured, or not to the end."""

    def row(self, place: Place, peer: str) -> Row:
        """The row, made if it is not there."""
        return self.rows.setdefault((place, peer), Row(place, peer))

    def is_exact(self, row: Row) -> bool:
        """Whether no text of the row and no document of its kind came out other than the reference's."""
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
