"""Unigram and its slow twin, which is the library's: random vocabularies full of ties, and real ones."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenwire_core.errors import UnknownTextError
from tokenwire_core.pipeline import UnigramModel
from tokenwire_core.reference_models import UnigramTokenizer
from tokenwire_core.unigram import Unigram

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

    def __init__(self, model: UnigramModel, control_ids: frozenset[int]) -> None:
        super().__init__(model)
        self._ids = {spelling: id for spelling, id in self._ids.items() if id not in control_ids}

    def tokens(self, piece: str) -> list[tuple[int, int, int]] | None:
        try:
            return [(token.id, token.start, token.end) for token in self(piece)]
        except ValueError:
            return None


def tokens_of(model: Unigram, piece: str) -> list[tuple[int, int, int]] | None:
    try:
        return model.tokens(piece)
    except UnknownTextError:
        return None


@given(unigram_models(), st.lists(near_texts, max_size=8))
@settings(max_examples=400)
def test_as_the_twin(models: tuple[UnigramModel, frozenset[int]], texts: list[str]) -> None:
    """Ids and places are the twin's, and where a text cannot be encoded neither encodes it."""
    twin, model = Twin(*models), Unigram(*models)
    for text in texts:
        assert tokens_of(model, text) == twin.tokens(text)
