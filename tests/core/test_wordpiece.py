"""WordPiece, WordLevel and their slow twins, which are the library's."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.hf_models import read_model
from tokenwire_core.model import Model
from tokenwire_core.pipeline import WordLevelModel, WordPieceModel
from tokenwire_core.reference_models import tokenizer_of
from tokenwire_core.wordpiece import WordLevel, WordPiece

from tests.core.near_pieces import artifact, pieces_near

ALPHABET = "ab#é"
near_texts = st.one_of(
    st.text(st.sampled_from("ab"), min_size=1, max_size=40),
    st.text(st.sampled_from(ALPHABET), min_size=1, max_size=16),
    st.text(st.sampled_from(ALPHABET + "x😀\0"), min_size=1, max_size=12),
)
words = st.text(st.sampled_from(ALPHABET), max_size=5)
nested_words = st.text(st.sampled_from("ab"), max_size=12)

Tokens = list[tuple[int, int, int]]
"""(id, byte_start, byte_end) of each token."""


def by_twin(description: WordPieceModel | WordLevelModel, piece: str, control_ids: set[int]) -> Tokens:
    """What the twin makes of a piece with a vocabulary that lacks the control tokens."""
    vocab = {spelling: id for spelling, id in description.vocab.items() if id not in control_ids}
    if isinstance(description, WordPieceModel):
        left: WordPieceModel | WordLevelModel = WordPieceModel(
            vocab, description.unk, description.prefix, description.max_chars_per_word
        )
    else:
        left = WordLevelModel(vocab, description.unk)
    return [(token.id, token.start, token.end) for token in tokenizer_of(left)(piece)]


@st.composite
def wordpiece_models(draw: st.DrawFn) -> WordPieceModel:
    """Entries that get into each other's way, at the beginning of a word and inside."""
    prefix = draw(st.sampled_from(["##", "##", "#", "", "a", "é#"]))
    some_words = draw(st.sampled_from([words, nested_words]))
    bare = draw(st.sets(some_words, max_size=10))
    inside = draw(st.sets(some_words, max_size=20))
    spellings = draw(st.permutations(sorted({"?"} | bare | {prefix + word for word in inside})))
    vocab = {spelling: id * 3 for id, spelling in enumerate(spellings)}
    return WordPieceModel(vocab, "?", prefix, draw(st.sampled_from([100, 100, 8, 3, 0])))


wordlevel_models = st.sets(words, max_size=10).map(
    lambda spellings: WordLevelModel(
        {spelling: id for id, spelling in enumerate(sorted({"?"} | spellings))}, "?"
    )
)


@given(st.one_of(wordpiece_models(), wordlevel_models), st.data())
@settings(max_examples=200)
def test_as_the_twin(description: WordPieceModel | WordLevelModel, data: st.DataObject) -> None:
    """Ids and places are the twin's; where entries are control tokens, as if they were not there."""
    control_ids = data.draw(st.sets(st.sampled_from(sorted(description.vocab.values())), max_size=3))
    control_ids -= {description.vocab["?"]}
    model: Model
    if isinstance(description, WordPieceModel):
        model = WordPiece(description, control_ids)
    else:
        model = WordLevel(description, control_ids)
    texts = data.draw(st.lists(near_texts, max_size=8))
    texts += data.draw(st.lists(st.sampled_from(sorted({*description.vocab} - {""})), max_size=2))
    for text in texts:
        assert model.tokens(text) == by_twin(description, text, control_ids)
    ids = [id for text in texts for id, _, _ in model.tokens(text)] * 3
    assert model.ids(texts * 3) == ids
    assert model.ids(texts * 3, keep=False) == len(ids)


def spelled(spellings: list[str], piece: str) -> list[str]:
    vocab = {spelling: id for id, spelling in enumerate(["?", *spellings])}
    description = WordPieceModel(vocab, "?")
    found = WordPiece(description).tokens(piece)
    assert found == by_twin(description, piece, set())
    return [["?", *spellings][id] for id, _, _ in found]


