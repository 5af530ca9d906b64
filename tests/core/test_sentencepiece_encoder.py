"""SentencePiece, compiled: it computes what its slow twin does, which is what the library does."""

from __future__ import annotations

import functools
import json
import lzma
import random
from ctypes import c_float
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenwire_core.charsmap import read_charsmap
from tokenwire_core.errors import ArtifactError, NormalizedTooLongError
from tokenwire_core.formats.sentencepiece_model import read_sentencepiece_model
from tokenwire_core.reference_sentencepiece import ReferenceSentencePiece
from tokenwire_core.safe_edges import SafeEdges
from tokenwire_core.sentencepiece_models import SentencePieceTokenizer
from tokenwire_core.sentencepiece_normalizer import SentencePieceNormalizer
from tokenwire_core.sentencepiece_spec import Algorithm, NormalizerRules, Piece, PieceType, SentencePieceModel

from tests.core.charsmaps import charsmap
from tests.core.model_files import BYTE_PIECES, CORPUS, SPELLINGS, TRAINED, library, made_up_models, trained
from tests.core.test_reference_sentencepiece import GOLDEN
from tests.strategies import random_text, texts

SPANS, REFERENCE = 1, 2

near_texts = st.lists(
    st.one_of(
        st.text(st.sampled_from(SPELLINGS + "  Ａﷺ\u200b\u3000\ufb01\ufffd😀\0"), max_size=12),
        st.sampled_from(["<s>", "</s>", "<unk>", "<0x41>", "ﷺ"]),
    ),
    max_size=6,
).map("".join)
"""Texts near the pieces of made-up models."""


AS_IT_IS = NormalizerRules(add_dummy_prefix=False, remove_extra_whitespaces=False)


class Compiled:
    """The compiled normalizer and model, one after the other."""

    def __init__(self, model: SentencePieceModel) -> None:
        self.normalizer = SentencePieceNormalizer(model)
        self.model = SentencePieceTokenizer(model)

    def ids(self, *texts: str) -> list[list[int]]:
        found = self.model.encoded(self.normalizer, [text.encode() for text in texts])
        return [[id_ for id_, _, _ in tokens] for tokens in found]

    def spans(self, text: str) -> list[tuple[int, int, int]]:
        return self.model.encoded(self.normalizer, [text.encode()], SPANS)[0]

    def reference(self, text: str) -> list[tuple[int, int, int]]:
        return self.model.encoded(self.normalizer, [text.encode()], REFERENCE)[0]

    def counts(self, *texts: str) -> list[int]:
        return self.model.counted(self.normalizer, [text.encode() for text in texts])


@functools.cache
def trained_pair(name: str) -> tuple[Compiled, ReferenceSentencePiece]:
    model = read_sentencepiece_model(trained(name))
    return Compiled(model), ReferenceSentencePiece(model)


def check(ours: Compiled, twin: ReferenceSentencePiece, *some: str) -> None:
    """Ids and places of the reference are the twin's, on a cache that knows nothing and on one that knows the texts;
    counts are those of the ids, and our own places are in order and at edges of characters."""
    expected = [twin.encode(text) for text in some]
    ids = [[token.id for token in tokens] for tokens in expected]
    assert ours.ids(*some, *some) == ids + ids
    assert ours.counts(*some, *some) == [len(of_one) for of_one in ids] * 2
    for text, tokens in zip(some, expected, strict=True):
        assert ours.reference(text) == [(token.id, token.byte_start, token.byte_end) for token in tokens]
        spans = ours.spans(text)
        assert [id_ for id_, _, _ in spans] == [token.id for token in tokens]
        edges = {len(text[:n].encode()) for n in range(len(text) + 1)}
        assert all(start in edges and end in edges and start <= end for _, start, end in spans)
        assert all(a[1] <= b[1] and a[2] <= b[2] for a, b in pairwise(spans))


def made_up(
    algorithm: Algorithm,
    *pieces: tuple[str, float] | tuple[str, float, PieceType],
    rules: NormalizerRules = AS_IT_IS,
    byte_fallback: bool = False,
) -> SentencePieceModel:
    """A model of these pieces, `<unk>` before them, and those of bytes behind them if it falls back to them."""
    entries = [Piece("<unk>", 0.0, PieceType.UNKNOWN)]
    for text, score, *type_ in pieces:
        entries.append(Piece(text, c_float(score).value, *(type_ or [PieceType.NORMAL])))
    if byte_fallback:
        entries += [Piece(text, score, PieceType.BYTE) for text, score, _ in BYTE_PIECES]
    return SentencePieceModel(algorithm, tuple(entries), byte_fallback, rules, unk_id=0)


@given(made_up_models(), st.lists(near_texts, min_size=1, max_size=6))
@settings(max_examples=25)
def test_made_up_models(data: bytes, some: list[str]) -> None:
    """On models of any flags, with ties, unused pieces and symbols inside each other, everything is the twin's."""
    try:
        model = read_sentencepiece_model(data)
    except ArtifactError:
        assume(False)
    check(Compiled(model), ReferenceSentencePiece(model), *some)


