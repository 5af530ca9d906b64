"""SentencePiece's `.model` files: one protobuf message, the vocabulary and the settings that go with it.

What the library loads, this reads to the same model, down to its quirks: a piece that is a single NUL counts as unused
where there is byte fallback, the special ids are looked up by the spellings in the settings (the ids that stand there
are not), and settings that come twice are merged. What the library refuses, this refuses by name. Beyond it are
refused: texts that are not well-formed UTF-8, scores that are no finite number, types and fields that no version of
the library knows where they could change ids, tables of replacements that are malformed or have keys without end, and
groups in the wire format.

Memory is bounded by a small multiple of the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tokenwire_core.charsmap import read_charsmap
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.protobuf_wire import FIRST_EXTENSION, Message, fields
from tokenwire_core.sentencepiece_spec import Algorithm, NormalizerRules, Piece, PieceType, SentencePieceModel
from tokenwire_core.spec import MAX_CONTROL_TOKEN_BYTES, MAX_VOCAB_SIZE

MAX_PIECE_BYTES: Final = 7999
"""The longest piece that the library loads."""

# The fields of the messages, by number.
_PIECE, _TRAINER, _NORMALIZER, _SELF_TEST, _DENORMALIZER = range(1, 6)
_TEXT, _SCORE, _TYPE = _PIECE_FIELDS = range(1, 4)
_TRAINER_FIELDS: Final = (3, 24, 35, 44, 46, 47, 48)  # The others tell how the model was trained.
_MODEL_TYPE, _SUFFIX, _BYTE_FALLBACK, _UNK_SURFACE, _BOS_PIECE, _EOS_PIECE, _PAD_PIECE = _TRAINER_FIELDS
_NAME, _CHARSMAP, _DUMMY_PREFIX, _REMOVE_EXTRA, _ESCAPE, _RULES_TEXT = _NORMALIZER_FIELDS = range(1, 7)

_ALGORITHMS: Final[dict[int, Algorithm]] = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
_TYPES: Final[dict[int, PieceType]] = {int(type_): type_ for type_ in PieceType}
_BYTES: Final = frozenset(f"<0x{byte:02X}>" for byte in range(256))
_RESERVED: Final = frozenset({PieceType.UNKNOWN, PieceType.CONTROL, PieceType.BYTE})


def read_sentencepiece_model(data: bytes) -> SentencePieceModel:
    """The model in a file.

    Raises:
        ArtifactError: `EMPTY`, `TOO_MANY_TOKENS`, `TOKEN_TOO_LONG`, `BAD_PIECE`, `BAD_SCORE`, `BAD_UTF8`,
            `DUPLICATE_TOKEN`, `DUPLICATE_UNKNOWN`, `MISSING_UNKNOWN`, `MISSING_BYTE`, `UNSUPPORTED_MODEL`,
            `BAD_CHARSMAP`; where it is no message of a model, `TRUNCATED`, `BAD_VARINT`, `BAD_FIELD`,
            `BAD_WIRE_TYPE`, `UNKNOWN_FIELD`.

    Cost: 6 microseconds a piece.
    """
    piece_messages, settings = _sections(data)
    trainer = Message(settings[_TRAINER], _TRAINER_FIELDS, may_have_others=True)
    number = trainer.integer(_MODEL_TYPE, 1)
    if number not in _ALGORITHMS:
        raise ArtifactError(
            "UNSUPPORTED_MODEL", f"the model has the type {number}, known are {_list(_ALGORITHMS)}"
        )
    algorithm = _ALGORITHMS[number]
    byte_fallback = bool(trainer.integer(_BYTE_FALLBACK, 0))
    pieces = tuple(
        _piece(Message(message, _PIECE_FIELDS), id_, byte_fallback)
        for id_, message in enumerate(piece_messages)
    )
    id_of = _checked_ids(pieces, algorithm, byte_fallback)
    unknown = [id_ for id_, piece in enumerate(pieces) if piece.type is PieceType.UNKNOWN]

    def control_id(field: int, default: str) -> int | None:
        id_ = id_of.get(trainer.text(field) or default)
        return id_ if id_ is not None and pieces[id_].type is PieceType.CONTROL else None

    normalizer = _rules(Message(settings[_NORMALIZER], _NORMALIZER_FIELDS))
    denormalizer = _rules(Message(settings[_DENORMALIZER], _NORMALIZER_FIELDS))
    return SentencePieceModel(
        algorithm=algorithm,
        pieces=pieces,
        byte_fallback=byte_fallback,
        normalizer=replace(normalizer, treat_whitespace_as_suffix=bool(trainer.integer(_SUFFIX, 0))),
        denormalizer=denormalizer if denormalizer.charsmap else None,
        unk_id=unknown[0] if unknown else None,
        bos_id=control_id(_BOS_PIECE, "<s>"),
        eos_id=control_id(_EOS_PIECE, "</s>"),
        pad_id=control_id(_PAD_PIECE, "<pad>"),
        unk_surface=trainer.text(_UNK_SURFACE, " \u2047 "),
    )


def _sections(data: bytes) -> tuple[list[bytes], dict[int, bytes]]:
    """The messages of the pieces, and those of the settings by field; of one that comes twice, both in a row."""
    parts: dict[int, list[bytes]] = {_PIECE: [], _TRAINER: [], _NORMALIZER: [], _DENORMALIZER: []}
    for number, value in fields(data):
        if number in parts:
            if not isinstance(value, bytes):
                raise ArtifactError("BAD_WIRE_TYPE", f"field {number} should be a message")
            parts[number].append(value)
            if len(parts[_PIECE]) > MAX_VOCAB_SIZE:
                raise ArtifactError(
                    "TOO_MANY_TOKENS", f"there are more pieces than {MAX_VOCAB_SIZE}, the most ids"
                )
        elif number < FIRST_EXTENSION and number != _SELF_TEST:
            raise ArtifactError("UNKNOWN_FIELD", f"the file has the field {number}, which no model has")
    pieces = parts.pop(_PIECE)
    if not pieces:
        raise ArtifactError("EMPTY", "the file has no pieces")
    if len(pieces) > MAX_VOCAB_SIZE:
        raise ArtifactError(
            "TOO_MANY_TOKENS", f"there are {len(pieces)} pieces, at most {MAX_VOCAB_SIZE} have ids"
        )
    return pieces, {number: b"".join(messages) for number, messages in parts.items()}


def _piece(message: Message, id_: int, byte_fallback: bool) -> Piece:
    text, score = message.text(_TEXT), message.float32(_SCORE, 0.0)
    number = message.integer(_TYPE, PieceType.NORMAL)
    if number not in _TYPES:
        raise ArtifactError("BAD_PIECE", f"piece {id_} has the type {number}, known are {_list(_TYPES)}")
    type_ = _TYPES[number]
    if not text:
        raise ArtifactError("BAD_PIECE", f"piece {id_} has no text")
    most_bytes = MAX_CONTROL_TOKEN_BYTES if type_ is PieceType.USER_DEFINED else MAX_PIECE_BYTES
    if (n_bytes := len(message.bytes(_TEXT))) > most_bytes:
        raise ArtifactError("TOKEN_TOO_LONG", f"piece {id_} has {n_bytes} bytes, the limit is {most_bytes}")
    if "\0" in text:
        # Converters have written the byte 0 as a piece beside <0x00>; the library sets such a one aside.
        if text == "\0" and byte_fallback:
            type_ = PieceType.UNUSED
        if text != "\0" or type_ is not PieceType.UNUSED:
            raise ArtifactError("BAD_PIECE", f"piece {id_} has a NUL character in its text")
    if not math.isfinite(score):
        raise ArtifactError("BAD_SCORE", f"the score of piece {id_} is {score}, which is no finite number")
    return Piece(text, score, type_)


def _checked_ids(pieces: Iterable[Piece], algorithm: Algorithm, byte_fallback: bool) -> dict[str, int]:
    """The ids by spelling: where two pieces may share one, that of the reserved piece."""
    reserved: dict[str, int] = {}
    # The library keeps all pieces of a BPE model in one table, of others the reserved ones in a table of their own.
    ordinary = reserved if algorithm == "bpe" else {}
    unk_id: int | None = None
    missing_bytes = set(_BYTES) if byte_fallback else set()
    for id_, piece in enumerate(pieces):
        table = reserved if piece.type in _RESERVED else ordinary
        if piece.text != "\0" and (first := table.setdefault(piece.text, id_)) != id_:
            raise ArtifactError("DUPLICATE_TOKEN", f"piece {id_} is spelled like piece {first}")
        if piece.type is PieceType.UNKNOWN:
            if unk_id is not None:
                raise ArtifactError(
                    "DUPLICATE_UNKNOWN", f"pieces {unk_id} and {id_} are both the unknown piece"
                )
            unk_id = id_
        elif piece.type is PieceType.BYTE:
            if not byte_fallback:
                raise ArtifactError("BAD_PIECE", f"piece {id_} is a byte, but the model has no byte fallback")
            if piece.text not in _BYTES:
                raise ArtifactError("BAD_PIECE", f"piece {id_} is a byte, but not spelled <0xNN>")
            missing_bytes.discard(piece.text)
    if unk_id is None and not byte_fallback:
        raise ArtifactError(
            "MISSING_UNKNOWN", "no piece is the unknown one, so not every text could be encoded"
        )
    if missing_bytes:
        raise ArtifactError(
            "MISSING_BYTE", f"the byte {min(missing_bytes)} has no piece, so not every text could be encoded"
        )
    if algorithm == "unigram" and not ordinary:
        raise ArtifactError("EMPTY", "the model has no pieces that text is made of")
    return ordinary | reserved


def _rules(message: Message) -> NormalizerRules:
    charsmap = message.bytes(_CHARSMAP)
    return NormalizerRules(
        name=message.text(_NAME),
        charsmap=read_charsmap(charsmap) if charsmap else None,
        add_dummy_prefix=bool(message.integer(_DUMMY_PREFIX, 1)),
        remove_extra_whitespaces=bool(message.integer(_REMOVE_EXTRA, 1)),
        escape_whitespaces=bool(message.integer(_ESCAPE, 1)),
    )


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
