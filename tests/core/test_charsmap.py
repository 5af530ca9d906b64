"""SentencePiece's tables of replacements: lookups as in the library, and a malformed table for every mistake."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import ArtifactError
from tokenwire_core.charsmap import (
    MAX_CHARSMAP_BYTES,
    MAX_KEY_BYTES,
    MAX_MATCHES,
    MAX_REPLACEMENT_BYTES,
    read_charsmap,
)
from tokenwire_core.formats.sentencepiece_model import read_sentencepiece_model
from tokenwire_core.reference_sentencepiece import ReferenceSentencePiece

from tests.core.model_files import BPE, NORMAL, UNKNOWN, charsmap, library, model_file

# A trie. A place is where the children of a node are; units that are not set lead nowhere. Places are even, so that
# the nodes by `a`, which stand at `place ^ a`, are odd, and no two units get into each other's way.
NOWHERE = 1 << 31
ROOT = 2
A = ord("a")


def node(index: int, label: int, place: int, *, has_value: bool = False) -> dict[int, int]:
    """A unit that is reached by a byte and has its children at a place."""
    return {index: (index ^ place) << 10 | has_value << 8 | label}


def value(place: int, start: int) -> dict[int, int]:
    """The value of the nodes with this place: where the replacement starts."""
    return {place: NOWHERE | start}


def table(units: dict[int, int], replacements: bytes = b"x\0") -> bytes:
    n_units = max(units) // 256 * 256 + 256
    trie = {0: ROOT << 10} | units
    packed = struct.pack(f"<{n_units}I", *(trie.get(index, NOWHERE) for index in range(n_units)))
    return struct.pack("<I", len(packed)) + packed + replacements


ONE_KEY = node(ROOT ^ A, A, 4, has_value=True) | value(4, 0)
"""`a` to what stands at 0."""


def runs(n_bytes: int) -> dict[int, int]:
    """All keys of one to so many times `a`: the longest to what stands at 2, the others to what stands at 0."""
    units: dict[int, int] = {}
    for place in range(ROOT, ROOT + 2 * n_bytes, 2):
        units |= node(place ^ A, A, place + 2, has_value=True) | value(place + 2, 0)
    return units | value(ROOT + 2 * n_bytes, 2)


BAD_TABLES = {
    "a table of three bytes": b"abc",
    "a table without a trie": struct.pack("<I", 0) + b"x\0",
    "a trie that is no multiple of 1024 bytes": struct.pack("<I", 1020) + bytes(1020) + b"x\0",
    "a trie that is cut short": table(ONE_KEY)[:1000],
    "a trie of 4 GB": struct.pack("<I", 0xFFFFFC00) + bytes(2048),
    "no replacements": table(ONE_KEY, b""),
    "replacements without an end": table(ONE_KEY, b"x"),
    "a replacement that is not UTF-8": table(ONE_KEY, b"\xff\0"),
    "a replacement that is a surrogate": table(ONE_KEY, b"\xed\xa0\x80\0"),
    "a replacement one too long": table(ONE_KEY, b"x" * (MAX_REPLACEMENT_BYTES + 1) + b"\0"),
    "a table one too long": table(ONE_KEY, b"x\0" * (MAX_CHARSMAP_BYTES // 2)),
    "a root with a label": table({0: ROOT << 10 | A}),
    "a root with a value": table({0: ROOT << 10 | 1 << 8}),
    "a root that is a value": table({0: NOWHERE}),
    "a root without children": table({0: 0}),
    "a root that points outside": table({0: 256 << 10}),
    "a node that points outside": table(node(ROOT ^ A, A, 256)),
    "a node that points far outside": table({ROOT ^ A: A | 1 << 9 | ((1 << 21) - 1) << 10}),
    "a value that is missing": table(node(ROOT ^ A, A, 4, has_value=True) | node(4, 0xFF, 7)),
    "a value behind the replacements": table(ONE_KEY | value(4, 2)),
    "a value far behind the replacements": table(ONE_KEY | value(4, 0x7FFFFFFF)),
    "a value inside a character": table(ONE_KEY | value(4, 1), "é\0".encode()),
    "a key without an end": table(node(ROOT ^ A, A, ROOT)),
    "a key that comes back on itself": table(node(ROOT ^ A, A, 4) | node(4 ^ A, A, ROOT)),
    "a key one too long": table(runs(MAX_KEY_BYTES + 1), b"x\0y\0"),
    "a key far too long": table(runs(10_000), b"x\0y\0"),
}


@pytest.mark.parametrize("data", BAD_TABLES.values(), ids=BAD_TABLES)
def test_every_mistake_is_refused(data: bytes) -> None:
    """A malformed table is refused by name."""
    with pytest.raises(ArtifactError) as caught:
        read_charsmap(data)
    assert caught.value.reason == "BAD_CHARSMAP"


def check_normalized(data: bytes, text: str) -> None:
    """With the table alone, a text becomes what it does in the library."""
    pieces = [("<unk>", 0.0, UNKNOWN), ("a", 0.0, NORMAL)]
    file = model_file(pieces, trainer={3: BPE}, normalizer={2: data, 3: 0, 4: 0})
    assert ReferenceSentencePiece(read_sentencepiece_model(file)).normalize(text) == library(file).normalize(
        text
    )


@given(st.data())
def test_a_damaged_table_is_refused_or_read_as_by_the_library(data: st.DataObject) -> None:
    """With some bytes changed a table is refused, or it replaces texts as in the library."""
    table_bytes = bytearray(table(runs(5) | node(12 ^ 98, 98, 14, has_value=True) | value(14, 3), b"x\0yz\0"))
    for _ in range(data.draw(st.integers(1, 3))):
        table_bytes[data.draw(st.integers(0, len(table_bytes) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ArtifactError):
        read_charsmap(bytes(table_bytes))
        for text in ("a", "aab", "aaaaaab", "aaaaab\0", "\0\1\2"):
            check_normalized(bytes(table_bytes), text)


def test_a_made_up_table() -> None:
    """The smallest table replaces `a` by `x`, and nothing else."""
    small = read_charsmap(table(ONE_KEY))
    assert small.longest_match(b"ba", 1) == (1, b"x")
    assert small.longest_match(b"ba", 0) is None
    assert small.longest_match(b"a", 1) is None


@pytest.mark.parametrize("n_bytes", [2, MAX_MATCHES, MAX_MATCHES + 1, MAX_KEY_BYTES])
def test_the_longest_key_wins(n_bytes: int) -> None:
    """Of keys that begin alike the longest is taken, of more than 32 that of the shortest 32; keys have a bound."""
    data = table(runs(n_bytes), b"x\0y\0")
    longest = (n_bytes, b"y") if n_bytes <= MAX_MATCHES else (MAX_MATCHES, b"x")
    assert read_charsmap(data).longest_match(b"ba" + b"a" * n_bytes, 1) == longest
    for text in ("a" * 50, "a" * 200, "aab" + "a" * 31):
        check_normalized(data, text)


@pytest.mark.parametrize("rule", ["nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf"])
def test_the_librarys_own_tables(rule: str) -> None:
    """Every table that comes with the library is read, and replaces characters as it does there."""
    check_normalized(
        charsmap(rule), "".join(map(chr, (*range(0xD800), *range(0xF900, 0x10000), *range(0x1D400, 0x1F300))))
    )
