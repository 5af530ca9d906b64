"""The wire format of protobuf messages, as much of it as model files are made of.

A message is a sequence of fields, each a tag (number and wire type) and a value: a varint, 4 or 8 bytes of a fixed
width, or a size and so many bytes, which may be a text or a message inside. What protobuf's own parser reads, this
reads to the same values: fields in any order, the last of a number wins, one message behind another is both merged.
What is no field, runs over the end of its message, or has another wire type than its number should, is refused by
name. So are groups, which nobody writes any more.

No size is believed before so many bytes are known to be there: a message costs no more memory than its bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from typing import Final

from tokenwire_core.errors import ArtifactError

Value = int | float | bytes | None
"""Of a varint the number (64 bits, unsigned), of four bytes the float32, of eight, which no model has, nothing."""

FIRST_EXTENSION: Final = 200
"""From this number on, fields of a model's messages belong to others."""

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_MAX_VARINT_BYTES: Final = 10
_MAX_TAG: Final = (1 << 32) - 1
_FLOAT: Final = struct.Struct("<f")


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Each field of a message in order: number and value.

    Raises:
        ArtifactError: `TRUNCATED`, `BAD_VARINT`, `BAD_FIELD`, `BAD_WIRE_TYPE`.

    Cost: 1 microsecond a field.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = _varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if not number or tag > _MAX_TAG:
            raise ArtifactError("BAD_FIELD", f"a field has the number {number}, which is none")
        if wire_type == _VARINT:
            varint, at = _varint(data, at)
            yield number, varint
            continue
        if wire_type == _BYTES:
            size, at = _varint(data, at)
        elif wire_type in (_FOUR_BYTES, _EIGHT_BYTES):
            size = 4 if wire_type == _FOUR_BYTES else 8
        else:
            raise ArtifactError("BAD_WIRE_TYPE", f"field {number} is a group or has no known wire type")
        if size > end - at:
            raise ArtifactError("TRUNCATED", f"field {number} has {size} bytes, but {end - at} are left")
        if wire_type == _BYTES:
            yield number, data[at : at + size]
        else:
            yield number, _FLOAT.unpack_from(data, at)[0] if wire_type == _FOUR_BYTES else None
        at += size


class Message:
    """The known fields of a message, the last of each number.

    Others are left out if the message `may_have_others`, or if they are from FIRST_EXTENSION on: elsewhere a field that
    is not known could change what the known ones mean.

    Raises what `fields` raises, and `UNKNOWN_FIELD`; asked for a field of another wire type than it has,
    `BAD_WIRE_TYPE`.
    """

    def __init__(self, data: bytes, known: Container[int], *, may_have_others: bool = False) -> None:
        self._values: dict[int, Value] = {}
        for number, value in fields(data):
            if number in known:
                self._values[number] = value
            elif number < FIRST_EXTENSION and not may_have_others:
                raise ArtifactError("UNKNOWN_FIELD", f"a message has the field {number}, which no model has")

    def integer(self, number: int, default: int) -> int:
        """A varint."""
        value = self._values.get(number, default)
        if isinstance(value, int):
            return value
        raise _wrong_type(number, "a varint")

    def float32(self, number: int, default: float) -> float:
        """Four bytes of a fixed width."""
        value = self._values.get(number, default)
        if isinstance(value, float):
            return value
        raise _wrong_type(number, "four bytes of a fixed width")

    def bytes(self, number: int, default: bytes = b"") -> bytes:
        """A size and so many bytes."""
        value = self._values.get(number, default)
        if isinstance(value, bytes):
            return value
        raise _wrong_type(number, "a size and so many bytes")

    def text(self, number: int, default: str = "") -> str:
        """A text in UTF-8. Raises `BAD_UTF8`."""
        try:
            return self.bytes(number, default.encode()).decode()
        except UnicodeDecodeError:
            raise ArtifactError("BAD_UTF8", f"the text of field {number} is not well-formed UTF-8") from None


def _wrong_type(number: int, expected: str) -> ArtifactError:
    return ArtifactError("BAD_WIRE_TYPE", f"field {number} should be {expected}, it has another wire type")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at`, seven bits a byte from the lowest on, and where it ends."""
    if at < len(data) and data[at] < 0x80:  # Nearly all.
        return data[at], at + 1
    number = 0
    for n_bytes, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * n_bytes
        if byte < 0x80:
            if number >> 64:
                break
            return number, at + n_bytes + 1
    else:
        if len(data) - at < _MAX_VARINT_BYTES:
            raise ArtifactError("TRUNCATED", "the message ends inside a number")
    raise ArtifactError("BAD_VARINT", "a number has more than 64 bits")
