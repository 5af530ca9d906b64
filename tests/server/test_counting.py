"""Counting tokens that stand for text the vocabulary lacks: as a plain loop would, whatever the ids."""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import Encoder
from tokenwire_server.counting import Counts, count_gaps

BYTES = frozenset({*range(3, 259), 0xD800, 0xDFFF, 0xFEFF, 0x10FFFF})
"""Those of Llama's, and ids that are odd as characters: half a surrogate pair, a byte order mark, the last one."""
PATTERN = frozenset(map(ord, "]^-\\az[wd&|~"))
"""Ids that mean something else in a pattern."""


@dataclass(frozen=True)
class Vocabulary:
    """What counting asks of an encoder."""

    vocab_size: int
    unknown_id: int | None = None
    byte_fallback_ids: frozenset[int] = frozenset()


@pytest.mark.parametrize("unknown_id", [None, 0, 3, 0xD800, 0xFEFF])
@pytest.mark.parametrize("byte_ids", [frozenset(), BYTES, PATTERN])
@given(ids=st.lists(st.sampled_from(sorted(BYTES | PATTERN)) | st.integers(0, sys.maxunicode)))
def test_gaps_are_those_of_a_loop(unknown_id: int | None, byte_ids: frozenset[int], ids: list[int]) -> None:
    """The unknown token and bytes, each counted once, in any ids of a vocabulary."""
    encoder = cast(Encoder, Vocabulary(sys.maxunicode, unknown_id, byte_ids))
    expected = Counts(len(ids), sum(id_ == unknown_id for id_ in ids), sum(id_ in byte_ids for id_ in ids))
    assert count_gaps(encoder, memoryview(array("I", ids))) == expected


@pytest.mark.parametrize("n", [0, 1, 2**16, 2**16 + 1, 3 * 2**16])
@pytest.mark.parametrize("vocab_size", [sys.maxunicode, sys.maxunicode + 1, 2**31])
def test_ids_of_any_number_and_height(n: int, vocab_size: int) -> None:
    """Also where they are looked through in parts, and where there are more ids than characters."""
    ids = array("I", [vocab_size - 1, 0, 5] * (n // 3) + [0] * (n % 3))
    encoder = cast(Encoder, Vocabulary(vocab_size, 0, frozenset({5, vocab_size - 1})))
    assert count_gaps(encoder, memoryview(ids)) == Counts(n, n // 3 + n % 3, 2 * (n // 3))


def test_a_vocabulary_without_gaps_is_not_looked_through() -> None:
    """Byte-level ids cost nothing: even ids that are no numbers would do."""
    encoder = cast(Encoder, Vocabulary(2**31))
    assert count_gaps(encoder, memoryview(b"xyz")) == Counts(3)
