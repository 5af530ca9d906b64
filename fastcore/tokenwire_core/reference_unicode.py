"""What the parts of the `tokenizers` library know of Unicode: they are of four different versions.

| what | version | whose table it is there |
|---|---|---|
| punctuation, nonspacing marks and controls of BERT's stages | 8.0 | the crate `unicode_categories` |
| normalization forms, combining marks; scripts | 9.0 | `unicode-normalization-alignments`; the library's own |
| word characters, and all that patterns ask about | 16.0 | `regex` and Oniguruma (see `charset`) |
| numbers, lower case; grapheme clusters | 17.0 | Rust's standard library; `unicode-segmentation` |

To a part, what is newer than its table is unassigned.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from tokenwire_core import charset, reference_tables
from tokenwire_core.charset import CharSet


class CharClass:
    """Characters that one part of the library takes for the same; `char in each`."""

    def __init__(self, characters: CharSet) -> None:
        self._edges = list(itertools.chain.from_iterable(characters.ranges))

    def __contains__(self, char: str) -> bool:
        return bisect_right(self._edges, ord(char)) % 2 == 1


def _table(words: str) -> CharSet:
    """A set of `reference_tables`."""
    edges = list(itertools.accumulate(int(word, 16) for word in words.split()))
    return CharSet(tuple(zip(edges[::2], edges[1::2], strict=True)))


BLANKS: Final = CharClass(charset.perl_class("s"))
r"""Rust's `char::is_whitespace` and `\s`: White_Space, the same 25 characters in all these versions."""
WORD_CHARS: Final = CharClass(charset.perl_class("w"))
r"""`\w` of the crate `regex`."""
NUMBERS: Final = CharClass(_table(reference_tables.NUMBER_17))
"""Rust's `char::is_numeric`."""
PUNCTUATION: Final = CharClass(
    _table(reference_tables.PUNCTUATION_8) | CharSet.only("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
)
"""What BERT's and the Punctuation pre-tokenizer take for it: general categories P, and all such ASCII symbols."""
MARKS: Final = CharClass(_table(reference_tables.MARK_9))
"""What StripAccents removes."""
NONSPACING_MARKS: Final = CharClass(_table(reference_tables.NONSPACING_MARK_8))
"""What BertNormalizer removes as accents."""
BERT_CONTROLS: Final = CharClass(
    (_table(reference_tables.CONTROL_8) | CharSet.only("\ufffd")) - CharSet.only("\t\n\r")
)
"""What BertNormalizer removes as no text."""
BERT_HAN: Final = CharClass(
    CharSet.of(
        (
            (0x3400, 0x4DC0),
            (0x4E00, 0xA000),
            (0xF900, 0xFB00),
            (0x20000, 0x2A6E0),
            (0x2A700, 0x2B740),
            (0x2B740, 0x2B820),
            (0x2B920, 0x2CEB0),
            (0x2F800, 0x2FA20),
        )
    )
)
"""What BertNormalizer puts blanks around: the CJK blocks, with the library's own edges (U+2B820 to U+2B91F miss)."""

_UNASSIGNED: Final = CharClass(_table(reference_tables.UNASSIGNED_9))


def lower(char: str) -> str:
    """Rust's `char::to_lowercase`: the full mapping of one character, without context."""
    return "i\u0307" if char == "İ" else chr(_lowercase().get(ord(char), ord(char)))


@functools.cache
def _lowercase() -> dict[int, int]:
    return {
        code_point: code_point + distance
        for first, last, step, distance in reference_tables.LOWERCASE_17
        for code_point in range(first, last + 1, step)
    }


def script(char: str) -> str | None:
    """The name of the script, None for what has none in Unicode 9.0."""
    starts, names = _script_starts()
    return names[bisect_right(starts, ord(char)) - 1]


@functools.cache
def _script_starts() -> tuple[list[int], list[str | None]]:
    names: dict[int, str | None] = {0: None}
    for name, words in reference_tables.SCRIPT_9.items():
        for start, end in _table(words).ranges:
            names[start] = name
            names.setdefault(end, None)
    starts = sorted(names)
    return starts, [names[start] for start in starts]


# Normalization forms. Decompositions and combining classes never change once a code point is assigned, so Python's
# own tables, of whatever version, say of the code points of 9.0 what those of 9.0 say.


@functools.lru_cache(maxsize=1 << 16)
def decomposition(char: str, compatible: bool) -> str:
    """The full canonical or compatibility decomposition of one character."""
    return char if char in _UNASSIGNED else unicodedata.normalize("NFKD" if compatible else "NFD", char)


def combining_class(char: str) -> int:
    return 0 if char in _UNASSIGNED else unicodedata.combining(char)


def composition(first: str, second: str) -> str | None:
    """The one character that two compose to."""
    composed = unicodedata.normalize("NFC", first + second)
    return None if len(composed) != 1 or composed in _UNASSIGNED else composed


# Grapheme clusters (UAX #29), of which the normalizer Precompiled replaces the short ones as a whole.


@functools.cache
def _grapheme_breaks() -> dict[int, str]:
    return {
        code_point: name
        for name, words in reference_tables.GRAPHEME_BREAK_17.items()
        for code_point in _table(words)
    }


_PICTOGRAPHIC: Final = CharClass(_table(reference_tables.PICTOGRAPHIC_17))
_CONSONANT, _CONJUNCT_EXTEND, _LINKER = (
    CharClass(_table(reference_tables.CONJUNCT_BREAK_17[name])) for name in ("Consonant", "Extend", "Linker")
)
_HANGUL_AFTER: Final = {
    "L": ("L", "V", "LV", "LVT"),
    "LV": ("V", "T"),
    "V": ("V", "T"),
    "LVT": ("T",),
    "T": ("T",),
}


def graphemes(text: str) -> Iterator[str]:
    """The extended grapheme clusters of a text."""
    start = 0
    for at in range(1, len(text) + 1):
        if at == len(text) or _breaks(text[start:at], text[at]):
            yield text[start:at]
            start = at


def _breaks(cluster: str, char: str) -> bool:
    """Whether a new cluster begins with `char`; the rules GB3 to GB999 in order."""
    before, after = (_grapheme_breaks().get(ord(c), "Other") for c in (cluster[-1], char))
    if before == "CR" and after == "LF":
        return False
    if {before, after} & {"CR", "LF", "Control"}:
        return True
    return not (
        after in _HANGUL_AFTER.get(before, ())
        or after in ("Extend", "ZWJ", "SpacingMark")
        or before == "Prepend"
        or (char in _CONSONANT and _ends_with_linker(cluster))
        or (before == "ZWJ" and char in _PICTOGRAPHIC and _ends_with_pictograph(cluster[:-1]))
        or (before == after == "Regional_Indicator" and _n_last_flags(cluster) % 2 == 1)
    )


def _ends_with_linker(cluster: str) -> bool:
    """A consonant, and behind it marks of which one links it to the next."""
    linked = False
    for char in reversed(cluster):
        if char in _LINKER:
            linked = True
        elif char not in _CONJUNCT_EXTEND:
            return linked and char in _CONSONANT
    return False


def _ends_with_pictograph(cluster: str) -> bool:
    """A pictograph, and behind it nothing but extending marks."""
    for char in reversed(cluster):
        if _grapheme_breaks().get(ord(char)) != "Extend":
            return char in _PICTOGRAPHIC
    return False


def _n_last_flags(cluster: str) -> int:
    return len(
        list(
            itertools.takewhile(
                lambda char: _grapheme_breaks().get(ord(char)) == "Regional_Indicator", reversed(cluster)
            )
        )
    )
