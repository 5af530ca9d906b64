r"""Patterns as tables: what a regular expression matches, found in one look at each character.

Most patterns that tokenizers are served with ask for no more than which character comes next: alternatives of runs of
classes, some with a look-ahead of one character, `\s+(?!\S)`. Such a pattern becomes a deterministic automaton over
the alphabet of characters that it tells apart (see `alphabet`). Of several ways to match it takes the one that a
backtracking engine tries first: a state is a list of places in the pattern, the preferred ones first, and where one of
them has matched, those behind it are dropped.

A pattern has no table, and runs on the `regex` module, if it looks behind or further ahead, repeats groups that may
match nothing, has possessive quantifiers or atomic groups, or needs too many states.

To read on behind what is then matched, again and again, would be quadratic: `a*b|a` on many an `a`. The states in which
that can go on without end are few; who runs the table remembers where it was in one of them, and does not go there
again (idea: T. Reps, "Maximal-munch tokenization in linear time", 1998).

Idea: K. Thompson, "Regular Expression Search Algorithm" (1968), with the priorities of R. Pike's matcher as told by
R. Cox, "Regular Expression Matching: the Virtual Machine Approach" (2009). Cost: milliseconds per pattern.
"""

from __future__ import annotations

import array
import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tokenwire_core.alphabet import Alphabet
from tokenwire_core.charset import N_CODE_POINTS, CharSet
from tokenwire_core.pattern import parse

MAX_SYMBOLS: Final = 255
MAX_PLACES: Final = 4096
MAX_STATES: Final = 1024
MAX_LONG_STATES: Final = 16
MAX_STEPS: Final = 400_000
"""Places visited while states are found, which takes a third of a second."""
N_PER_BLOCK: Final = 256
DEAD: Final = 0
START: Final = 1


@dataclass(frozen=True, slots=True)
class PatternTable:
    """A pattern compiled.

    Attributes:
        blocks: by code point >> 8 the number of its block, 16 bits each.
        symbols: in blocks of 256 the symbol of each code point.
        n_symbols: as many; the end of a text is one more.
        steps: rows of `n_symbols` + 1, one for each state; the first is of no state, the second of the start. What a
            symbol leads to, 32 bits: twice the place where the row of the next state begins, plus 1 if what was read
            before this symbol is a match. It is the match unless there is another further on.
        long_states: for each state 0, or in those that may be entered again and again without any match, from 1 on.
    """

    blocks: bytes
    symbols: bytes
    n_symbols: int
    steps: bytes
    long_states: bytes


class _NoTableError(Exception):
    """The pattern needs more than a table."""


@functools.lru_cache(maxsize=32)
def pattern_table(pattern: str) -> PatternTable | None:
    """The table of a pattern, or None if it has none.

    Raises:
        ArtifactError: BAD_PATTERN, UNSUPPORTED_PATTERN, as `pattern.rewrite`.
    """
    items = parse(pattern)
    alphabet = Alphabet(list({item: None for item in items if isinstance(item, CharSet)}))
    if alphabet.n_symbols > MAX_SYMBOLS:
        return None
    try:
        program = _Compiler(items, alphabet).program()
        steps, long_states = _Automaton(program, alphabet.n_symbols + 1).tables()
    except _NoTableError:
        return None
    return PatternTable(*_two_stages(alphabet), alphabet.n_symbols, steps, long_states)


def _two_stages(alphabet: Alphabet) -> tuple[bytes, bytes]:
    table = bytearray(N_CODE_POINTS)
    stretches = list(alphabet.stretches())
    ends = [start for start, _ in stretches[1:]] + [N_CODE_POINTS]
    for (start, symbol), end in zip(stretches, ends, strict=True):
        table[start:end] = bytes([symbol]) * (end - start)
    numbers: dict[bytes, int] = {}
    blocks = (bytes(table[at : at + N_PER_BLOCK]) for at in range(0, N_CODE_POINTS, N_PER_BLOCK))
    return array.array(
        "H", [numbers.setdefault(block, len(numbers)) for block in blocks]
    ).tobytes(), b"".join(numbers)


# A place in a pattern, and where it goes on: one symbol read, or none where the next is looked at only; one of two
# ways, the preferred one first; or the end.


@dataclass(frozen=True, slots=True)
class _Read:
    symbols: int
    after: int


