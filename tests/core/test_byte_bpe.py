"""Byte-level merges of a tokenizer.json: small ones against the slow twin, published ones against the library."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenwire_core.byte_alphabet import CHAR_OF_BYTE
from tokenwire_core.byte_bpe import ByteBpe
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.pipeline import BytePairModel
from tokenwire_core.reference_models import tokenizer_of

from tests.core.bpe_pieces import Tokens, assert_tokens, pieces_of, shuffled, without
from tests.core.test_hf_artifacts import artifact


def in_alphabet(text: str) -> str:
    return "".join(CHAR_OF_BYTE[byte] for byte in text.encode())


pieces = st.one_of(
    st.text(st.sampled_from("abé "), min_size=1, max_size=40),
    st.text(st.sampled_from("ab"), min_size=1, max_size=14),
    st.builds(
        lambda part, n: part * n, st.text(st.sampled_from("abé "), min_size=1, max_size=5), st.integers(1, 60)
    ),
)
words = st.text(st.sampled_from("abé "), min_size=1, max_size=4).map(in_alphabet)


@st.composite
def models(draw: st.DrawFn) -> BytePairModel:
    """All bytes, words that merges may lead to or not, and merges of them, whose ranks may rise with ids or not."""
    parts = [*in_alphabet("abé "), *draw(st.lists(words, max_size=5))]
    merges = []
    for _ in range(draw(st.integers(0, 16))):
        merges.append((draw(st.sampled_from(parts)), draw(st.sampled_from(parts))))
        parts.append("".join(merges[-1]))
    spellings = list(
        dict.fromkeys([*CHAR_OF_BYTE, *parts, *draw(st.sampled_from([[], ["漢a", "a b", "<end>", ""]]))])
    )
    ids = shuffled(draw, range(len(spellings)))
    return BytePairModel(
        vocab=dict(zip(spellings, ids, strict=True)),
        merges=tuple(shuffled(draw, merges)),
        ignore_merges=draw(st.booleans()),
    )


def by_the_twin(model: BytePairModel, piece: str) -> Tokens:
    """The twin's tokens of a piece in the byte alphabet; there a character is a byte, whatever it takes in UTF-8."""
    tokens = []
    at = 0
    for token in tokenizer_of(model)(in_alphabet(piece)):
        tokens.append((token.id, at, at + len(token.text)))
        at += len(token.text)
    return tokens


@given(models(), st.lists(pieces, max_size=6))
@settings(max_examples=100)
def test_tokens_are_those_of_the_twin(model: BytePairModel, texts: list[str]) -> None:
    """Ids and places, with any merges."""
    assert ByteBpe.fits(model)
    ours = ByteBpe(model)
    for text in texts:
        assert_tokens(ours, text, by_the_twin(model, text))


@given(models(), st.sets(st.integers(0, 300), max_size=4), pieces)
@settings(max_examples=40)
def test_no_text_becomes_a_control_token(model: BytePairModel, ids: set[int], text: str) -> None:
    """Whole or by merges: tokens are as if there were no such entry. A byte cannot be one."""
    if ids.isdisjoint(model.vocab[char] for char in CHAR_OF_BYTE):
        assert_tokens(ByteBpe(model, ids), text, by_the_twin(without(model, ids), text))
    else:
        assert not ByteBpe.fits(model, ids)


def small_model(**options: object) -> BytePairModel:
    vocab = {spelling: id for id, spelling in enumerate([*CHAR_OF_BYTE, "ab", "bc", "abc", "xyz"])}
    return BytePairModel(vocab=vocab, merges=(("b", "c"), ("a", "b"), ("ab", "c")), **options)  # type: ignore[arg-type]


def test_what_fits() -> None:
    """Every byte is an entry, and nothing stands before or behind characters."""
    model = small_model()
    assert ByteBpe.fits(model)
    assert not ByteBpe.fits(small_model(prefix="##"))
    assert not ByteBpe.fits(small_model(suffix="</w>"))
    assert not ByteBpe.fits(dataclasses.replace(model, vocab={**model.vocab, "Ġ": 1000}), {1000})
    assert not ByteBpe.fits(
        dataclasses.replace(model, vocab={c: id for c, id in model.vocab.items() if c != "Ġ"})
    )


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_whole_pieces(ignore_merges: bool) -> None:
    """An entry that no merges lead to is found where it is a whole piece, if merges are ignored."""
    model = ByteBpe(small_model(ignore_merges=ignore_merges))
    assert model.merges.n_unreachable == 2  # bc is joined before ab can be
    assert len(model.tokens("xyz")) == (1 if ignore_merges else 3)
    assert len(model.tokens("abc")) == (1 if ignore_merges else 2)
    assert len(model.tokens("abcx")) == 3


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["cl100k_hf", "llama3_1", "gpt_oss", "qwen3", "claude_legacy", "deepseek_v4"]
)
def test_published_models(name: str, reference_data: Path, seed: int) -> None:
    """Pieces of corpora and all entries that are text have the tokens of the library's own model."""
    data = artifact(reference_data, name)
    pipeline = read_hf_json(data)
    assert isinstance(pipeline.model, BytePairModel)
    control_ids = {token.id for token in pipeline.added_tokens if token.special}
    ours = ByteBpe(pipeline.model, control_ids, {token.content: token.id for token in pipeline.added_tokens})
    stages = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor"))
    theirs = Tokenizer.from_str(json.dumps({**json.loads(data), **stages, "added_tokens": []}))
    entries = random.Random(seed).sample(sorted(pipeline.model.vocab), 5000)
    texts = [theirs.decode([pipeline.model.vocab[entry]]) for entry in entries]
    for text in [*pieces_of(reference_data, seed, 5000), *filter(None, texts)]:
        expected = [token.id for token in theirs.model.tokenize(in_alphabet(text))]
        if control_ids.isdisjoint(expected):
            assert [id for id, _, _ in ours.tokens(text)] == expected
