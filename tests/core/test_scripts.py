"""Letters are counted by the script that the Unicode Standard gives them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import charset
from tokenwire_core.scripts import count_scripts
from tokenwire_core.unicode_ranges import SCRIPT

from tests.strategies import texts

LETTERS = charset.general_category("letter")
SCRIPT_OF = {
    c: code
    for code in SCRIPT
    if code not in ("Zyyy", "Zinh") and (members := charset.script(code)) and LETTERS
    for c in members & LETTERS
}


def expected(text: str) -> dict[str, int]:
    """The slow way: one character after the other."""
    return dict(Counter(SCRIPT_OF[ord(c)] for c in text if ord(c) in SCRIPT_OF))


@given(text=texts(), max_codepoints=st.integers(0, 40))
def test_scripts_are_those_of_the_ranges(text: str, max_codepoints: int) -> None:
    """The table in C agrees with the ranges that patterns are made of, and the limit counts code points."""
    assert count_scripts(text.encode(), max_codepoints) == expected(text[:max_codepoints])


def test_every_letter() -> None:
    """All letters at once: each is counted under its own script."""
    text = "".join(map(chr, SCRIPT_OF))
    assert count_scripts(text.encode(), len(text)) == expected(text)


def test_what_is_no_letter_has_no_script() -> None:
    """Digits, blanks, punctuation, marks and the letters all scripts share count for nothing."""
    assert count_scripts("12 ,.\n\u0301\u00b5\u30fc🙂".encode(), 100) == {}


def test_known_scripts() -> None:
    """A text in five scripts, by hand."""
    assert count_scripts("abc мир 你好 กขค ひ".encode(), 100) == {
        "Latn": 3,
        "Cyrl": 3,
        "Hani": 2,
        "Thai": 3,
        "Hira": 1,
    }


def test_a_negative_limit_is_refused() -> None:
    """A limit below zero is a mistake of the caller, not a text without letters."""
    with pytest.raises(ValueError, match="max_codepoints is -1"):
        count_scripts(b"abc", -1)
