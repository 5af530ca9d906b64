"""The slow readable twin of SentencePiece: its worked example, and that it computes what the library does."""

from __future__ import annotations

import doctest
import functools
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenwire_core import IdOutOfRangeError, TokenizerError, reference_sentencepiece
from tokenwire_core.formats.sentencepiece_model import read_sentencepiece_model
from tokenwire_core.reference_sentencepiece import ReferenceSentencePiece

from tests.core.model_files import (
    BPE,
    CHAR,
    CONTROL,
    NORMAL,
    SPELLINGS,
    TRAINED,
    UNIGRAM,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    library,
    made_up_models,
    model_file,
    trained,
)
from tests.strategies import texts

GOLDEN = {
    "mistral_v1": 266,
    "mistral_v3": 280,
    "ai21_j2": 282,
    "sp_botchan_en_bpe": 266,
    "sp_botchan_en_unigram": 266,
    "sp_kyoto_ja_unigram": 266,
    "xlm_roberta_sp": 266,
}
"""Published models with golden vectors, and how many each has."""

made_up_texts = st.lists(
    st.one_of(
        st.text(st.sampled_from(SPELLINGS + "  Ａﷺ\u200b\u3000\ufb01\ufffd😀\0"), max_size=12),
        st.sampled_from(["<s>", "</s>", "<unk>", "<0x41>", "ﷺ"]),
        st.binary(max_size=3),
    ),
    max_size=6,
).map(lambda parts: b"".join(part.encode() if isinstance(part, str) else part for part in parts))
"""Texts near the pieces of made-up models, sometimes malformed."""

malformed = st.tuples(texts().map(str.encode), st.integers(0, 4096), st.binary(max_size=4)).map(
    lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] :]
)
"""Texts with some bytes put anywhere into them."""


def twin(data: bytes) -> ReferenceSentencePiece:
    return ReferenceSentencePiece(read_sentencepiece_model(data))


@functools.cache
def trained_twin(name: str) -> ReferenceSentencePiece:
    return twin(trained(name))


def check_text(ours: ReferenceSentencePiece, data: bytes, text: str | bytes) -> None:
    """The normalized text, the ids, the pieces, the spans and the way back are the library's."""
    theirs = library(data)
    utf8 = text.encode() if isinstance(text, str) else text
    expected = theirs.encode(utf8, return_type="offset_mapping", return_bytes=True)
    tokens = ours.encode(text)
    assert [token.id for token in tokens] == expected["ids"] == theirs.encode(utf8)
    assert [token.piece.encode() for token in tokens] == expected["pieces"]
    assert [(token.byte_start, token.byte_end) for token in tokens] == expected["offsets"]
    assert ours.normalize(text).encode() == theirs.normalize(utf8)
    check_ids(ours, data, expected["ids"])


def check_ids(ours: ReferenceSentencePiece, data: bytes, ids: list[int]) -> None:
    """The decoded text is the library's."""
    assert ours.decode(ids) == library(data).decode(ids)


def test_the_worked_example_holds() -> None:
    """The example in the docstring gives what it says."""
    assert doctest.testmod(reference_sentencepiece).failed == 0


@given(made_up_models(), st.data())
def test_made_up_models(data: bytes, draw: st.DataObject) -> None:
    """On models of any flags, with ties, unused pieces and symbols inside each other, everything is the library's."""
    try:
        library(data)
    except RuntimeError:
        assume(False)
    ours = twin(data)
    for text in draw.draw(st.lists(made_up_texts, min_size=1, max_size=8)):
        check_text(ours, data, text)
    check_ids(ours, data, draw.draw(st.lists(st.integers(0, len(ours.model.pieces) - 1), max_size=12)))


