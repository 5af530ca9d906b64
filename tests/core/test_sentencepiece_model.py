"""SentencePiece's `.model` files: what is read, and one malformed file for every mistake there is a name for."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import ArtifactError
from tokenwire_core.charsmap import read_charsmap
from tokenwire_core.formats.sentencepiece_model import MAX_PIECE_BYTES, read_sentencepiece_model
from tokenwire_core.reference_sentencepiece import ReferenceSentencePiece
from tokenwire_core.sentencepiece_spec import NormalizerRules, PieceType, SentencePieceModel
from tokenwire_core.spec import MAX_VOCAB_SIZE

from tests.core.model_files import (
    BPE,
    BYTE,
    BYTE_PIECES,
    CHAR,
    CONTROL,
    NORMAL,
    TRAINED,
    UNIGRAM,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    WORD,
    Fields,
    charsmap,
    field,
    library,
    model_file,
    piece,
    tag,
    trained,
    varint,
)

UNK = ("<unk>", 0.0, UNKNOWN)
PIECES = [UNK, ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("a", -1.0, NORMAL), ("aa", -0.5, NORMAL)]
BASE = model_file(PIECES, trainer={3: BPE})


def with_piece(text: str, score: float = 0.0, type_: int = NORMAL) -> bytes:
    return BASE + piece(text, score, type_)


BAD_FILES = {
    "no bytes": ("EMPTY", b""),
    "no pieces": ("EMPTY", field(2, b"")),
    "a unigram model of reserved pieces": ("EMPTY", model_file([UNK], trainer={3: UNIGRAM})),
    "more pieces than ids": ("TOO_MANY_TOKENS", b"\x0a\x00" * (MAX_VOCAB_SIZE + 1)),
    # The wire format.
    "cut short inside a tag": ("TRUNCATED", BASE + b"\x80"),
    "cut short inside a number": ("TRUNCATED", BASE + tag(201, 0) + b"\xff\xff"),
    "cut short behind a tag": ("TRUNCATED", BASE + tag(1, 2)),
    "cut short inside a piece": ("TRUNCATED", with_piece("xyz")[:-2]),
    "cut short inside a float": ("TRUNCATED", BASE + tag(201, 5) + b"abc"),
    "cut short inside a double": ("TRUNCATED", BASE + tag(201, 1) + b"abcdefg"),
    "a size one too high": ("TRUNCATED", BASE + tag(201, 2) + varint(4) + b"abc"),
    "a size of 2 GB": ("TRUNCATED", BASE + tag(1, 2) + varint((1 << 31) - 1) + b"abc"),
    "a size of 64 bits": ("TRUNCATED", BASE + tag(1, 2) + varint((1 << 64) - 1) + b"abc"),
    "a size beyond its piece, not beyond the file": ("TRUNCATED", field(1, tag(1, 2) + varint(40)) + BASE),
    "a size beyond its settings": ("TRUNCATED", field(2, tag(1, 2) + varint(40)) + BASE),
    "a number of eleven bytes": ("BAD_VARINT", BASE + tag(201, 0) + b"\x80" * 10 + b"\x01"),
    "a number of 65 bits": ("BAD_VARINT", BASE + tag(201, 0) + b"\xff" * 9 + b"\x02"),
    "a size of a thousand bytes": ("BAD_VARINT", BASE + tag(1, 2) + b"\x80" * 1000),
    "a field of number 0": ("BAD_FIELD", BASE + tag(0, 0) + b"\x01"),
    "a field's number one too high": ("BAD_FIELD", BASE + tag(1 << 29, 0) + b"\x01"),
    "a group": ("BAD_WIRE_TYPE", BASE + tag(201, 3) + tag(201, 4)),
    "the end of a group": ("BAD_WIRE_TYPE", BASE + tag(201, 4)),
    "wire type 6": ("BAD_WIRE_TYPE", BASE + tag(201, 6) + b"\x00"),
    "wire type 7": ("BAD_WIRE_TYPE", BASE + tag(201, 7) + b"\x00"),
    "a piece that is a number": ("BAD_WIRE_TYPE", BASE + field(1, 5)),
    "settings that are a number": ("BAD_WIRE_TYPE", BASE + field(2, 5)),
    "a text that is a number": ("BAD_WIRE_TYPE", BASE + field(1, field(1, 5))),
    "a score that is a number": ("BAD_WIRE_TYPE", BASE + field(1, field(1, "x") + field(2, 5))),
    "a score that is a double": ("BAD_WIRE_TYPE", BASE + field(1, field(1, "x") + tag(2, 1) + bytes(8))),
    "a type that is a text": ("BAD_WIRE_TYPE", BASE + field(1, field(1, "x") + field(3, "1"))),
    "a model type that is a text": ("BAD_WIRE_TYPE", BASE + field(2, field(3, "bpe"))),
    "byte fallback that is a float": ("BAD_WIRE_TYPE", BASE + field(2, field(35, 1.0))),
    "a table that is a number": ("BAD_WIRE_TYPE", BASE + field(3, field(2, 5))),
    "a dummy prefix that is a text": ("BAD_WIRE_TYPE", BASE + field(3, field(3, "no"))),
    "a field that no file has": ("UNKNOWN_FIELD", BASE + field(6, b"")),
    "a field that no piece has": ("UNKNOWN_FIELD", BASE + field(1, field(1, "x") + field(4, 1))),
    "a field that no normalizer has": ("UNKNOWN_FIELD", BASE + field(3, field(7, 1))),
    # Texts and pieces.
    "a piece that is not UTF-8": ("BAD_UTF8", BASE + field(1, field(1, b"a\xff"))),
    "a piece that is a surrogate": ("BAD_UTF8", BASE + field(1, field(1, b"\xed\xa0\x80"))),
    "a surface that is not UTF-8": ("BAD_UTF8", BASE + field(2, field(44, b"\xc3"))),
    "a normalizer's name that is not UTF-8": ("BAD_UTF8", BASE + field(3, field(1, b"\xff"))),
    "a name of the begin that is not UTF-8": ("BAD_UTF8", BASE + field(2, field(46, b"\x80"))),
    "a piece without a text": ("BAD_PIECE", BASE + field(1, field(2, 0.0))),
    "a piece with an empty text": ("BAD_PIECE", with_piece("")),
    "a piece of NUL": ("BAD_PIECE", with_piece("\0")),
    "a piece with a NUL in it": ("BAD_PIECE", with_piece("a\0b", 0.0, UNUSED)),
    "a piece of type 0": ("BAD_PIECE", with_piece("x", 0.0, 0)),
    "a piece of type 7": ("BAD_PIECE", with_piece("x", 0.0, 7)),
    "a piece of a type of 64 bits": ("BAD_PIECE", with_piece("x", 0.0, (1 << 32) + 1)),
    "a byte without byte fallback": ("BAD_PIECE", with_piece("<0x41>", 0.0, BYTE)),
    "a byte in small letters": (
        "BAD_PIECE",
        model_file([*PIECES, *BYTE_PIECES, ("<0xff>", 0.0, BYTE)], trainer={3: BPE, 35: 1}),
    ),
    "a piece one too long": ("TOKEN_TOO_LONG", with_piece("x" * (MAX_PIECE_BYTES + 1))),
    "a piece far too long": ("TOKEN_TOO_LONG", with_piece("x" * 1_000_000)),
    "a score that is no number": ("BAD_SCORE", with_piece("x", float("nan"))),
    "an infinite score": ("BAD_SCORE", with_piece("x", float("inf"))),
    "a score of minus infinity": ("BAD_SCORE", with_piece("x", float("-inf"))),
    "a piece twice": ("DUPLICATE_TOKEN", with_piece("a")),
    "a piece twice, of other types": ("DUPLICATE_TOKEN", with_piece("a", 0.0, USER_DEFINED)),
    "a control piece twice": ("DUPLICATE_TOKEN", with_piece("<s>", 0.0, CONTROL)),
    "a control piece of BPE spelled like another": ("DUPLICATE_TOKEN", with_piece("a", 0.0, CONTROL)),
    "two unknown pieces": ("DUPLICATE_UNKNOWN", with_piece("<unk2>", 0.0, UNKNOWN)),
    "no unknown piece": ("MISSING_UNKNOWN", model_file([("a", 0.0, NORMAL)], trainer={3: UNIGRAM})),
    "byte fallback without bytes": ("MISSING_BYTE", model_file(PIECES, trainer={3: BPE, 35: 1})),
    "byte fallback without one byte": (
        "MISSING_BYTE",
        model_file([*PIECES, *BYTE_PIECES[:-1]], trainer={3: BPE, 35: 1}),
    ),
    "model type 0": ("UNSUPPORTED_MODEL", model_file(PIECES, trainer={3: 0})),
    "model type 5": ("UNSUPPORTED_MODEL", model_file(PIECES, trainer={3: 5})),
    "a normalizer with a bad table": ("BAD_CHARSMAP", BASE + field(3, field(2, b"abc"))),
    "a denormalizer with a bad table": ("BAD_CHARSMAP", BASE + field(5, field(2, b"abc"))),
}


@pytest.mark.parametrize(("reason", "data"), BAD_FILES.values(), ids=BAD_FILES)
def test_every_mistake_has_its_name(reason: str, data: bytes) -> None:
    """A malformed file is refused, saying what is wrong."""
    with pytest.raises(ArtifactError) as caught:
        read_sentencepiece_model(data)
    assert caught.value.reason == reason
    assert str(caught.value)


def test_a_refusal_takes_no_more_memory_than_the_file() -> None:
    """What a file says of sizes is not believed: a refusal takes at most some dozens of bytes for each of its own."""
    for name, (_, data) in BAD_FILES.items():
        if len(data) > 1_000_000:
            continue
        tracemalloc.start()
        with pytest.raises(ArtifactError):
            read_sentencepiece_model(data)
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_bytes < 200_000 + 100 * len(data), name


@pytest.mark.parametrize("name", TRAINED)
def test_a_trained_model_is_read_as_the_library_reads_it(name: str) -> None:
    """Pieces, scores, types, special ids and algorithm are the library's."""
    model, theirs = read_sentencepiece_model(trained(name)), library(trained(name))
    ids = range(len(theirs))
    assert [piece.text for piece in model.pieces] == [theirs.id_to_piece(id_) for id_ in ids]
    assert [piece.score for piece in model.pieces] == [theirs.get_score(id_) for id_ in ids]
    for is_it, type_ in (
        (theirs.is_unknown, PieceType.UNKNOWN),
        (theirs.is_control, PieceType.CONTROL),
        (theirs.is_unused, PieceType.UNUSED),
        (theirs.is_byte, PieceType.BYTE),
    ):
        assert [piece.type is type_ for piece in model.pieces] == [is_it(id_) for id_ in ids]
    assert special_ids(model) == (theirs.unk_id(), theirs.bos_id(), theirs.eos_id(), theirs.pad_id())
    assert model.algorithm == name.split()[0]