@given(st.sampled_from(sorted(TRAINED)), texts())
@settings(max_examples=50)
def test_trained_models(name: str, text: str) -> None:
    """On trained models of all types everything is the twin's."""
    check(*trained_pair(name), text)


@pytest.mark.parametrize("name", TRAINED)
def test_the_library(name: str, seed: int) -> None:
    """Ids and places of the reference are the library's, on longer texts than the twin is for."""
    rng = random.Random(seed)
    ours, _ = trained_pair(name)
    for _ in range(20):
        text = " ".join(rng.choice([*CORPUS, random_text(rng)]) for _ in range(rng.randint(1, 40)))
        expected = library(trained(name)).encode(
            text.encode(), return_type="offset_mapping", return_bytes=True
        )
        assert ours.ids(text) == [expected["ids"]]
        assert [token[1:] for token in ours.reference(text)] == expected["offsets"]


class TestPlaces:
    """Places by our rule."""

    def test_a_dummy_blank_is_empty_and_removed_blanks_are_nobodys(self) -> None:
        """The dummy blank is empty at its place; blanks at the ends are covered by no token."""
        ours = Compiled(made_up("bpe", ("▁", -1), ("a", -1), ("▁a", -2), rules=NormalizerRules()))
        assert ours.spans("  a a ") == [(3, 2, 3), (3, 3, 5)]
        ours = Compiled(made_up("bpe", ("▁", -1), ("a", -1), rules=NormalizerRules()))
        assert ours.spans("  a ") == [(1, 2, 2), (2, 2, 3)]

    def test_a_run_of_blanks_is_covered_by_the_one_that_is_left(self) -> None:
        """Of several blanks one is left, and stands for all of them."""
        ours = Compiled(made_up("bpe", ("▁", -1), ("a", -1), rules=NormalizerRules(add_dummy_prefix=False)))
        assert ours.spans("a   a") == [(2, 0, 1), (1, 1, 4), (2, 4, 5)]

    def test_what_a_charsmap_replaces(self) -> None:
        """All tokens of a replacement cover its whole key, which is of whole characters."""
        table = read_charsmap(charsmap({b"\xc3": "ab", b"e\xcc\x81": "é", b"\t": " "}))
        rules = NormalizerRules(charsmap=table, add_dummy_prefix=False)
        ours = Compiled(made_up("bpe", ("▁", -1), ("a", -1), ("b", -1), ("é", -1), rules=rules))
        assert ours.spans("be\u0301b") == [(3, 0, 1), (4, 1, 4), (3, 4, 5)]
        assert ours.spans("b \t b") == [(3, 0, 1), (1, 1, 4), (3, 4, 5)]
        assert ours.spans("b\u00fcb") == [(3, 0, 1), (2, 1, 3), (3, 1, 3), (0, 1, 3), (3, 3, 4)]

    def test_pieces_of_bytes_have_their_whole_character(self) -> None:
        """Each piece of a byte covers the character that it is part of."""
        for algorithm in ("bpe", "unigram", "char", "word"):
            ours = Compiled(made_up(algorithm, ("a", -1), byte_fallback=True))
            byte_ids = [2 + byte for byte in "é漢".encode()]
            assert ours.spans("é漢") == [
                (id_, *place) for id_, place in zip(byte_ids, [(0, 2)] * 2 + [(2, 5)] * 3, strict=True)
            ]

    def test_unknown_neighbours_are_one(self) -> None:
        """They are one token that covers all, wherever the text is cut meanwhile."""
        for algorithm in ("bpe", "unigram", "char"):
            ours = Compiled(made_up(algorithm, ("a", -1), ("▁a", -1), ("é", -1)))
            assert ours.spans("axyz xa") == [(1, 0, 1), (0, 1, 6), (1, 6, 7)]


def test_unused_pieces_inside_each_other() -> None:
    """Merging goes through unused pieces, which fall apart again, except what is more than 100 deep in them."""
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 120)))
    characters = [(character, 0.0) for character in text]
    beginnings = [(text[:n], -float(n), PieceType.UNUSED) for n in range(2, len(text) + 1)]
    model = made_up("bpe", *characters, *beginnings)
    check(
        Compiled(model),
        ReferenceSentencePiece(model),
        *(text[:n] for n in (2, 3, 100, 101, 102, 103, 104, 120)),
    )


def test_long_sums_of_scores() -> None:
    """Scores add up as in the twin where sums start again, where words are too long to be remembered, and where the
    text before decides between cuts that are nearly as good."""
    pieces = [("a", -20000.0), ("aa", -40000.5), ("aaa", -60000.009), ("b", -9.1)]
    model = made_up("unigram", *pieces)
    check(
        Compiled(model), ReferenceSentencePiece(model), "a" * 60, "ab" * 100, "aab" * 70 + "?" * 40 + "a" * 7
    )
    near = [
        ("▁", -900.0),
        ("a", -1.1),
        ("b", -1.3),
        ("ab", -2.4000001),
        ("aba", -3.5),
        ("ba", -2.4),
        ("▁ab", -902.4),
    ]
    model = made_up("unigram", *near)
    rng = random.Random(5)
    text = "".join(rng.choice(["ab", "aba", "▁ab", "bab", "▁"]) for _ in range(400))
    check(Compiled(model), ReferenceSentencePiece(model), text)


