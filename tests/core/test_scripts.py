"""Letters by script: the engine's scripts, and the edges of counting."""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import charset
from tokenwire_core.scripts import count_scripts
from tokenwire_core.unicode_ranges import SCRIPT

from tests.strategies import texts

CODE_OF = {
    code_point: code
    for code in SCRIPT
    if code not in ("Zyyy", "Zinh")
    for code_point in (charset.script(code.lower()) or charset.CharSet(()))
    & (charset.general_category("l") or charset.CharSet(()))
}
"""ISO 15924 code of each letter, from the ranges whose equality with tiktoken's engine another test proves."""


def expected(text: str) -> dict[str, int]:
    return Counter(CODE_OF[ord(c)] for c in text if ord(c) in CODE_OF)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", {}),
        ("123 !? \u0301 🙂", {}),
        ("Hello, мир! 你好 γειά", {"Latn": 5, "Cyrl": 3, "Hani": 2, "Grek": 4}),
        ("カナ かな 漢字 한글", {"Kana": 2, "Hira": 2, "Hani": 2, "Hang": 2}),
        ("नमस्ते ไทย עברית عربي", {"Deva": 4, "Thai": 3, "Hebr": 5, "Arab": 4}),
        ("ªº µー", {"Latn": 2}),
        ("𐐀𠮷", {"Dsrt": 1, "Hani": 1}),
    ],
)
def test_letters_are_counted_by_script(text: str, counts: dict[str, int]) -> None:
    """Digits, marks, punctuation and emoji are no letters; µ and ー are letters of no one script."""
    assert count_scripts(text.encode(), 1000) == counts


def test_every_code_point() -> None:
    """All code points at once, and one in 97 alone, have the scripts of the ranges."""
    everything = "".join(chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000)
    assert count_scripts(everything.encode(), len(everything)) == expected(everything)
    for c in everything[::97]:
        assert count_scripts(c.encode(), 1) == expected(c)


@given(text=texts(), max_codepoints=st.integers(0, 80))
def test_only_the_beginning_counts(text: str, max_codepoints: int) -> None:
    """Only the first `max_codepoints` code points are looked at."""
    assert count_scripts(text.encode(), max_codepoints) == expected(text[:max_codepoints])


@given(data=st.lists(st.one_of(st.binary(max_size=6), texts().map(str.encode))).map(b"".join))
def test_ill_formed_bytes_count_as_no_letter(data: bytes) -> None:
    """Bytes that are no UTF-8 are what U+FFFD is: one code point per maximal part, without a script."""
    text = data.decode(errors="replace")
    assert count_scripts(data, len(text)) == expected(text)
    half = random.Random(len(data)).randint(0, len(text))
    assert count_scripts(data, half) == expected(text[:half])


def test_a_negative_limit_is_refused() -> None:
    """A limit below zero is a mistake of the caller, not a text without letters."""
    with pytest.raises(ValueError, match="max_codepoints is -1"):
        count_scripts(b"a", -1)
