"""The trie and its definition: of all entries, those that the text begins with."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core.errors import ArtifactError
from tokenwire_core.trie import Trie

few_bytes = st.lists(st.sampled_from(b"\x00\x01ab\xff"), max_size=6).map(bytes)
any_bytes = st.one_of(few_bytes, st.binary(max_size=8))
MAX_SLOTS = 1 << 24


def by_definition(entries: dict[bytes, int], text: bytes, start: int) -> list[tuple[int, int]]:
    parts = ((end, text[start:end]) for end in range(start + 1, len(text) + 1))
    return [(end, entries[part]) for end, part in parts if part in entries]


@given(st.dictionaries(any_bytes, st.integers(0, 2**32 - 2), max_size=40), st.lists(any_bytes, max_size=8))
def test_it_finds_what_a_text_begins_with(entries: dict[bytes, int], parts: list[bytes]) -> None:
    """At each place of a text all entries are found that begin there, the shortest first, and no others."""
    trie = Trie(entries)
    text = b"".join([*parts, *entries])
    for start in range(len(text) + 1):
        assert trie.matches(text, start) == by_definition(entries, text, start)


def test_every_byte_at_every_node() -> None:
    """Nodes with all 256 children, with one and with none: each byte leads where it should or nowhere."""
    entries = {
        bytes(pair): index for index, pair in enumerate((a, b) for a in range(0, 256, 3) for b in range(256))
    }
    trie = Trie(entries)
    for first in range(256):
        for second in range(256):
            text = bytes((first, second, second))
            assert trie.matches(text) == by_definition(entries, text, 0)


def test_a_large_vocabulary(seed: int) -> None:
    """50,000 entries of few and of many children a node: each is found, and what differs in its last byte is not."""
    draw = random.Random(seed)
    lengths = draw.choices(range(1, 12), k=50_000)
    entries = {bytes(draw.choices(range(draw.choice((2, 20, 256))), k=n)): i for i, n in enumerate(lengths)}
    trie = Trie(entries)
    for entry, value in entries.items():
        assert trie.matches(entry)[-1] == (len(entry), value)
        other = entry[:-1] + bytes((entry[-1] ^ 1 << draw.randrange(8),))
        assert ((len(other), entries.get(other)) in trie.matches(other)) == (other in entries)


def test_no_entries() -> None:
    """Nothing is found in an empty set, nor is an entry of no bytes."""
    assert Trie({}).matches(b"a") == Trie({b"": 1}).matches(b"a") == []
    assert Trie({b"": 1, b"a": 2}).matches(b"a") == [(1, 2)]


@pytest.mark.parametrize("value", [-1, 2**32 - 1, 2**40])
def test_values_are_bounded(value: int) -> None:
    """A value that is none of 32 bits, or the one that says there is no entry, is an error."""
    with pytest.raises((OverflowError, ValueError)):
        Trie({b"a": value})


@pytest.mark.long
def test_nodes_up_to_the_bound(seed: int) -> None:
    """Long entries with nothing in common take a slot for each byte and few more, up to 2**24."""
    draw = random.Random(seed)
    entries = {draw.randbytes(1 << 20): value for value in range(15)}
    trie = Trie(entries)
    assert trie.n_slots <= MAX_SLOTS
    assert all(trie.matches(entry) == [(len(entry), value)] for entry, value in entries.items())


def test_more_nodes_than_the_bound(seed: int) -> None:
    """A trie that would have more than 2**24 nodes is refused by name."""
    draw = random.Random(seed)
    with pytest.raises(ArtifactError, match="16777216") as refused:
        Trie({draw.randbytes(MAX_SLOTS + 1): 0})
    assert refused.value.reason == "VOCABULARY_TOO_LARGE"


def test_blocks_that_stay_half_empty_are_bounded_too() -> None:
    """Nodes that fit together badly waste slots, but only a small multiple of those in use."""
    draw = random.Random(1)
    entries = {bytes(draw.choice((0, 255)) for _ in range(20)): value for value in range(20_000)}
    n_nodes = len({entry[:n] for entry in entries for n in range(21)})
    assert Trie(entries).n_slots < 2 * n_nodes