def test_words_that_the_text_before_decides() -> None:
    """Of cuts as good as each other the one that rounding prefers is taken, each time anew."""
    pieces = [
        ("▁", -1.0),
        ("a", -0.1),
        ("b", -0.2),
        ("c", -0.3),
        ("ab", -0.3),
        ("bc", -0.5),
        ("abc", -0.6),
        ("x", -37.7),
    ]
    model = made_up("unigram", *pieces)
    ours, twin = Compiled(model), ReferenceSentencePiece(model)
    check(ours, twin, "▁abc" * 30 + "x▁abc" * 200)
    assert len({tuple(token.piece for token in twin.encode("x" * n + "▁abc")[n:]) for n in range(50)}) > 1


@pytest.mark.parametrize("algorithm", ["bpe", "unigram", "char", "word"])
def test_long_texts(algorithm: Algorithm) -> None:
    """A long text without a safe edge is encoded in a moment: no step is quadratic."""
    pieces = [("a" * n, -float(n)) for n in (1, 2, 3, 4, 8, 16)]
    model = made_up(algorithm, *pieces, ("▁", -1.0), ("▁▁", -1.5), ("▁▁▁", -1.7))
    ours = Compiled(model)
    for text in ("a" * 300_001, " " * 200_000, "é" * 200_000, "a \u3000" * 100_000):
        (ids,) = ours.ids(text)
        assert ours.counts(text) == [len(ids)]
        spans = ours.spans(text)
        assert spans[0][1] == 0
        assert spans[-1][2] == len(text.encode())


def test_what_grows_out_of_proportion_is_refused() -> None:
    """A text of over 1 MiB once normalized may be 16 times what came."""
    table = read_charsmap(charsmap({"x": "y" * 1000}))
    model = made_up("char", ("y", -1.0), rules=NormalizerRules(charsmap=table))
    ours = Compiled(model)
    assert len(ours.ids("x" * 1000)[0]) == 1_000_001
    with pytest.raises(NormalizedTooLongError):
        ours.ids("x" * 1100)


@given(st.lists(st.text(st.sampled_from("ab▁é漢😀"), min_size=1, max_size=4), max_size=6), texts())
def test_safe_edges(entries: list[str], text: str) -> None:
    """The parts are the text, no entry goes over an edge between two, and most pairs of no entry are one."""
    text = "".join("ab▁é漢😀"[ord(character) % 6] for character in text)
    parts = SafeEdges([entry.encode() for entry in entries]).parts(text)
    pairs = {left + right for entry in entries for left, right in pairwise(entry)}
    assert "".join(parts) == text
    for before, behind in pairwise(parts):
        assert before[-1] + behind[0] not in pairs
    for part in parts:
        # No two of this few hash alike.
        assert all(left + right in pairs for left, right in pairwise(part))


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_vectors(name: str, reference_data: Path) -> None:
    """Ids and places of the reference of published models are those of each vector."""
    data = lzma.decompress((reference_data / "artifacts" / f"{name}.model.xz").read_bytes())
    ours = Compiled(read_sentencepiece_model(data))
    rows = [
        json.loads(line) for line in (reference_data / "golden" / f"{name}.jsonl").read_text().splitlines()
    ]
    assert len(rows) == GOLDEN[name]
    assert ours.ids(*(row["text"] for row in rows)) == [row["ids"] for row in rows]
    for row in rows:
        assert [list(token[1:]) for token in ours.reference(row["text"])] == row["byte_offsets"], row["id"]


@pytest.mark.long
@pytest.mark.parametrize("name", GOLDEN)
class TestPublished:
    """Published models and the library."""

    def test_corpora(self, name: str, reference_data: Path) -> None:
        """Ids and places of the reference are the library's, of each line of each corpus and of texts of many."""
        data = lzma.decompress((reference_data / "artifacts" / f"{name}.model.xz").read_bytes())
        ours = Compiled(read_sentencepiece_model(data))
        for path in sorted((reference_data / "corpora").glob("*.txt.xz")):
            lines = lzma.decompress(path.read_bytes()).decode().splitlines()
            texts = [*lines, *("\n".join(lines[at : at + 1000]) for at in range(0, len(lines), 1000))]
            assert ours.ids(*texts) == library(data).encode(texts), path.name
            for text in texts[::50]:
                expected = library(data).encode(
                    text.encode(), return_type="offset_mapping", return_bytes=True
                )
                assert [token[1:] for token in ours.reference(text)] == expected["offsets"]

    def test_random_texts(self, name: str, reference_data: Path, seed: int) -> None:
        """Ids are the library's for 100,000 random texts."""
        rng = random.Random(seed)
        data = lzma.decompress((reference_data / "artifacts" / f"{name}.model.xz").read_bytes())
        ours = Compiled(read_sentencepiece_model(data))
        for _ in range(100):
            some = [random_text(rng) for _ in range(1000)]
            for text, ids in zip(some, ours.ids(*some), strict=True):
                assert ids == library(data).encode(text.encode()), text
