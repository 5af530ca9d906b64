"""The slow readable twin: its worked example, and that the compiled encoder computes the same."""

from __future__ import annotations

import doctest
import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import (
    ControlTokenError,
    Encoder,
    IdOutOfRangeError,
    SpecialPolicy,
    UnknownControlTokenError,
    reference,
)
from tokenwire_core.reference import ReferenceEncoder
from tokenwire_core.spec import RankFileSpec

from tests.core import made_up
from tests.rank_files import ours
from tests.strategies import texts

WORDS = r"\w+|\s+|[^\w\s]+"


def twins(tokens: list[bytes], pattern: str = WORDS) -> tuple[Encoder, ReferenceEncoder]:
    """Both encoders over one made-up vocabulary."""
    encoder = made_up.encoder(tokens, pattern, {"<x>": 5000, "<x>y": 5001, "<<": 5002})
    return encoder, twin(encoder)


def twin(encoder: Encoder) -> ReferenceEncoder:
    assert isinstance(encoder.spec, RankFileSpec)
    return ReferenceEncoder(encoder.spec)


@functools.cache
def twin_of(name: str) -> ReferenceEncoder:
    """The twin of a published vocabulary."""
    return twin(ours(name))


def test_the_worked_example_holds() -> None:
    """What the first page of the project says about merging is so."""
    assert doctest.testmod(reference).attempted > 0
    assert doctest.testmod(reference).failed == 0


def test_pieces_are_what_the_pattern_matches() -> None:
    """The twin shows its second step."""
    pieces = ["It", "'s", " ", "123", "45", " ", " fine", ".\n"]
    assert twin_of("cl100k_base").pieces("".join(pieces)) == pieces


def test_control_tokens_are_leftmost_then_longest() -> None:
    """Where spellings overlap, the first place wins, and there the longest."""
    _, twin = twins([])
    assert twin.encode("a<x>y<<<", "allow") == [ord("a"), 5001, 5002, ord("<")]
    assert twin.encode("<x>y", frozenset({"<x>"})) == [5000, ord("y")]
    assert twin.byte_offsets("é<x>", "allow") == [(0, 1), (1, 2), (2, 5)]
    with pytest.raises(ControlTokenError) as caught:
        twin.encode("é<x>y", "reject")
    assert (caught.value.token, caught.value.byte_start, caught.value.byte_end) == ("<x>y", 2, 6)
    with pytest.raises(UnknownControlTokenError):
        twin.encode("", frozenset({"<y>"}))


def test_decoding_is_joining() -> None:
    """Ids of control tokens stand for their spelling, and an id in a hole for nothing."""
    _, twin = twins([b"ab"])
    assert twin.decode_bytes([256, 5001, 195]) == b"ab<x>y\xc3"
    with pytest.raises(IdOutOfRangeError) as caught:
        twin.decode_bytes([256, 257])
    assert (caught.value.index, caught.value.vocab_size) == (1, 5003)


vocabularies = st.lists(
    st.text("ab c1é", min_size=1, max_size=5).map(str.encode).filter(lambda token: len(token) > 1),
    unique=True,
    max_size=40,
)


@given(
    vocabularies, st.text("ab c1é<x>y", max_size=60), st.sampled_from(["text", "allow", frozenset({"<x>"})])
)
def test_the_encoder_agrees_on_any_vocabulary(tokens: list[bytes], text: str, special: SpecialPolicy) -> None:
    """Whatever the vocabulary, also with entries that no merges lead to: ids, counts and spans are the same."""
    encoder, twin = twins(tokens)
    encoding = encoder.encode(text, special=special)
    assert encoding.ids == twin.encode(text, special)
    assert encoding.offsets() == twin.byte_offsets(text, special)
    assert encoder.count(text, special=special) == twin.count(text, special)
    assert encoder.decode_bytes(encoding.ids) == twin.decode_bytes(encoding.ids)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@given(text=texts())
def test_the_encoder_agrees_on_published_vocabularies(name: str, text: str) -> None:
    """On any text, with control tokens as text and as control tokens: ids and spans are the same."""
    encoder = ours(name)
    twin = twin_of(name)
    for special in ("text", "allow"):
        encoding = encoder.encode(text, special=special)
        assert encoding.ids == twin.encode(text, special)
        assert encoding.offsets() == twin.byte_offsets(text, special)
