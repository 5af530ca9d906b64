"""Notation: whether a text is prose, or code and data, told by its signs and by how they join words.

Prose puts blanks between words and few signs besides its punctuation. Code, JSON, logs, URLs and base64 have many of
`{}=;_/` and digits, and join words by them: `a.b`, `a_b`, `camelCase`, `);`. Counted on bytes, by class. The bounds
are from the table in docs/languages.md. Cost: 4 µs for 256 characters.
"""

from __future__ import annotations

import string
from enum import Enum

_SIGNS = '{}[]<>=;|\\_#@$&*+^~"`%/' + string.digits
_JOINERS = "_/=\\@#&+<>{}[]|;:.*$%~^"
_AROUND = "()\"'`"
_ALL_BYTES = bytes(range(256))
_OTHER_BYTES = _ALL_BYTES.translate(None, _SIGNS.encode())

# The class of a byte: a and A are letters, 0 digits, J what joins, Q quotes and parentheses, _ blanks, P all else.
_CLASSES = bytearray(b"P" * 128 + b"a" * 128)
for _characters, _class in (
    (string.ascii_lowercase, "a"),
    (string.ascii_uppercase, "A"),
    (string.digits, "0"),
    (string.whitespace, "_"),
    (_JOINERS, "J"),
    (_AROUND, "Q"),
):
    for _character in _characters.encode():
        _CLASSES[_character] = ord(_class)
# No b"aQa": words have apostrophes.
_JOINTS = (b"Ja", b"JA", b"aA", b"JJ", b"JQ", b"QJ", b"QQ")

_PROSE_SHARE = 0.04
_DATA_SHARE = 0.15
_DATA_LEAST = 5


class Notation(Enum):
    """What a text looks like. `UNCLEAR` is prose full of markup as well as code full of comments."""

    PROSE = "prose"
    UNCLEAR = "unclear"
    DATA = "data"


def notation(text: str) -> Notation:
    """What a text looks like: prose has at most 4 signs and joints in 100 characters, data 15 or more, and 5 in all."""
    utf8 = text.encode("utf-8", "replace")
    classes = utf8.translate(_CLASSES)
    n_noise = len(utf8.translate(None, _OTHER_BYTES)) + sum(map(classes.count, _JOINTS))
    if n_noise <= _PROSE_SHARE * len(text):
        return Notation.PROSE
    if n_noise >= max(_DATA_LEAST, _DATA_SHARE * len(text)):
        return Notation.DATA
    return Notation.UNCLEAR
