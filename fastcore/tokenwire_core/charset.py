"""Sets of code points as sorted ranges, and those that Unicode 16.0 gives a name."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tokenwire_core.unicode_ranges import (
    BINARY_PROPERTY,
    CATEGORY_NAMES,
    GENERAL_CATEGORY,
    SCRIPT,
    SCRIPT_NAMES,
    SIMPLE_FOLDING,
)

N_CODE_POINTS = 0x110000

Range = tuple[int, int]
"""Half-open: a code point, and the one behind the last."""


@dataclass(frozen=True, slots=True)
class CharSet:
    """An immutable set of code points; `ranges` are half-open, sorted and apart. Operations are linear in them."""

    ranges: tuple[Range, ...]

    @classmethod
    def of(cls, ranges: Iterable[Range]) -> CharSet:
        """The union of ranges in any order."""
        merged: list[Range] = []
        for start, end in sorted(ranges):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            elif start < end:
                merged.append((start, end))
        return cls(tuple(merged))

    @classmethod
    def only(cls, text: str) -> CharSet:
        """The characters of a text."""
        return cls.of((ord(c), ord(c) + 1) for c in text)

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet.of(self.ranges + other.ranges)

    def __invert__(self) -> CharSet:
        edges = [0, *itertools.chain.from_iterable(self.ranges), N_CODE_POINTS]
        return CharSet.of(zip(edges[::2], edges[1::2], strict=True))

    def __and__(self, other: CharSet) -> CharSet:
        return ~(~self | ~other)

    def __sub__(self, other: CharSet) -> CharSet:
        return ~(~self | other)

    def __xor__(self, other: CharSet) -> CharSet:
        return (self | other) - (self & other)

    def __iter__(self) -> Iterator[int]:
        return itertools.chain.from_iterable(itertools.starmap(range, self.ranges))

    def ignoring_case(self) -> CharSet:
        """This set and every code point that has the simple case folding of one in it."""
        return _ignoring_case(self)


@functools.lru_cache(maxsize=256)  # A pattern asks for the same few sets again and again.
def _ignoring_case(each: CharSet) -> CharSet:
    orbits = case_orbits()
    members = (orbits[code_point] for code_point in each & _cased())
    return CharSet.of([*each.ranges, *((c, c + 1) for orbit in members for c in orbit)])


@functools.cache
def case_orbits() -> dict[int, tuple[int, ...]]:
    """Code points that differ only in case, by each of them; code points without case are not in it."""
    orbits: dict[int, list[int]] = {}
    for first, last, step, distance in SIMPLE_FOLDING:
        for code_point in range(first, last + 1, step):
            orbits.setdefault(code_point + distance, [code_point + distance]).append(code_point)
    return {code_point: tuple(orbit) for orbit in orbits.values() for code_point in orbit}


@functools.cache
def _cased() -> CharSet:
    return CharSet.of((code_point, code_point + 1) for code_point in case_orbits())


def _decoded(gaps_and_lengths: str) -> CharSet:
    edges = list(itertools.accumulate(int(word, 16) for word in gaps_and_lengths.split()))
    return CharSet(tuple(zip(edges[::2], edges[1::2], strict=True)))


def _union(sets: Iterable[CharSet]) -> CharSet:
    return CharSet.of(itertools.chain.from_iterable(each.ranges for each in sets))


@functools.cache
def general_category(name: str) -> CharSet | None:
    """A general category or group of them by loose name, `lu`, `l` or `uppercaseletter`; None if there is none."""
    short = CATEGORY_NAMES.get(name, name.capitalize())
    if short in GENERAL_CATEGORY:
        return _decoded(GENERAL_CATEGORY[short])
    group = {
        "letter": "L",
        "mark": "M",
        "number": "N",
        "punctuation": "P",
        "symbol": "S",
        "separator": "Z",
        "other": "C",
    }.get(name, short)
    members = [category for category in GENERAL_CATEGORY if category[0] == group]
    if name in ("lc", "casedletter"):
        members = ["Lu", "Ll", "Lt"]
    return _union(_decoded(GENERAL_CATEGORY[category]) for category in members) if members else None


@functools.cache
def script(name: str) -> CharSet | None:
    """A script by loose name, `greek` or the ISO 15924 code `grek`; None if there is none."""
    code = SCRIPT_NAMES.get(name, name.capitalize())
    return _decoded(SCRIPT[code]) if code in SCRIPT else None


@functools.cache
def binary_property(name: str) -> CharSet | None:
    """`any`, `ascii`, `alphabetic`, `joincontrol` or `whitespace`; None for others."""
    if name == "any":
        return ~CharSet(())
    if name == "ascii":
        return CharSet(((0, 0x80),))
    return _decoded(BINARY_PROPERTY[name]) if name in BINARY_PROPERTY else None


@functools.cache
def perl_class(letter: str) -> CharSet:
    r"""What `\d`, `\s` or `\w` matches in Rust's `regex`: Nd; White_Space; the word characters of UTS #18."""
    if letter == "d":
        return _decoded(GENERAL_CATEGORY["Nd"])
    if letter == "s":
        return _decoded(BINARY_PROPERTY["whitespace"])
    categories = ("Mn", "Mc", "Me", "Nd", "Pc")
    return _union(
        [
            *(_decoded(GENERAL_CATEGORY[category]) for category in categories),
            *(_decoded(BINARY_PROPERTY[name]) for name in ("alphabetic", "joincontrol")),
        ]
    )