@pytest.mark.parametrize("name", TRAINED)
class TestTrained:
    @given(text=texts())
    def test_texts(self, name: str, text: str) -> None:
        """On trained models of all types everything is the library's."""
        check_text(trained_twin(name), trained(name), text)

    @given(text=malformed)
    def test_malformed_texts(self, name: str, text: bytes) -> None:
        """So it is for bytes that are not well-formed UTF-8."""
        check_text(trained_twin(name), trained(name), text)

    @given(data=st.data())
    def test_any_ids(self, name: str, data: st.DataObject) -> None:
        """Any ids decode to the library's text."""
        ours = trained_twin(name)
        check_ids(
            ours, trained(name), data.draw(st.lists(st.integers(0, len(ours.model.pieces) - 1), max_size=40))
        )

    @given(text=texts())
    def test_ends_of_a_text(self, name: str, text: str) -> None:
        """The tokens that begin and end a text are put there on request, with empty spans."""
        tokens = trained_twin(name).encode(text, add_bos=True, add_eos=True)
        ids: list[int] = library(trained(name)).encode(text, add_bos=True, add_eos=True)
        assert [token.id for token in tokens] == ids
        n_bytes = len(text.encode())
        assert [token[2:] for token in (tokens[0], tokens[-1])] == [(0, 0), (n_bytes, n_bytes)]


UNK = ("<unk>", 0.0, UNKNOWN)


def test_only_64_symbols_at_a_place() -> None:
    """Of more than 64 user-defined symbols that begin at a place, the longest of the shortest 64 is taken."""
    symbols = [("a" * n, 0.0, USER_DEFINED) for n in range(1, 100)]
    for model_type in (BPE, CHAR, UNIGRAM):
        data = model_file([UNK, *symbols], trainer={3: model_type})
        for n in (63, 64, 65, 99, 100, 200):
            check_text(twin(data), data, "a" * n)


def test_unused_pieces_inside_each_other() -> None:
    """Merging goes through unused pieces, which fall apart again, except what is more than 100 deep in them."""
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 120)))
    characters = [(character, 0.0, NORMAL) for character in text]
    beginnings = [(text[:n], -float(n), UNUSED) for n in range(2, len(text) + 1)]
    data = model_file([UNK, *characters, *beginnings], trainer={3: BPE}, normalizer={3: 0})
    ours = twin(data)
    for n in (2, 3, 100, 101, 102, 103, 104, 120):
        check_text(ours, data, text[:n])
    assert [len(ours.encode(text[:n])) for n in (102, 103, 120)] == [102, 102, 102]


def test_an_unused_piece_falls_apart_as_it_was_made() -> None:
    """Of the ways to cut an unused piece in two, the one that the scores make it by is taken, wherever it stands."""
    pieces = [("a", 0.0), ("b", 0.0), ("c", 0.0), ("ab", -1.0), ("bc", -1.5), ("x", 0.0), ("xab", -1.2)]
    data = model_file(
        [UNK, *((text, score, NORMAL) for text, score in pieces), ("abc", -2.0, UNUSED)],
        trainer={3: BPE},
        normalizer={3: 0},
    )
    for text in ("abc", "xabc", "abcxabc", "abcabc", "bcabcbc"):
        check_text(twin(data), data, text)


@pytest.mark.parametrize(("score", "n_tokens"), [(9.75, 1), (10.25, 2)])
def test_an_unknown_character_scores_10_less_than_the_worst_piece(score: float, n_tokens: int) -> None:
    """A piece beats an unknown character and the rest of it up to that difference."""
    data = model_file(
        [UNK, ("a", score, NORMAL), ("éa", -3.0, NORMAL), ("?", -9.0, USER_DEFINED)],
        trainer={3: UNIGRAM},
        normalizer={3: 0},
    )
    check_text(twin(data), data, "éa")
    assert len(twin(data).encode("éa")) == n_tokens


def test_long_sums_of_scores_start_again() -> None:
    """Float32 sums of scores are set back as in the library, so that long texts end in the same cut."""
    pieces = [("a", -20000.0), ("aa", -40000.5), ("aaa", -60000.009), ("b", -9.1)]
    data = model_file(
        [UNK, *((text, score, NORMAL) for text, score in pieces)], trainer={3: UNIGRAM}, normalizer={3: 0}
    )
    for text in ("a" * 60, "ab" * 100, "aab" * 70 + "?" * 40 + "a" * 7):
        check_text(twin(data), data, text)


def test_zeros_of_two_signs() -> None:
    """Of merges that score 0, those of -0.0 come last."""
    data = model_file(
        [
            UNK,
            *((text, 0.0, NORMAL) for text in ("a", "b", "bc", "cd")),
            ("ab", -0.0, NORMAL),
            ("c", 0.0, NORMAL),
        ],
        trainer={3: BPE},
        normalizer={3: 0},
    )
    check_text(twin(data), data, "abcd")
    assert [token.piece for token in twin(data).encode("abc")] == ["a", "bc"]


