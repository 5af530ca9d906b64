"""Changes of a SentencePiece model that leave it a protobuf message, and often a model."""

from __future__ import annotations

import random
import struct
from typing import Final

from tests.fuzz.mutate_bytes import NUMBERS, TEXTS, mutate_bytes, mutate_text
from tests.fuzz.mutate_charsmap import mutate_charsmap

Field = tuple[int, int, bytes]
"""Number, wire type, and the value's bytes; of a size and so many bytes without the size."""

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_PIECE, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_MESSAGES: Final = (_PIECE, _TRAINER, _NORMALIZER, _DENORMALIZER)
_LEAST_TABLE: Final = 1024
"""A value of more bytes is a table of replacements."""
_SCORES: Final = (0.0, -0.0, -1.0, -2.5, 30000.0, -99999.0, 3e38, -3e38, float("inf"), float("nan"))
_TRAINER_FLAGS: Final = (3, 24, 35, 42)
_TRAINER_TEXTS: Final = (44, 45, 46, 47, 48)


def split(data: bytes) -> list[Field] | None:
    """The fields of a message; None if it is none."""
    found: list[Field] = []
    at = 0
    while at < len(data):
        if (tag := _read_varint(data, at)) is None:
            return None
        number, at = tag
        number, wire_type = number >> 3, number & 7
        start = at
        if wire_type in (_VARINT, _BYTES):
            if (value := _read_varint(data, at)) is None:
                return None
            at = value[1]
            if wire_type == _BYTES:
                start, at = at, at + value[0]
        elif wire_type in (_EIGHT, _FOUR):
            at += 8 if wire_type == _EIGHT else 4
        else:
            return None
        if at > len(data):
            return None
        found.append((number, wire_type, data[start:at]))
    return found


def join(fields: list[Field]) -> bytes:
    """A message of fields."""
    return b"".join(
        varint(number << 3 | wire_type) + (varint(len(value)) if wire_type == _BYTES else b"") + value
        for number, wire_type, value in fields
    )


def varint(number: int) -> bytes:
    """A number of any size, seven bits a byte."""
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*written, number))


def mutate_wire(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """A changed model; bytes that are none, or now and then, are changed as bytes."""
    fields = split(data)
    if not fields or rng.random() < 0.05:
        return mutate_bytes(data, other, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        match rng.randrange(8):
            case 0 if others := split(other):
                fields.insert(rng.randint(0, len(fields)), rng.choice(others))
            case 1:
                fields.insert(rng.randint(0, len(fields)), _new_piece(fields, rng))
            case 2:
                fields.append(_new_setting(rng))
            case 3:
                _mutate_list(fields, rng)
            case _:
                at = rng.randrange(len(fields))
                if rng.random() < 0.4:  # the pieces are many, the settings few
                    at = rng.choice([i for i, field in enumerate(fields) if field[0] != _PIECE] or [at])
                fields[at] = _mutate_message(fields[at], rng)
    return join(fields)


def _mutate_message(outer: Field, rng: random.Random) -> Field:
    number, wire_type, value = outer
    inner = split(value) if wire_type == _BYTES and number in _MESSAGES else None
    if not inner:
        return _mutate_field(outer, rng)
    if rng.random() < 0.3:
        _mutate_list(inner, rng)
    else:
        at = rng.randrange(len(inner))
        inner[at] = _mutate_field(inner[at], rng)
    return number, wire_type, join(inner)


def _mutate_list(fields: list[Field], rng: random.Random) -> None:
    at = rng.randrange(len(fields))
    match rng.randrange(3):
        case 0:
            del fields[at]
            fields[:] = fields or [(_PIECE, _BYTES, b"")]
        case 1:
            fields.insert(rng.randint(0, len(fields)), fields[at])
        case _:
            rng.shuffle(fields)


def _mutate_field(field: Field, rng: random.Random) -> Field:
    number, wire_type, value = field
    if rng.random() < 0.06:
        return rng.choice((number + 1, 0, 7, 199, 200, 1 << 28, 1 << 29)), wire_type, value
    if rng.random() < 0.06:
        return number, rng.choice((_VARINT, _EIGHT, _BYTES, _FOUR, 3, 4, 6)), value
    if wire_type == _VARINT:
        return number, wire_type, varint(rng.choice((0, 0, 1, 1, 2, 3, 4, 5, 6, 7, rng.choice(NUMBERS))))
    if wire_type == _FOUR:
        bits = struct.pack("<f", rng.choice(_SCORES)) if rng.random() < 0.7 else rng.randbytes(4)
        return number, wire_type, bits
    if len(value) > _LEAST_TABLE and rng.random() < 0.9:
        return number, wire_type, mutate_charsmap(value, rng)
    if rng.random() < 0.6:
        try:
            text = mutate_text(value.decode(), rng)
            return number, wire_type, text.encode(errors="surrogatepass")
        except UnicodeDecodeError:
            pass
    return number, wire_type, mutate_bytes(value, value, rng)


def _new_piece(fields: list[Field], rng: random.Random) -> Field:
    """Mostly two pieces in one, of any type and score."""
    spellings = [b"a"]
    for number, _, value in fields:
        spellings += [text for name, _, text in (split(value) or ()) if number == _PIECE and name == 1]
    text = (
        b"".join(rng.choices(spellings, k=2))
        if rng.random() < 0.7
        else rng.choice(TEXTS).encode("utf-8", "replace")
    )
    score = struct.pack("<f", rng.choice(_SCORES[:6]))
    type_ = varint(rng.choice((1, 1, 1, 2, 3, 4, 5, 5, 6)))
    return _PIECE, _BYTES, join([(1, _BYTES, text), (2, _FOUR, score), (3, _VARINT, type_)])


def _new_setting(rng: random.Random) -> Field:
    """A setting of its own; of messages that come twice both are read."""
    if rng.random() < 0.4:
        rules = rng.choice((_NORMALIZER, _DENORMALIZER))
        return rules, _BYTES, join([(rng.choice((3, 4, 5)), _VARINT, varint(rng.randrange(2)))])
    if rng.random() < 0.7:
        return _TRAINER, _BYTES, join([(rng.choice(_TRAINER_FLAGS), _VARINT, varint(rng.randrange(6)))])
    text = rng.choice(TEXTS).encode("utf-8", "replace")
    return _TRAINER, _BYTES, join([(rng.choice(_TRAINER_TEXTS), _BYTES, text)])


def _read_varint(data: bytes, at: int) -> tuple[int, int] | None:
    number = shift = 0
    for n_bytes, byte in enumerate(data[at : at + 10], 1):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at + n_bytes
    return None