def special_ids(model: SentencePieceModel) -> tuple[int, ...]:
    ids = (model.unk_id, model.bos_id, model.eos_id, model.pad_id)
    return tuple(-1 if id_ is None else id_ for id_ in ids)


def same(model: SentencePieceModel, other: SentencePieceModel) -> bool:
    """Whether two models hold the same in every field."""
    fields = SentencePieceModel.__dataclass_fields__
    return all(getattr(model, name) == getattr(other, name) for name in fields)


READ = read_sentencepiece_model(BASE)


def test_the_defaults() -> None:
    """What a file leaves out is what the library takes for it."""
    assert READ.normalizer == NormalizerRules()
    assert (READ.unk_surface, READ.denormalizer, READ.byte_fallback) == (" \u2047 ", None, False)
    model = read_sentencepiece_model(piece("<unk>", 0.0, UNKNOWN) + field(1, field(1, "a")))
    assert model.algorithm == "unigram"
    assert model.pieces[1] == ("a", 0.0, PieceType.NORMAL)


def test_every_setting_is_read() -> None:
    """Each setting that decides ids or texts comes from its own field."""
    rules: Fields = {1: "nfkc", 2: charsmap("nfkc"), 3: 0, 4: 0, 5: 0}
    data = model_file(
        [*PIECES, *BYTE_PIECES, ("<b>", 0.0, CONTROL), ("<e>", 0.0, CONTROL), ("<p>", 0.0, CONTROL)],
        trainer={3: BPE, 24: 1, 35: 1, 44: "?", 46: "<b>", 47: "<e>", 48: "<p>"},
        normalizer=rules,
        denormalizer=rules,
    )
    model, theirs = read_sentencepiece_model(data), library(data)
    replacements = read_charsmap(charsmap("nfkc"))
    assert model.normalizer == NormalizerRules("nfkc", replacements, False, False, False, True)
    assert model.denormalizer == NormalizerRules("nfkc", replacements, False, False, False, False)
    assert (model.byte_fallback, model.unk_surface) == (True, "?")
    n_pieces = len(model.pieces)
    assert special_ids(model) == (0, n_pieces - 3, n_pieces - 2, n_pieces - 1)
    assert special_ids(model) == (theirs.unk_id(), theirs.bos_id(), theirs.eos_id(), theirs.pad_id())


