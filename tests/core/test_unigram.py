"""Unigram and its slow twin, which is the library's: random vocabularies full of ties, and real ones."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenwire_core.errors import UnknownTextError
from tokenwire_core.formats.hf_models import read_model
from tokenwire_core.pipeline import UnigramModel
from tokenwire_core.reference_models import UnigramTokenizer
from tokenwire_core.unigram import Unigram

from tests.core.near_pieces import artifact, pieces_near

Tokens = list[tuple[int, int, int]]
"""(id, byte_start, byte_end) of each token."""

ALPHABET = "abé▁<>"
near_texts = st.one_of(
    st.text(st.sampled_from(ALPHABET), max_size=12),
    st.text(st.sampled_from(ALPHABET + "x😀\0"), max_size=12),
)
words = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=4)
scores = st.one_of(
    st.integers(-4, 0).map(float),
    st.sampled_from([0.1, 0.2, 0.3, 0.6, 20.0, 1e16, -1e300]),
    st.floats(-1e3, 1e3),
)
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


@st.composite
def unigram_models(draw: st.DrawFn) -> tuple[UnigramModel, frozenset[int]]:
    """Few pieces with many ways to cut a text, and the ids of some that are control tokens."""
    spellings = ["<unk>", *draw(st.sets(words, max_size=20))]
    unk_id = draw(st.sampled_from([None, 0, len(spellings) - 1]))
    control_ids = draw(st.sets(st.integers(0, len(spellings) - 1))) - {unk_id}
    spellings += draw(st.sampled_from([[], BYTE_TOKENS, BYTE_TOKENS[:200]]))
    pieces = tuple((spelling, draw(scores)) for spelling in spellings[:40])
    pieces += tuple((spelling, -1.0) for spelling in spellings[40:])
    return UnigramModel(pieces, unk_id, draw(st.booleans())), frozenset(control_ids)


class Twin(UnigramTokenizer):
    """The twin, to which control tokens are no entries, though their scores count."""

    def __init__(self, model: UnigramModel, control_ids: frozenset[int] = frozenset()) -> None:
        super().__init__(model)
        self._ids = {spelling: id for spelling, id in self._ids.items() if id not in control_ids}

    def tokens(self, piece: str) -> Tokens | None:
        try:
            return [(token.id, token.start, token.end) for token in self(piece)]
        except ValueError:
            return None


def tokens_of(model: Unigram, piece: str) -> Tokens | None:
    try:
        return model.tokens(piece)
    except UnknownTextError:
        return None


@given(unigram_models(), st.lists(near_texts, max_size=8))
@settings(max_examples=150)
def test_as_the_twin(models: tuple[UnigramModel, frozenset[int]], texts: list[str]) -> None:
    """Ids and places are the twin's, and where a text cannot be encoded neither encodes it."""
    twin, model = Twin(*models), Unigram(*models)
    for text in texts:
        assert tokens_of(model, text) == twin.tokens(text)


@given(unigram_models(), st.lists(near_texts, max_size=8))
@settings(max_examples=50)
def test_words_that_come_again(models: tuple[UnigramModel, frozenset[int]], texts: list[str]) -> None:
    """Words from the cache have the ids that they had the first time, kept or counted."""
    model = Unigram(*models)
    known = {text: tokens for text in texts if (tokens := tokens_of(model, text)) is not None}
    pieces = [text for text in texts if text in known] * 3
    ids = [id for text in pieces for id, _, _ in known[text]]
    assert model.ids(pieces) == ids
    assert model.ids(pieces, keep=False) == len(ids)


def spelled(model: UnigramModel, piece: str, control_ids: frozenset[int] = frozenset()) -> list[str]:
    found = Unigram(model, control_ids).tokens(piece)
    assert found == Twin(model, control_ids).tokens(piece)
    return [model.pieces[id][0] for id, _, _ in found]


PIECES = (
    ("<unk>", 0.0),
    ("a", -1.0),
    ("b", -1.0),
    ("ab", -2.0),
    ("<s>", -0.5),
    ("s", -1.0),
    ("<", -1.0),
    (">", -1.0),
)


def test_of_equal_sums_the_longest_last_entry() -> None:
    """`a`, `b` and `ab` sum up to the same; the way that begins first stays."""
    assert spelled(UnigramModel(PIECES, 0), "abab") == ["ab", "ab"]


def test_unknown_text() -> None:
    """Characters in a row that are no entries are one token, also with the unknown token spelled beside them."""
    assert spelled(UnigramModel(PIECES, 0), "xya漢") == ["<unk>", "a", "<unk>"]
    assert spelled(UnigramModel(PIECES, 0), "x<unk>y<unk><unk>a") == ["<unk>", "a"]
    assert Unigram(UnigramModel(PIECES, 0)).tokens("漢xa") == [(0, 0, 4), (1, 4, 5)]