@dataclass(frozen=True, slots=True)
class _LookAt:
    symbols: int
    after: int


@dataclass(frozen=True, slots=True)
class _Either:
    first: int
    second: int


_Place = _Read | _LookAt | _Either | None

# A pattern as a tree. Sets of symbols are bits of a number.


@dataclass(frozen=True, slots=True)
class _Set:
    symbols: int


@dataclass(frozen=True, slots=True)
class _Ahead:
    symbols: int


@dataclass(frozen=True, slots=True)
class _Sequence:
    nodes: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Alternatives:
    nodes: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    node: _Node
    least: int
    most: int | None
    lazy: bool


_Node = _Set | _Ahead | _Sequence | _Alternatives | _Repeat


class _Compiler:
    """Items to a tree, then from its end to its start to places; the last place is the first."""

    def __init__(self, items: list[CharSet | str], alphabet: Alphabet) -> None:
        self._items = items
        self._at = 0
        self._end_of_text = 1 << alphabet.n_symbols
        self._everything = (self._end_of_text << 1) - 1
        self._symbols = {
            item: sum(1 << symbol for symbol in alphabet.members(item))
            for item in items
            if isinstance(item, CharSet)
        }
        self._places: list[_Place] = [None]

    def program(self) -> list[_Place]:
        start = self._compile(self._alternatives(), 0)
        self._places.append(_Either(start, start))
        return self._places

    def _alternatives(self) -> _Node:
        nodes = [self._sequence()]
        while self._taken("|"):
            nodes.append(self._sequence())
        return nodes[0] if len(nodes) == 1 else _Alternatives(tuple(nodes))

    def _sequence(self) -> _Node:
        nodes: list[_Node] = []
        while self._at < len(self._items) and self._items[self._at] not in ("|", ")"):
            node = self._atom()
            if isinstance(quantifier := self._peek(), str) and quantifier[0] in "*+?{":
                self._at += 1
                node = _repeat(node, quantifier)
            nodes.append(node)
        return _Sequence(tuple(nodes))

    def _atom(self) -> _Node:
        item = self._items[self._at]
        self._at += 1
        if isinstance(item, CharSet):
            return _Set(self._symbols[item])
        if item == "\\Z":
            return _Ahead(self._end_of_text)
        if item not in ("(?:", "(?=", "(?!"):
            raise _NoTableError
        inner = self._alternatives()
        self._at += 1
        if item == "(?:":
            return inner
        symbols = _one_symbol(inner)
        return _Ahead(symbols if item == "(?=" else self._everything & ~symbols)

    def _peek(self) -> CharSet | str | None:
        return self._items[self._at] if self._at < len(self._items) else None

    def _taken(self, text: str) -> bool:
        taken = self._peek() == text
        self._at += taken
        return taken

    def _add(self, place: _Place) -> int:
        if len(self._places) >= MAX_PLACES:
            raise _NoTableError
        self._places.append(place)
        return len(self._places) - 1

    def _compile(self, node: _Node, after: int) -> int:
        """The place where the node begins; behind it goes on at `after`."""
        if isinstance(node, _Set):
            return self._add(_Read(node.symbols, after))
        if isinstance(node, _Ahead):
            return self._add(_LookAt(node.symbols, after))
        if isinstance(node, _Sequence):
            for each in reversed(node.nodes):
                after = self._compile(each, after)
            return after
        if isinstance(node, _Alternatives):
            *preferred, start = [self._compile(each, after) for each in node.nodes]
            for other in reversed(preferred):
                start = self._add(_Either(other, start))
            return start
        return self._compile_repeat(node, after)

    def _compile_repeat(self, node: _Repeat, after: int) -> int:
        def once_more(start: int, end: int) -> _Place:
            return _Either(end, start) if node.lazy else _Either(start, end)

        start = after
        if node.most is None:
            start = self._add(None)
            self._places[start] = once_more(self._compile(node.node, start), after)
        else:
            for _ in range(node.most - node.least):
                start = self._add(once_more(self._compile(node.node, start), after))
        for _ in range(node.least):
            start = self._compile(node.node, start)
        return start