def test_what_a_node_has_prepared() -> None:
    """Where a long entry fails late, what was read is `##a`, `##b` and a rest that goes on, or is unknown."""
    entries = ["x", "##a", "##abcd", "##b", "##cd"]
    assert spelled(entries, "xabcd") == ["x", "##abcd"]
    assert spelled([*entries, "##abcdx"], "xabcda") == ["x", "##abcd", "##a"]
    assert spelled([*entries, "##abcx"], "xabcd") == ["x", "##abcd"]
    assert spelled(["x", "##a", "##abcx", "##b", "##cd"], "xabcda") == ["x", "##a", "##b", "##cd", "##a"]
    assert spelled(["x", "##a", "##abcx", "##b", "##cd"], "xabc") == ["?"]


def test_the_prefix_typed_by_a_user() -> None:
    """An entry for inside a word is found at its beginning too, by its spelling."""
    assert spelled(["##a", "##b"], "##ab") == ["##a", "##b"]
    assert spelled(["##a", "##b"], "ab") == ["?"]


@pytest.mark.parametrize(("n_chars", "is_known"), [(7, True), (8, False), (80_000, False)])
def test_the_limit_of_characters(n_chars: int, is_known: bool) -> None:
    """A word of as many characters as the limit, however many bytes, is made up; one of more is unknown."""
    model = WordPiece(WordPieceModel({"?": 0, "漢": 1, "##漢": 2}, "?", max_chars_per_word=7))
    ids = [1] + [2] * (n_chars - 1) if is_known else [0]
    assert [id for id, _, _ in model.tokens("漢" * n_chars)] == ids


def test_long_words() -> None:
    """Without a limit worth the name, entries that nest and nearly match are found as the definition says."""
    powers = ["##" + "a" * (1 << k) for k in range(8)]
    assert spelled(["a", *powers, "##" + "a" * 300 + "b"], "a" * 600 + "b") == ["?"]
    nested = ["##" + "a" * k + "b" for k in range(1, 60)]
    model = WordPiece(
        WordPieceModel({s: i for i, s in enumerate(["?", "a", "##a", *nested])}, "?", "##", 1 << 30)
    )
    n = 1 << 20
    assert model.ids(["a" * n + "ba" + "a" * 59 + "b"]) == [1] + [2] * (n - 60) + [61, 2, 61]


@pytest.mark.long
def test_what_is_prepared_is_bounded() -> None:
    """Entries that are told from others by their last character, after thousands of the same, are refused by name."""
    letters = [chr(code) for code in range(0x21, 0x7F) if chr(code) != "a"]
    entries = ["##a", "##" + "a" * 4000 + "é", *("##" + letter for letter in letters)]
    entries += ["##" + first + "a" * 4000 + last + "é" for first in letters[:46] for last in letters]
    vocab = {spelling: id for id, spelling in enumerate(["?", *entries])}
    with pytest.raises(ArtifactError, match="16777216") as refused:
        WordPiece(WordPieceModel(vocab, "?"))
    assert refused.value.reason == "VOCABULARY_TOO_LARGE"


ARTIFACTS = ("minilm_bert_uncased", "bert_cased_config", "nepali_wordpiece")


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_as_the_library(reference_data: Path, name: str, seed: int) -> None:
    """Ids and places are the library's on words of corpora and on random pieces, of which many are unknown."""
    document = artifact(reference_data, name)
    library = Tokenizer.from_str(json.dumps(document)).model
    description = read_model(document["model"])
    assert isinstance(description, WordPieceModel)
    model = WordPiece(description)
    for piece in pieces_near(reference_data, sorted(description.vocab), random.Random(seed)):
        assert model.tokens(piece) == [(token.id, *token.offsets) for token in library.tokenize(piece)]


@pytest.mark.parametrize("name", ARTIFACTS)
def test_how_typed_control_tokens_are_made_up(reference_data: Path, name: str) -> None:
    """As pieces the special tokens of BERT are unknown; their parts, as BERT's pre-tokenizer has them, are words."""
    document = artifact(reference_data, name)
    description = read_model(document["model"])
    assert isinstance(description, WordPieceModel)
    special = {token["content"]: token["id"] for token in document["added_tokens"] if token["special"]}
    unk = description.vocab[description.unk]
    model = WordPiece(description, set(special.values()) - {unk})
    assert {*special} == {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    spelling_of = {id: spelling for spelling, id in description.vocab.items()}
    for spelling in special:
        assert model.ids([spelling]) == [unk]
    parts = [spelling_of[id] for id in model.ids(["[", "cls", "]"])]
    assert parts == ["[", "cl", "##s", "]"]
