"""The few kinds of characters that a pattern tells apart, one symbol for each."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import Final

from tokenwire_core.charset import CharSet

MAX_REMEMBERED: Final = 1 << 14
"""Code points whose symbol is kept; more are looked up each time, so that no text can fill the memory."""


class Alphabet:
    """Code points that no set of a pattern tells apart get one symbol, `chr(0)`, `chr(1)`, ...

    A pattern over symbols is short and quick where one over code points has sets of hundreds of ranges, and no
    Unicode table of the engine that runs it plays a part.

    Args:
        sets: every set of the pattern.

    Attributes:
        n_symbols: symbols in use; `chr(n_symbols)` is in no text.
    """

    def __init__(self, sets: Collection[CharSet]) -> None:
        changes: dict[int, int] = {0: 0}
        for bit, each in enumerate(sets):
            for edge in itertools.chain.from_iterable(each.ranges):
                changes[edge] = changes.get(edge, 0) ^ 1 << bit
        self._starts = sorted(changes)
        members = itertools.accumulate((changes[start] for start in self._starts), int.__xor__)
        numbers: dict[int, int] = {}
        self._symbols = [numbers.setdefault(member, len(numbers)) for member in members]
        self._members = list(numbers)
        self._bits = {each: bit for bit, each in enumerate(sets)}
        self._table = _Table(self._starts, self._symbols)
        self.n_symbols = len(numbers)

    def symbols(self, text: str) -> str:
        """The text with each character's symbol in its place: as many characters as the text."""
        return text.translate(self._table)

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Code points from which on all have one symbol, up to the next, and that symbol's number; in order from 0."""
        return zip(self._starts, self._symbols, strict=True)

    def members(self, each: CharSet) -> list[int]:
        """The numbers of the symbols of one of the sets, ascending."""
        bit = 1 << self._bits[each]
        return [symbol for symbol, member in enumerate(self._members) if member & bit]

    def symbol_class(self, each: CharSet) -> str:
        """A bracketed class of the symbols of one of the sets."""
        members = set(self.members(each))
        inside = [symbol in members for symbol in range(self.n_symbols)]
        edges = [
            symbol for symbol, (a, b) in enumerate(itertools.pairwise([False, *inside, False])) if a != b
        ]
        ranges = [(start, end - 1) for start, end in zip(edges[::2], edges[1::2], strict=True)]
        symbols = [
            f"\\U{first:08x}" + (f"-\\U{last:08x}" if last > first else "")  # One symbol alone is a literal.
            for first, last in ranges or [(self.n_symbols, self.n_symbols)]
        ]
        return "[" + "".join(symbols) + "]"


class _Table(dict[int, int]):
    """Code point to symbol, found when first asked for."""

    def __init__(self, starts: list[int], symbols: list[int]) -> None:
        super().__init__()
        self._starts = starts
        self._symbols = symbols

    def __missing__(self, code_point: int) -> int:
        symbol = self._symbols[bisect_right(self._starts, code_point) - 1]
        if len(self) < MAX_REMEMBERED:
            self[code_point] = symbol
        return symbol
