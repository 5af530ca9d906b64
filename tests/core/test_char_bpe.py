"""Byte-pair encoding of characters, against the slow twin on small vocabularies and the library on published ones."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenwire_core.char_bpe import CharBpe
from tokenwire_core.errors import TokenizerError
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.pipeline import BytePairModel
from tokenwire_core.reference_models import tokenizer_of

from tests.core.bpe_pieces import Tokens, assert_tokens, pieces_of, shuffled, without
from tests.core.test_hf_artifacts import artifact

KNOWN = "ab▁é漢"
"""Characters that vocabularies may have: of one, two and three bytes, so few that merges compete."""
texts = st.one_of(
    st.text(st.sampled_from(KNOWN), min_size=1, max_size=14),
    st.text(st.sampled_from(KNOWN + "?\n😀"), min_size=1, max_size=14),
    st.builds(
        lambda part, n: part * n,
        st.text(st.sampled_from(KNOWN + "?"), min_size=1, max_size=6),
        st.integers(1, 80),
    ),
)
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
byte_tokens = st.one_of(
    st.sampled_from([[], BYTE_TOKENS]),
    st.builds(
        lambda seed, n: random.Random(seed).sample(BYTE_TOKENS, n), st.integers(0, 99), st.integers(1, 255)
    ),
)


@st.composite
def models(draw: st.DrawFn) -> BytePairModel:
    """Some characters, bytes and words, and merges of them in any order, some twice; all options."""
    prefix, suffix = draw(
        st.sampled_from([("", ""), ("", ""), ("", ""), ("##", ""), ("", "</w>"), ("é", "a")])
    )
    tokens = ["<unk>", *draw(byte_tokens)]
    for char in sorted(draw(st.sets(st.sampled_from(KNOWN), min_size=1))):
        forms = [prefix * inside + char + suffix * last for inside in (0, 1) for last in (0, 1)]
        tokens += sorted(draw(st.sets(st.sampled_from(forms), min_size=1)))
    unk = draw(st.sampled_from([None, "<unk>", "<unk>", tokens[-1]]))
    parts = draw(st.sampled_from([tokens, [token for token in tokens if not token.startswith("<")]]))
    parts = list(parts) + draw(st.lists(st.text(st.sampled_from(KNOWN), min_size=2, max_size=4), max_size=4))
    merges = []
    for _ in range(draw(st.integers(0, 16))):
        left = draw(st.sampled_from(parts))
        right = draw(st.sampled_from([part for part in parts if part.startswith(prefix)] or [prefix]))
        if right == prefix:
            continue
        merges.append((left, right))
        parts.append(left + right.removeprefix(prefix))
    spellings = list(dict.fromkeys([*tokens, *parts]))
    ids = shuffled(draw, range(len(spellings)))
    return BytePairModel(
        vocab=dict(zip(spellings, ids, strict=True)),
        merges=tuple(shuffled(draw, merges)),
        unk=unk,
        fuse_unk=draw(st.booleans()),
        byte_fallback=draw(st.booleans()),
        ignore_merges=draw(st.booleans()),
        prefix=prefix,
        suffix=suffix,
    )


def by_the_twin(model: BytePairModel, text: str) -> Tokens:
    return [(token.id, token.start, token.end) for token in tokenizer_of(model)(text)]


@given(models(), st.lists(texts, max_size=6))
@settings(max_examples=60)
def test_tokens_are_those_of_the_twin(model: BytePairModel, pieces: list[str]) -> None:
    """Ids and places, of any vocabulary with any merges, on texts that it covers or not."""
    ours = CharBpe(model)
    for text in pieces:
        assert_tokens(ours, text, by_the_twin(model, text))


@settings(max_examples=50)
@given(models(), st.sets(st.integers(0, 400), max_size=4), texts)
def test_no_text_becomes_a_control_token(model: BytePairModel, ids: set[int], text: str) -> None:
    """Whole, by merges, as a character or as a byte: tokens are as if there were no such entry."""
    assert_tokens(CharBpe(model, ids), text, by_the_twin(without(model, ids), text))


def small_model() -> BytePairModel:
    """Words as SentencePiece learns them, whose blanks stand only in front."""
    words = ["a", "b", "▁", "é", "ab", "▁a", "▁ab", "bé", "▁▁", "▁▁▁▁"]
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    vocab = {spelling: id for id, spelling in enumerate(["<unk>", *bytes_, *words])}
    merges = (("a", "b"), ("▁", "a"), ("▁", "ab"), ("▁a", "b"), ("b", "é"), ("▁", "▁"), ("▁▁", "▁▁"))
    return BytePairModel(vocab, merges, unk="<unk>", fuse_unk=True, byte_fallback=True)


def test_long_texts() -> None:
    """Texts of many words, of one long word, and of characters without tokens, are the twin's token by token."""
    model = small_model()
    ours = CharBpe(model)
    rng = random.Random(4)
    for alphabet in ("ab▁", "ab▁é?😀", "▁", "ab", "?", "ab▁" + "é" * 9):
        text = "".join(rng.choice(alphabet) for _ in range(3000))
        assert_tokens(ours, text, by_the_twin(model, text))