def test_unknown_text_without_an_unknown_token() -> None:
    """What cannot be encoded is refused, wherever it stands; what can be is not."""
    model = Unigram(UnigramModel(PIECES, None))
    assert model.tokens("ab") == [(3, 0, 2)]
    for text in ("x", "abx", "xab"):
        with pytest.raises(UnknownTextError):
            model.tokens(text)


def test_bytes_of_unknown_text() -> None:
    """Each byte's token has the place of the whole run; where one byte has no token, none has."""
    pieces = (*PIECES, ("<0x78>", -1.0), ("<0xC3>", -1.0), ("<0xA9>", -1.0))
    model = UnigramModel(pieces, 0, byte_fallback=True)
    assert Unigram(model).tokens("axéb") == [(1, 0, 1), (8, 1, 4), (9, 1, 4), (10, 1, 4), (2, 4, 5)]
    assert spelled(model, "axéy") == ["a", "<unk>"]
    assert spelled(model, "<unk>") == ["<unk>"]


def test_unknown_characters_that_are_an_entry_together() -> None:
    """Where unknown characters score more than the entry that they spell, the library takes the entry all the same."""
    pieces = (("<unk>", 100.0), ("xy", 101.0))
    assert spelled(UnigramModel(pieces, 0), "xy") == ["xy"]
    assert spelled(UnigramModel(pieces, 0), "xy", frozenset({1})) == ["<unk>"]


def test_a_control_token_is_cut_as_text() -> None:
    """What spells an entry that is a control token has its other entries, and its score still counts as the lowest."""
    assert spelled(UnigramModel(PIECES, 0), "a<s>b") == ["a", "<s>", "b"]
    assert spelled(UnigramModel(PIECES, 0), "a<s>b", frozenset({4})) == ["a", "<", "s", ">", "b"]
    pieces = (("<unk>", 0.0), ("</s>", -100.0), ("ab", -50.0))
    assert spelled(UnigramModel(pieces, 0), "ab", frozenset({1})) == ["ab"]


def test_a_long_piece() -> None:
    """A piece of 40,000 characters is one sum from its first to its last."""
    draw = random.Random(1)
    pieces = tuple(
        (spelling, draw.uniform(-9, -1)) for spelling in ("?", "a", "b", "ab", "aab", "ba", "bb", "é", "éa")
    )
    model = UnigramModel(pieces, 0)
    text = "".join(draw.choices("abéx", k=40_000))
    assert Unigram(model).tokens(text) == Twin(model).tokens(text)


ARTIFACTS = ("xlm_roberta", "nepali_unigram")

SPLITS = {
    "xlm_roberta": {
        "<s>": ["▁<", "s", ">"],
        "<pad>": ["▁<", "pad", ">"],
        "</s>": ["▁", "</", "s", ">"],
        "<unk>": ["▁", "<unk>"],
        "<mask>": ["▁<", "mas", "k", ">"],
    },
    "nepali_unigram": {
        "<cls>": ["▁<", "c", "l", "s", ">"],
        "<sep>": ["▁<s", "ep", ">"],
        "<unk>": ["▁", "<unk>"],
        "<pad>": ["▁<", "pad", ">"],
        "<mask>": ["▁<", "m", "ask", ">"],
        "<s>": ["▁<s", ">"],
        "</s>": ["▁", "</s", ">"],
    },
}
"""How each artifact's special tokens are cut when a user types them at the begin of a word."""


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_as_the_library(reference_data: Path, name: str, seed: int) -> None:
    """Ids and places are the library's on words of corpora and on random pieces, of which many are unknown."""
    document = artifact(reference_data, name)
    library = Tokenizer.from_str(json.dumps(document)).model
    description = read_model(document["model"])
    assert isinstance(description, UnigramModel)
    model = Unigram(description)
    spellings = [spelling for spelling, _ in description.pieces]
    for piece in pieces_near(reference_data, spellings, random.Random(seed)):
        expected = [(token.id, *token.offsets) for token in library.tokenize(piece)]
        assert model.tokens(piece) == expected


@pytest.mark.parametrize("name", ARTIFACTS)
def test_how_typed_control_tokens_are_cut(reference_data: Path, name: str) -> None:
    """No special token but the unknown one comes from its spelling."""
    document = artifact(reference_data, name)
    description = read_model(document["model"])
    assert isinstance(description, UnigramModel)
    special = {token["content"]: token["id"] for token in document["added_tokens"] if token["special"]}
    model = Unigram(description, set(special.values()) - {description.unk_id})
    cuts = {
        spelling: [description.pieces[id][0] for id, _, _ in model.tokens("▁" + spelling)]
        for spelling in special
    }
    assert cuts == SPLITS[name]
