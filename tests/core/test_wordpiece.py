"""WordPiece, WordLevel and their slow twins, which are the library's."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenwire_core.pipeline import WordPieceModel
from tokenwire_core.reference_models import Tokenize, tokenizer_of
from tokenwire_core.wordpiece import WordPiece

ALPHABET = "ab#é"
near_texts = st.one_of(
    st.text(st.sampled_from(ALPHABET), min_size=1, max_size=16),
    st.text(st.sampled_from(ALPHABET + "x😀\0"), min_size=1, max_size=12),
)
words = st.text(st.sampled_from(ALPHABET), max_size=5)


def twin_tokens(tokenize: Tokenize, piece: str) -> list[tuple[int, int, int]]:
    return [(token.id, token.start, token.end) for token in tokenize(piece)]


@st.composite
def wordpiece_models(draw: st.DrawFn) -> WordPieceModel:
    """Entries that get into each other's way, at the beginning of a word and inside."""
    prefix = draw(st.sampled_from(["##", "#", "", "a", "é#"]))
    bare = draw(st.sets(words, max_size=10))
    inside = draw(st.sets(words, max_size=20))
    spellings = draw(st.permutations(sorted({"?"} | bare | {prefix + word for word in inside})))
    vocab = {spelling: id * 3 for id, spelling in enumerate(spellings)}
    return WordPieceModel(vocab, "?", prefix, draw(st.sampled_from([100, 8, 3, 0])))


@given(wordpiece_models(), st.data())
@settings(max_examples=300)
def test_wordpiece_as_the_twin(description: WordPieceModel, data: st.DataObject) -> None:
    """Ids and places are the twin's; of control tokens as those of a vocabulary that lacks them."""
    control_ids = data.draw(st.sets(st.sampled_from(sorted(description.vocab.values())), max_size=3))
    control_ids -= {description.vocab["?"]}
    left = {spelling: id for spelling, id in description.vocab.items() if id not in control_ids}
    twin = tokenizer_of(WordPieceModel(left, "?", description.prefix, description.max_chars_per_word))
    model = WordPiece(description, control_ids)
    for text in data.draw(st.lists(near_texts, max_size=8)):
        assert model.tokens(text) == twin_tokens(twin, text)