def test_words_that_come_again() -> None:
    """A word that was encoded before has the same tokens as the first time, whatever its length and theirs."""
    pairs = [left + right for left in "ab▁" for right in "ab"]
    vocab = {spelling: id for id, spelling in enumerate(["<unk>", *"ab▁", *pairs, "abab", "aaaa", "▁abb"])}
    merges = (*map(tuple, pairs), ("ab", "ab"), ("aa", "aa"), ("▁a", "bb"))
    model = BytePairModel(vocab, merges, unk="<unk>", fuse_unk=True)  # type: ignore[arg-type]
    ours = CharBpe(model)
    rng = random.Random(8)
    words = ["▁" + "".join(rng.choices("aab", k=n)) for n in range(45) for _ in range(9)]
    for few in (words[:60], words[60:200], words):
        text = "".join(rng.choice(few) for _ in range(2000))
        assert_tokens(ours, text, by_the_twin(model, text))


def test_a_prefix_that_grows_without_bound() -> None:
    """A prefix whose bytes have tokens is as the twin has it up to a million symbols, and refused where it goes on."""
    model = BytePairModel({"<unk>": 0, "<0x61>": 1}, (), unk="<unk>", byte_fallback=True, prefix="a" * 99)
    ours = CharBpe(model)
    assert_tokens(ours, "a" * 50, by_the_twin(model, "a" * 50))
    with pytest.raises(TokenizerError):
        ours.tokens("a" * 12_000)


def test_entries_that_no_merges_lead_to() -> None:
    """`n_unreachable` counts words that are there in vain; bytes and the unknown token are no words."""
    model = small_model()
    assert CharBpe(model).n_unreachable == 0
    more = dataclasses.replace(model, vocab={**model.vocab, "ba": 900, "x": 901, "xa": 902})
    assert CharBpe(more).n_unreachable == 2


@pytest.mark.long
@pytest.mark.parametrize("name", ["llama2", "mistral_v1_hf", "moonshine", "gemma3"])
def test_published_models(name: str, reference_data: Path, seed: int) -> None:
    """Pieces of corpora have the tokens of the library's own model."""
    data = artifact(reference_data, name)
    pipeline = read_hf_json(data)
    assert isinstance(pipeline.model, BytePairModel)
    ours = CharBpe(pipeline.model, {token.id for token in pipeline.added_tokens if token.special})
    stages = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor"))
    theirs = Tokenizer.from_str(json.dumps({**json.loads(data), **stages, "added_tokens": []}))
    strange = "👩‍👩‍👧\0\uffff   \n\n\n" * 40
    for text in [*pieces_of(reference_data, seed, 10_000), strange]:
        piece = text.replace(" ", "▁")
        assert_tokens(ours, piece, [(token.id, *token.offsets) for token in theirs.model.tokenize(piece)])
