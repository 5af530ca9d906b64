"""The byte alphabet of GPT-2: one visible character for each byte, so that vocabularies of bytes are text.

Bytes that are visible characters of Latin-1 are those; the others are those from U+0100 on, in order.

>>> "".join(CHAR_OF_BYTE[byte] for byte in "a b é".encode())
'aĠbĠÃ©'
"""

from __future__ import annotations

import itertools
from typing import Final, NoReturn

_VISIBLE: Final = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_others = itertools.count(0x100)

CHAR_OF_BYTE: Final = tuple(chr(byte if byte in _VISIBLE else next(_others)) for byte in range(256))
BYTE_OF_CHAR: Final = {char: byte for byte, char in enumerate(CHAR_OF_BYTE)}


def to_bytes(text: str) -> bytes:
    """The bytes that `text` spells; its UTF-8 if a character of it is not of the alphabet.

    >>> to_bytes("Ġé"), to_bytes("▁é")
    (b' \xe9', b'\xe2\x96\x81\xc3\xa9')
    """
    try:
        return text.translate(_LATIN_1).encode("latin-1")
    except ValueError:
        return text.encode()


class _Latin1(dict[int, int]):
    """The character of Latin-1 with a byte's number, for the byte's character of the alphabet."""

    def __missing__(self, char: int) -> NoReturn:
        raise ValueError(char)  # of a LookupError str.translate makes no change instead


_LATIN_1: Final = _Latin1({ord(char): byte for char, byte in BYTE_OF_CHAR.items()})