@pytest.mark.parametrize(
    ("number", "type_"), [(UNIGRAM, "unigram"), (BPE, "bpe"), (WORD, "word"), (CHAR, "char")]
)
def test_model_types(number: int, type_: str) -> None:
    """Each type is known by its number."""
    assert read_sentencepiece_model(model_file(PIECES, trainer={3: number})).algorithm == type_


IGNORED = {
    "training's settings": field(2, field(4, 8000) + field(1, "corpus") + field(10, 0.9) + field(199, 1)),
    "a normalizer's rules as they were written": field(3, field(6, "61\t62")),
    "the self-test": field(4, b"\x0a\x03abc"),
    "others' fields": field(200, 1) + field(201, "x") + field(202, 1.0) + tag(203, 1) + bytes(8),
    "others' fields in a normalizer": field(3, field(200, 1)),
    "an empty denormalizer": field(5, b""),
    "a denormalizer without a table": field(5, field(3, 1)),
    "a special id": field(2, field(40, 3) + field(41, (1 << 64) - 1)),
}


@pytest.mark.parametrize("extra", IGNORED.values(), ids=IGNORED)
def test_what_changes_no_ids_is_left_out(extra: bytes) -> None:
    """Fields that tell of training, or are others', change nothing, before the pieces and behind them."""
    assert same(read_sentencepiece_model(BASE + extra), READ)
    assert same(read_sentencepiece_model(extra + BASE), READ)
    assert library(BASE + extra)