def _repeat(node: _Node, quantifier: str) -> _Node:
    counts = [int(count) for count in re.findall("[0-9]+", quantifier)]
    mode = quantifier[quantifier.find("}") + 1 :] if counts else quantifier[1:]
    if mode == "+" or _may_be_empty(node):
        raise _NoTableError
    if counts:
        most = counts[-1] if "," not in quantifier or len(counts) == 2 else None
        return _Repeat(node, counts[0], most, mode == "?")
    return _Repeat(node, int(quantifier[0] == "+"), 1 if quantifier[0] == "?" else None, mode == "?")


def _may_be_empty(node: _Node) -> bool:
    if isinstance(node, _Sequence):
        return all(map(_may_be_empty, node.nodes))
    if isinstance(node, _Alternatives):
        return any(map(_may_be_empty, node.nodes))
    return isinstance(node, _Ahead) or (
        isinstance(node, _Repeat) and (node.least == 0 or _may_be_empty(node.node))
    )


def _one_symbol(node: _Node) -> int:
    """The next symbols for which a look-ahead for the node finds it, the end of the text among them."""
    if isinstance(node, _Set | _Ahead):
        return node.symbols
    if isinstance(node, _Sequence) and len(node.nodes) == 1:
        return _one_symbol(node.nodes[0])
    if isinstance(node, _Alternatives):
        symbols = 0
        for each in node.nodes:
            symbols |= _one_symbol(each)
        return symbols
    raise _NoTableError


class _Automaton:
    """The states that places lead to, symbol by symbol."""

    def __init__(self, places: list[_Place], n_symbols: int) -> None:
        self._places = places
        self._n_symbols = n_symbols
        self._n_steps = 0

    def tables(self) -> tuple[bytes, bytes]:
        """`steps` and `long_states`."""
        numbers: dict[tuple[int, ...], int] = {(): DEAD, (len(self._places) - 1,): START}
        states = list(numbers)
        rows = array.array("I")
        quiet: list[set[int]] = []
        for state in states:
            quiet.append(set())
            for symbol in range(self._n_symbols):
                after, is_match = self._step(state, 1 << symbol)
                if after not in numbers:
                    if len(numbers) == MAX_STATES:
                        raise _NoTableError
                    numbers[after] = len(numbers)
                    states.append(after)
                rows.append(numbers[after] * self._n_symbols << 1 | is_match)
                if not is_match and after:
                    quiet[-1].add(numbers[after])
        return rows.tobytes(), _long_states(quiet)

    def _step(self, state: Iterable[int], symbol: int) -> tuple[tuple[int, ...], bool]:
        """The places after a symbol, the preferred ones first, and whether all before it is a match."""
        after: dict[int, None] = {}
        for number in self._reached(state, symbol):
            place = self._places[number]
            if place is None:
                return tuple(after), True
            if isinstance(place, _Read) and place.symbols & symbol:
                after[place.after] = None
        return tuple(after), False

    def _reached(self, state: Iterable[int], symbol: int) -> Iterator[int]:
        """All places where something is read or ends, in order of preference, each once."""
        seen: set[int] = set()
        to_visit = list(state)[::-1]
        while to_visit:
            number = to_visit.pop()
            if number in seen:
                continue
            seen.add(number)
            self._n_steps += 1
            if self._n_steps > MAX_STEPS:
                raise _NoTableError
            place = self._places[number]
            if isinstance(place, _Either):
                to_visit += (place.second, place.first)
            elif isinstance(place, _LookAt):
                if place.symbols & symbol:
                    to_visit.append(place.after)
            else:
                yield number


def _long_states(quiet: list[set[int]]) -> bytes:
    """The states on circles of steps without a match, numbered from 1; all others 0."""
    left = set(range(len(quiet)))
    for edges in (quiet, _reversed(quiet)):
        n_after = [len(edges[state] & left) for state in range(len(edges))]
        before = _reversed(edges)
        ends = [state for state in left if n_after[state] == 0]
        while ends:
            end = ends.pop()
            left.discard(end)
            for state in before[end] & left:
                n_after[state] -= 1
                if n_after[state] == 0:
                    ends.append(state)
    if len(left) > MAX_LONG_STATES:
        raise _NoTableError
    order = sorted(left)
    return bytes(order.index(state) + 1 if state in left else 0 for state in range(len(quiet)))


def _reversed(edges: list[set[int]]) -> list[set[int]]:
    before: list[set[int]] = [set() for _ in edges]
    for state, after in enumerate(edges):
        for each in after:
            before[each].add(state)
    return before
