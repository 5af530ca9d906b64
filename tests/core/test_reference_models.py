"""The twin's models and the library's: vocabularies at random, on texts that they nearly cover."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenwire_core.errors import UnknownTextError
from tokenwire_core.pipeline import UnigramModel
from tokenwire_core.reference_models import tokenizer_of

from tests.core.hf_documents import BPE
from tests.core.hf_twins import Twins

ALPHABET = "abé▁"
"""So few that random entries match random texts in many ways."""
near_texts = st.one_of(
    st.text(st.sampled_from(ALPHABET), max_size=12),
    st.text(st.sampled_from(ALPHABET + "x😀"), max_size=10),
)
words = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=3)
byte_tokens: st.SearchStrategy[list[str]] = st.one_of(
    st.just([]),
    st.just([f"<0x{byte:02X}>" for byte in range(256)]),
    st.sets(st.integers(0, 255), max_size=200).map(
        lambda values: [f"<0x{value:02X}>" for value in sorted(values)]
    ),
)


@st.composite
def byte_pair_models(draw: st.DrawFn) -> dict[str, Any]:
    """Some characters, and merges of what is there, some with one result by different pairs; all options."""
    is_plain = draw(st.booleans())
    prefix = "" if is_plain else draw(st.sampled_from(["", "##", "é"]))
    suffix = "" if is_plain else draw(st.sampled_from(["", "</w>", "a"]))
    tokens = {"<unk>", *([] if is_plain else draw(byte_tokens))}
    for char in draw(st.sets(st.sampled_from(ALPHABET), min_size=1)):
        forms = [prefix * inside + char + suffix * last for inside in (0, 1) for last in (0, 1)]
        tokens |= draw(st.sets(st.sampled_from(forms), min_size=1))
    merges = []
    for _ in range(draw(st.integers(0, 12))):
        left = draw(st.sampled_from(sorted(tokens)))
        right = draw(
            st.sampled_from([token for token in sorted(tokens) if token.startswith(prefix)] or ["<unk>"])
        )
        if right.startswith(prefix):
            merges.append([left, right])
            tokens.add(left + right[len(prefix) :])
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": draw(st.sampled_from([None, "<unk>"])),
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
        "fuse_unk": draw(st.booleans()),
        "byte_fallback": draw(st.booleans()),
        "ignore_merges": draw(st.booleans()),
        "vocab": {token: id for id, token in enumerate(draw(st.permutations(sorted(tokens))))},
        "merges": merges,
    }


@given(model=byte_pair_models(), texts=st.lists(near_texts, max_size=8), splits=st.booleans())
@settings(max_examples=250)
def test_byte_pairs(model: dict[str, Any], texts: list[str], splits: bool) -> None:
    """Byte-pair encoding with every option, on whole texts and on words."""
    pre_tokenizer = {
        "type": "Split",
        "pattern": {"String": "▁"},
        "behavior": "MergedWithNext",
        "invert": False,
    }
    twins = Twins(model=model, pre_tokenizer=pre_tokenizer if splits else None)
    for text in texts:
        twins.assert_same(text)


@pytest.mark.parametrize(
    ("text", "spellings"), [("abc", ["abc"]), ("abcab", ["abc", "ab"]), ("aabcc", ["a", "abc", "c"])]
)
def test_a_merge_that_is_no_longer_there(text: str, spellings: list[str]) -> None:
    """What waits to be joined is not, once one of the two has been joined with another."""
    vocab = {token: id for id, token in enumerate(["<unk>", "a", "b", "c", "bc", "ab", "abc"])}
    merges = [["b", "c"], ["a", "b"], ["a", "bc"]]
    twins = Twins(model={**BPE, "vocab": vocab, "merges": merges, "unk_token": "<unk>"})
    twins.assert_same(text)
    assert [token.text for token in twins.ours.encode(text).tokens] == spellings


@st.composite
def unigram_models(draw: st.DrawFn) -> dict[str, Any]:
    """Entries with scores of which many sums are equal, or differ in the last digit alone."""
    scores = draw(
        st.sampled_from(
            [
                st.just(0.0),
                st.sampled_from([-1.0, -2.0, -3.0]),
                st.sampled_from([-0.1, -0.2, -0.3, -0.30000000000000004, -1e-17, 1.5]),
            ]
        )
    )
    spellings = draw(st.lists(words, max_size=16, unique=True)) + draw(byte_tokens)
    pieces = [["<unk>", draw(scores)], *([spelling, draw(scores)] for spelling in spellings)]
    unk_id = draw(st.integers(0, len(pieces) - 1)) if draw(st.booleans()) else 0
    return {"type": "Unigram", "unk_id": unk_id, "vocab": pieces, "byte_fallback": draw(st.booleans())}


@given(model=unigram_models(), texts=st.lists(near_texts, max_size=8))
@settings(max_examples=250)
def test_unigram(model: dict[str, Any], texts: list[str]) -> None:
    """The best segmentation, of equal ones the library's; unknown characters fused, or their bytes."""
    twins = Twins(model=model)
    for text in texts:
        twins.assert_same(text)


def test_unigram_without_an_unknown_token() -> None:
    """A character that cannot be told is an error, also if it would not have been the best way."""
    tokenize = tokenizer_of(UnigramModel((("a", -1.0), ("bc", -50.0)), unk_id=None))
    assert [token.id for token in tokenize("aa")] == [0, 0]
    for text in ("b", "bc"):
        with pytest.raises(UnknownTextError):
            tokenize(text)


@given(
    entries=st.lists(st.tuples(st.booleans(), words), max_size=20),
    prefix=st.sampled_from(["##", "", "a"]),
    max_chars=st.sampled_from([100, 3, 0]),
    texts=st.lists(near_texts, max_size=8),
)
@settings(max_examples=150)
def test_word_piece(entries: list[tuple[bool, str]], prefix: str, max_chars: int, texts: list[str]) -> None:
    """The longest entries from the left, or one unknown token."""
    spellings = dict.fromkeys(["[UNK]", *(prefix * inside + word for inside, word in entries)])
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": max_chars,
        "vocab": {spelling: id for id, spelling in enumerate(spellings)},
    }
    twins = Twins(model=model, pre_tokenizer={"type": "Digits", "individual_digits": True})
    for text in texts:
        twins.assert_same(text)


@given(entries=st.lists(words, max_size=20, unique=True), texts=st.lists(near_texts, max_size=8))
def test_word_level(entries: list[str], texts: list[str]) -> None:
    """An entry or the unknown token."""
    vocab = {spelling: id for id, spelling in enumerate(["<unk>", *entries])}
    twins = Twins(
        model={"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab},
        pre_tokenizer={"type": "CharDelimiterSplit", "delimiter": "▁"},
    )
    for text in texts:
        twins.assert_same(text)