def test_the_last_of_a_field_wins() -> None:
    """A field that comes twice has its last value, and settings that come twice are merged, as in protobuf."""
    twice = field(
        1, field(1, "x") + field(2, -9.0) + field(3, 5) + field(1, "y") + field(2, -2.0) + field(3, 1)
    )
    data = (
        BASE + twice + field(2, field(3, UNIGRAM) + field(44, "?")) + field(2, field(3, CHAR) + field(24, 1))
    )
    model, theirs = read_sentencepiece_model(data), library(data)
    assert model.pieces[-1] == ("y", -2.0, PieceType.NORMAL)
    assert (theirs.id_to_piece(5), theirs.get_score(5), theirs.is_unused(5)) == ("y", -2.0, False)
    assert (model.algorithm, model.unk_surface) == ("char", "?")
    assert theirs.decode([0]) == "?"
    assert model.normalizer.treat_whitespace_as_suffix


def test_numbers_longer_than_needed() -> None:
    """A number may be written with bytes that add nothing, up to ten, as protobuf reads it."""
    data = BASE + field(
        2, tag(44, 2) + b"\x83\x80\x80\x80\x00abc" + tag(3, 0) + b"\x84" + b"\x80" * 8 + b"\x00"
    )
    assert read_sentencepiece_model(data).unk_surface == "abc"
    assert read_sentencepiece_model(data).algorithm == "char"
    assert library(data).decode([0]) == "abc"


def test_the_longest_piece() -> None:
    """A piece of the most bytes is read, as by the library, which refuses one more."""
    data = with_piece("x" * MAX_PIECE_BYTES)
    assert len(read_sentencepiece_model(data).pieces[-1].text) == MAX_PIECE_BYTES
    assert library(data)
    with pytest.raises(RuntimeError):
        library(with_piece("x" * (MAX_PIECE_BYTES + 1)))


def test_no_unknown_piece_with_byte_fallback() -> None:
    """With byte fallback a model needs no unknown piece."""
    data = model_file([*BYTE_PIECES, ("a", 0.0, NORMAL)], trainer={3: BPE, 35: 1})
    model = read_sentencepiece_model(data)
    assert model.unk_id is None
    assert [token.id for token in ReferenceSentencePiece(model).encode("é")] == library(data).encode("é")