@pytest.mark.parametrize("model_type", [BPE, CHAR, UNIGRAM, 3])
def test_control_pieces_come_from_no_text(model_type: int) -> None:
    """A text that spells control pieces, the unknown one or those of bytes does not become them."""
    pieces = [UNK, ("<s>", 0.0, CONTROL), ("a", 0.0, CONTROL), ("b", 0.0, NORMAL), ("<s", -1.0, NORMAL)]
    data = model_file(pieces, trainer={3: model_type})
    for text in ("<s>", "a", "bab", "<unk>", "<s><s>", " <s> a"):
        check_text(twin(data), data, text)
        assert not {1, 2} & {token.id for token in twin(data).encode(text)}


@pytest.mark.parametrize("add_dummy_prefix", [0, 1])
@pytest.mark.parametrize("remove_extra_whitespaces", [0, 1])
def test_blanks_at_the_begin_of_decoded_text(add_dummy_prefix: int, remove_extra_whitespaces: int) -> None:
    """The blank of the first piece goes if the model adds one, all at the begin go if it removes extra ones."""
    pieces = [UNK, ("<s>", 0.0, CONTROL), ("▁", 0.0, NORMAL), ("▁a", 0.0, NORMAL), ("▁▁", 0.0, NORMAL)]
    data = model_file(
        pieces, trainer={3: BPE, 44: ""}, normalizer={3: add_dummy_prefix, 4: remove_extra_whitespaces}
    )
    ours = twin(data)
    for ids in ([2, 2, 3], [1, 2, 1, 2, 3], [3, 3], [4, 2, 3], [0, 2, 3], [2, 0, 2, 3]):
        check_ids(ours, data, ids)
    assert ours.decode([2, 2, 3]) == " " * (3 - add_dummy_prefix if not remove_extra_whitespaces else 0) + "a"


def test_ids_that_are_none() -> None:
    """An id that is no piece is an error with its place."""
    ours = trained_twin("bpe as trained by default")
    for id_ in (-1, len(ours.model.pieces), 1 << 40):
        with pytest.raises(IdOutOfRangeError) as caught:
            ours.decode([5, id_])
        assert caught.value.index == 1


def test_ends_that_a_model_has_not() -> None:
    """Without such a token, asking for it is an error, as in the library."""
    ours = twin(model_file([UNK, ("a", 0.0, NORMAL)], trainer={3: BPE}))
    for option in ("add_bos", "add_eos"):
        with pytest.raises(TokenizerError, match="no such token"):
            ours.encode("a", **{option: True})


@pytest.fixture(params=GOLDEN)
def published(
    request: pytest.FixtureRequest, reference_data: Path
) -> tuple[ReferenceSentencePiece, list[dict[str, Any]]]:
    """The twin of a published model, and its golden vectors."""
    name = request.param
    ours = twin(lzma.decompress((reference_data / "artifacts" / f"{name}.model.xz").read_bytes()))
    rows = [
        json.loads(line) for line in (reference_data / "golden" / f"{name}.jsonl").read_text().splitlines()
    ]
    assert len(rows) == GOLDEN[name]
    return ours, rows


def test_golden_vectors(published: tuple[ReferenceSentencePiece, list[dict[str, Any]]]) -> None:
    """Ids with and without the ends of a text, pieces, spans, normalized and decoded texts are those of each vector."""
    ours, rows = published
    ends = {"add_bos": ours.model.bos_id is not None, "add_eos": ours.model.eos_id is not None}
    for row in rows:
        text = row["text"]
        tokens = ours.encode(text)
        assert [token.id for token in tokens] == row["ids"], row["id"]
        assert [token.piece for token in tokens] == row["pieces"], row["id"]
        assert [[token.byte_start, token.byte_end] for token in tokens] == row["byte_offsets"], row["id"]
        assert [token.id for token in ours.encode(text, **ends)] == row["ids_template"], row["id"]
        assert ours.normalize(text) == (text if row["normalized"] is None else row["normalized"]), row["id"]
        assert ours.decode(row["ids"]) == row["decoded"], row["id"]
