"""SentencePiece models for tests: trained in memory, made up piece by piece, and written field by field."""

from __future__ import annotations

import functools
import io
import struct
from collections.abc import Iterable
from typing import Any

import sentencepiece
from hypothesis import strategies as st
from tokenwire_core.formats.protobuf_wire import Message

from tests.strategies import LINES

sentencepiece.set_min_log_level(
    2
)  # The library writes what it refuses to stderr; tests read it from exceptions.

Fields = dict[int, int | float | str | bytes]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)

CORPUS = (
    *(line for line in LINES if len(line) < 200),
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich",
    "Съешь же ещё этих мягких французских булок да выпей чаю",
    "いろはにほへと ちりぬるを わかよたれそ つねならむ",
    "天地玄黃 宇宙洪荒 日月盈昃 辰宿列張",
    "नमस्ते दुनिया",
)


def varint(number: int) -> bytes:
    """A number of any size, seven bits a byte."""
    if number < 0x80:
        return bytes((number,))
    return bytes((number & 0x7F | 0x80,)) + varint(number >> 7)


def tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


def field(number: int, value: int | float | str | bytes) -> bytes:
    """A field in the wire type of its value."""
    if isinstance(value, int):
        return tag(number, 0) + varint(value)
    if isinstance(value, float):
        return tag(number, 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return tag(number, 2) + varint(len(data)) + data


def message(fields: Fields) -> bytes:
    return b"".join(field(number, value) for number, value in fields.items())


def piece(text: str, score: float = 0.0, type_: int = NORMAL) -> bytes:
    """A piece as a field of the file."""
    return field(1, message({1: text, 2: score, 3: type_}))


def model_file(
    pieces: Iterable[tuple[str, float, int]],
    *,
    trainer: Fields,
    normalizer: Fields | None = None,
    denormalizer: Fields | None = None,
) -> bytes:
    """A file of these pieces and settings, by field number."""
    data = b"".join(piece(*entry) for entry in pieces) + field(2, message(trainer))
    if normalizer is not None:
        data += field(3, message(normalizer))
    if denormalizer is not None:
        data += field(5, message(denormalizer))
    return data


BYTE_PIECES = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


@functools.cache
def charsmap(rule: str) -> bytes:
    """One of the library's own tables of replacements: `nfkc`, `nmt_nfkc_cf` and so on."""
    normalizer = sentencepiece.SentencePieceNormalizer(rule_name=rule)
    return Message(normalizer.serialized_normalizer_spec(), {2}, may_have_others=True).bytes(2)


TRAINED: dict[str, dict[str, Any]] = {
    f"{model_type} {name}": {"model_type": model_type} | options
    for model_type in ("bpe", "unigram", "char", "word")
    for name, options in {
        "as trained by default": {},
        "with byte fallback": {
            "byte_fallback": True,
            "vocab_size": 700,
            "normalization_rule_name": "identity",
        },
        "with blanks kept": {
            "remove_extra_whitespaces": False,
            "add_dummy_prefix": False,
            "normalization_rule_name": "nfkc_cf",
        },
        "with suffixes and symbols": {
            "treat_whitespace_as_suffix": True,
            "user_defined_symbols": ["<x>", "<|im_start|>", "▁▁", "tokenizer", "token"],
            "control_symbols": ["<ctrl>", "the"],
            "pad_id": 3,
        },
    }.items()
}
"""Options of training by what they are for."""


@functools.cache
def trained(name: str) -> bytes:
    """The small model that the library trains with these options of TRAINED."""
    written = io.BytesIO()
    options = {"vocab_size": 400, "hard_vocab_limit": False, "num_threads": 1, "minloglevel": 2} | TRAINED[
        name
    ]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=written, **options)
    return written.getvalue()


@functools.lru_cache(maxsize=32)
def library(data: bytes) -> sentencepiece.SentencePieceProcessor:
    """The reference, loaded with a file. Raises RuntimeError for what it refuses."""
    return sentencepiece.SentencePieceProcessor(model_proto=data)


SPELLINGS = "ab▁ é漢"
"""What made-up pieces are spelled with."""


@st.composite
def made_up_models(draw: st.DrawFn) -> bytes:
    """Files of all four types, of few pieces with many ties, any flags, and spellings that get into each other's way.

    Most are models that the library loads.
    """
    model_type = draw(st.sampled_from([UNIGRAM, BPE, WORD, CHAR]))
    byte_fallback = draw(st.booleans())
    scores = draw(
        st.sampled_from(
            [
                st.integers(-20, 0).map(float),
                st.sampled_from([0.0, -0.0, -0.5, -1.0]),
                st.floats(-8, 1, width=32),
                st.sampled_from([-99999.0, 30000.0, -1.0]),
            ]
        )
    )
    spellings = st.text(st.sampled_from(SPELLINGS), min_size=1, max_size=5)
    types = st.sampled_from([NORMAL] * 8 + [USER_DEFINED, UNUSED, UNUSED, CONTROL])
    pieces = draw(st.lists(st.tuples(spellings, scores, types), min_size=1, max_size=40))
    pieces += [("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL)]
    if byte_fallback:
        pieces += BYTE_PIECES
    if not byte_fallback or draw(st.booleans()):
        pieces.insert(draw(st.integers(0, len(pieces))), ("<unk>", 0.0, UNKNOWN))
    distinct = {
        (text, model_type != BPE and type_ in (CONTROL, UNKNOWN, BYTE)): (text, score, type_)
        for text, score, type_ in reversed(pieces)
    }
    flags = st.booleans().map(int)
    tables = st.sampled_from(["", "nfkc", "nmt_nfkc_cf"]).map(lambda rule: charsmap(rule) if rule else b"")

    def rules() -> Fields:
        return {2: draw(tables), 3: draw(flags), 4: draw(flags), 5: draw(flags)}

    trainer: Fields = {3: model_type, 24: draw(flags), 35: int(byte_fallback)}
    if draw(st.booleans()):
        trainer[44] = draw(st.sampled_from(["", " ", "▁?"]))
    return model_file(
        reversed(distinct.values()),
        trainer=trainer,
        normalizer=rules(),
        denormalizer=rules() if draw(st.booleans()) else None,
    )