def test_a_piece_of_nul() -> None:
    """With byte fallback, or where it is unused already, a piece of NUL is set aside: NUL becomes the byte's piece."""
    data = model_file([UNK, *BYTE_PIECES, ("\0", 0.0, NORMAL)], trainer={3: UNIGRAM, 35: 1})
    with pytest.raises(ArtifactError, match="no pieces that text is made of"):
        read_sentencepiece_model(data)
    data += piece("a")
    model = read_sentencepiece_model(data)
    assert model.pieces[257] == ("\0", 0.0, PieceType.UNUSED)
    ids = [token.id for token in ReferenceSentencePiece(model).encode("a\0")]
    assert ids == library(data).encode("a\0")
    assert ids[-1] == 1
    assert read_sentencepiece_model(with_piece("\0", 0.0, UNUSED)).pieces[-1].text == "\0"


def test_reserved_pieces_may_share_a_spelling() -> None:
    """Where reserved pieces have a table of their own, one may be spelled like an ordinary piece."""
    for model_type in (UNIGRAM, CHAR, WORD):
        data = model_file(
            [*PIECES, ("<s>", -2.0, NORMAL), ("a", 0.0, CONTROL)], trainer={3: model_type, 47: "a"}
        )
        model, theirs = read_sentencepiece_model(data), library(data)
        assert (model.bos_id, model.eos_id) == (theirs.bos_id(), theirs.eos_id()) == (1, 6)


def test_a_special_piece_has_to_be_a_control_piece() -> None:
    """A name of the settings that another type of piece has, or none, is no special id; an empty one is the default."""
    data = model_file(PIECES, trainer={3: BPE, 46: "a", 47: "", 48: "<none>"})
    model, theirs = read_sentencepiece_model(data), library(data)
    assert (
        special_ids(model)
        == (theirs.unk_id(), theirs.bos_id(), theirs.eos_id(), theirs.pad_id())
        == (0, -1, 2, -1)
    )


SMALL = {
    "bpe": model_file(PIECES, trainer={3: BPE, 24: 1, 44: "?"}, normalizer={1: "x", 2: b"", 3: 1}),
    "unigram": model_file([*PIECES, ("▁a", -3.5, USER_DEFINED)], trainer={46: "</s>"}, denormalizer={3: 0}),
}


@pytest.mark.parametrize("data", SMALL.values(), ids=SMALL)
def test_every_change_of_a_byte_is_read_or_refused(data: bytes) -> None:
    """With any one byte changed in any way the file is read or refused by name."""
    for at in range(len(data)):
        for byte in range(256):
            is_read(data[:at] + bytes((byte,)) + data[at + 1 :])


@pytest.mark.parametrize("data", SMALL.values(), ids=SMALL)
def test_what_is_read_of_a_damaged_file_is_what_the_library_reads(data: bytes) -> None:
    """With a bit flipped, a byte left out or the end cut off, what is read is what the library reads."""
    damaged = [
        data[:at] + bytes((data[at] ^ 1 << bit,)) + data[at + 1 :]
        for at in range(len(data))
        for bit in range(8)
    ]
    damaged += [data[:at] + data[at + 1 :] for at in range(len(data))] + [
        data[:at] for at in range(len(data))
    ]
    n_read = 0
    for file in damaged:
        if not is_read(file):
            continue
        n_read += 1
        model, theirs = read_sentencepiece_model(file), library(file)
        assert [piece.text for piece in model.pieces] == [
            theirs.id_to_piece(id_) for id_ in range(len(theirs))
        ]
        ids: list[int] = theirs.encode(" aaa  b")
        assert [token.id for token in ReferenceSentencePiece(model).encode(" aaa  b")] == ids
        assert ReferenceSentencePiece(model).decode([0, *ids]) == theirs.decode([0, *ids])
    assert 100 < n_read < len(damaged) - 100


def is_read(data: bytes) -> bool:
    """Whether the file is read; anything but a refusal by name fails the test."""
    try:
        read_sentencepiece_model(data)
    except ArtifactError:
        return False
    return True


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """No bytes, alone or as part of a model, do anything but be read or refused by name."""
    for file in (data, BASE + data, BASE + field(1, data), BASE + field(2, data), BASE + field(3, data)):
        is_read(file)
