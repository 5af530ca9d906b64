"""SentencePiece's compiled table of replacements: from the longest key at a place of the text to what stands for it.

The bytes are: the size of the trie (little-endian uint32), the trie, and the replacements, each ended by a NUL.

The trie is a double array (as Darts-clone writes it): an array of uint32, 1024 bytes or a multiple. A unit is a node
that was reached by its label, or the value of the node before it:

    31                     10   9   8   7      0
    +------------------------+---+---+---------+
    | offset                 | x | l |  label  |    a node; `x`: the offset counts in 256s; `l`: it has a value
    +--+---------------------+---+---+---------+
    |1 | value: where in the replacements        |    a value
    +--+---------------------------------------+

The children of the node at `i` have a common place, `i ^ offset`. The child by the byte `b` is the unit at
`place ^ b` if its label is `b`, and the value is the unit at `place` itself.

A table from a file may say anything, so `read_charsmap` proves what lookups rely on: no place is outside the array,
where a value is promised there is one, values are places of well-formed text, keys and replacements are short.
"""

from __future__ import annotations

import itertools
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tokenwire_core.errors import ArtifactError

MAX_CHARSMAP_BYTES: Final = 1 << 22
MAX_KEY_BYTES: Final = 128
MAX_REPLACEMENT_BYTES: Final = 1024

MAX_MATCHES: Final = 32
"""SentencePiece looks no further than this many keys at one place."""

_UNIT_BYTES: Final = 4
_BLOCK_BYTES: Final = 1024
_VALUE: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Charsmap:
    """A proven table. `units` are those of the trie, `replacements` the texts that its values point into."""

    units: array[int] = field(repr=False)
    replacements: bytes = field(repr=False)

    def longest_match(self, text: bytes, at: int) -> tuple[int, bytes] | None:
        """The size in bytes of the longest key at `at`, and its replacement. Cost: the size of the key."""
        found = list(itertools.islice(self._matches(text, at), MAX_MATCHES))
        return found[-1] if found else None

    def shortest_match(self, text: bytes, at: int) -> tuple[int, bytes] | None:
        """As `longest_match`, of the shortest."""
        return next(self._matches(text, at), None)

    def may_go_on(self, text: bytes, at: int) -> bool:
        """Whether a key is longer than text[at:] and begins with it."""
        place = _offset(self.units[0])
        for byte in text[at : at + MAX_KEY_BYTES]:
            index = place ^ byte
            if _label(self.units[index]) != byte:
                return False
            place = index ^ _offset(self.units[index])
        return len(text) - at < MAX_KEY_BYTES and any(
            _label(self.units[place ^ byte]) == byte for byte in range(256)
        )

    def _matches(self, text: bytes, at: int) -> Iterator[tuple[int, bytes]]:
        place = _offset(self.units[0])
        for end in range(at, len(text)):
            index = place ^ text[end]
            unit = self.units[index]
            if _label(unit) != text[end]:
                break
            place = index ^ _offset(unit)
            if _has_value(unit):
                start = self.units[place] & ~_VALUE
                yield end + 1 - at, self.replacements[start : self.replacements.index(0, start)]


def read_charsmap(data: bytes) -> Charsmap:
    """The table in `data`.

    Raises:
        ArtifactError: `BAD_CHARSMAP`.

    Cost: 0.3 microseconds a byte.
    """
    if len(data) > MAX_CHARSMAP_BYTES:
        raise _bad(f"it has {len(data)} bytes, the limit is {MAX_CHARSMAP_BYTES}")
    trie_bytes = int.from_bytes(data[:_UNIT_BYTES], "little")
    trie, replacements = data[_UNIT_BYTES:][:trie_bytes], data[_UNIT_BYTES + trie_bytes :]
    if trie_bytes == 0 or trie_bytes % _BLOCK_BYTES or len(trie) < trie_bytes:
        raise _bad(f"its trie of {trie_bytes} bytes is cut short or no multiple of {_BLOCK_BYTES}")
    if not replacements.endswith(b"\0"):
        raise _bad("its replacements do not end with a NUL")
    if max(map(len, replacements.split(b"\0"))) > MAX_REPLACEMENT_BYTES:
        raise _bad(f"a replacement has more than {MAX_REPLACEMENT_BYTES} bytes")
    try:
        replacements.decode()
    except UnicodeDecodeError:
        raise _bad("a replacement is not well-formed UTF-8") from None
    units = array("I", trie)
    if sys.byteorder == "big":
        units.byteswap()
    _check_units(units, replacements)
    _check_keys(units)
    return Charsmap(units, replacements)


def _check_units(units: array[int], replacements: bytes) -> None:
    """No unit points outside; where a value is promised there is one, and it begins a character."""
    if _label(units[0]) or _has_value(units[0]) or not _offset(units[0]):
        raise _bad("its first unit is no root")
    for index, unit in enumerate(units):
        if unit & _VALUE:
            start = unit & ~_VALUE
            if start >= len(replacements) or replacements[start] & 0xC0 == 0x80:
                raise _bad(f"unit {index} points to no replacement")
        else:
            place = index ^ _offset(unit)
            if place | 0xFF >= len(units):
                raise _bad(f"unit {index} points outside the trie")
            if _has_value(unit) and not units[place] & _VALUE:
                raise _bad(f"unit {index} has no value where it says so")


def _check_keys(units: array[int]) -> None:
    """No key is longer than MAX_KEY_BYTES, so that there are no circles and a lookup has an end."""
    # Nodes that share a place share all that follows (equal endings are stored once), so places are what is walked.
    # The children of a place are a list linked through `after`, so that a large trie costs few bytes a unit.
    first_child = array("l", [-1]) * len(units)
    after = array("l", [-1]) * len(units)
    for index, unit in enumerate(units):
        if not unit & _VALUE:
            place = index ^ _label(unit)
            after[index] = first_child[place]
            first_child[place] = index
    longest = array("l", [-1]) * len(units)

    def longest_from(place: int, n_bytes: int) -> int:
        """The most bytes that can follow the `n_bytes` before `place`."""
        if n_bytes > MAX_KEY_BYTES:
            raise _bad(f"a key has more than {MAX_KEY_BYTES} bytes, or no end")
        if longest[place] < 0:
            most = 0
            child = first_child[place]
            while child >= 0:
                most = max(most, 1 + longest_from(child ^ _offset(units[child]), n_bytes + 1))
                child = after[child]
            longest[place] = most
        return longest[place]

    if longest_from(_offset(units[0]), 0) > MAX_KEY_BYTES:
        raise _bad(f"a key has more than {MAX_KEY_BYTES} bytes")


def _label(unit: int) -> int:
    """The byte that leads to a node; of a value what is no byte."""
    return unit & (_VALUE | 0xFF)


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)


def _has_value(unit: int) -> bool:
    return bool(unit & 1 << 8)


def _bad(what: str) -> ArtifactError:
    return ArtifactError("BAD_CHARSMAP", f"the table of replacements is malformed: {what}")
