"""What a text looks like: the engine's scripts, and the slow way to tell code and data from prose."""

from __future__ import annotations

import random
import string
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import charset
from tokenwire_core.appearance import Notation, look
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

SIGNS = '{}[]<>=;|\\_#@$&*+^~"`%/' + string.digits
CLASSES = {
    **dict.fromkeys(string.ascii_lowercase, "a"),
    **dict.fromkeys(string.ascii_uppercase, "A"),
    **dict.fromkeys(string.digits, "0"),
    **dict.fromkeys(string.whitespace, "_"),
    **dict.fromkeys("_/=\\@#&+<>{}[]|;:.*$%~^", "J"),
    **dict.fromkeys("()\"'`", "Q"),
}
JOINTS = ("Ja", "JA", "aA", "JJ", "JQ", "QJ", "QQ")


def main_script(text: str) -> tuple[str, bool]:
    """The script of 70% of the letters, and whether there are any."""
    counts = Counter(CODE_OF[ord(c)] for c in text if ord(c) in CODE_OF)
    kana = counts.pop("Hira", 0) + counts.pop("Kana", 0)
    counts["Jpan" if kana else "Hani"] = kana + counts.pop("Hani", 0) + counts.pop("Bopo", 0)
    ((script, most),) = counts.most_common(1)
    return (script if most and most >= 0.7 * counts.total() else "", counts.total() > 0)


def notation(text: str) -> Notation:
    """What signs and joints say."""
    classes = "".join(CLASSES.get(c, "P" if c.isascii() else "a") for c in text)
    n_noise = sum(map(SIGNS.count, text)) + sum(map(classes.count, JOINTS))
    if n_noise <= 0.04 * len(text):
        return Notation.PROSE
    return Notation.DATA if n_noise >= max(5, 0.15 * len(text)) else Notation.UNCLEAR


def check(utf8: bytes, max_codepoints: int) -> None:
    text = utf8.decode(errors="replace")[:max_codepoints]
    seen = look(utf8, max_codepoints)
    assert (seen.script, seen.has_letters, seen.notation) == (*main_script(text), notation(text)), repr(text)


@pytest.mark.parametrize(
    ("text", "script", "has_letters"),
    [
        ("", "", False),
        ("123 !? \u0301 🙂", "", False),
        ("Hello, world! 你好", "Latn", True),
        ("Hello, мир! 你好 γειά", "", True),
        ("カナ かな 漢字", "Jpan", True),
        ("漢字 ㄅ", "Hani", True),
        ("漢字 ok", "", True),
        ("नमस्ते, a", "Deva", True),
        ("ªº µー", "Latn", True),
        ("𐐀𐐁𐐂𠮷", "Dsrt", True),
    ],
)
def test_most_letters_decide_the_script(text: str, script: str, has_letters: bool) -> None:
    """Digits, marks, punctuation and emoji are no letters; µ and ー are letters of no one script."""
    seen = look(text.encode(), 1000)
    assert (seen.script, seen.has_letters) == (script, has_letters)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Notation.PROSE),
        ("It's a text (with parentheses), as people write them.", Notation.PROSE),
        ('{"id": 4711, "tags": ["new"]}', Notation.DATA),
        ("return self._of[name].get(key, 0)", Notation.DATA),
        ("The method `get` of a dict has a default, None.", Notation.UNCLEAR),
        ("a.b", Notation.UNCLEAR),
        ("---- ==== ----", Notation.DATA),
    ],
)
def test_signs_and_joints_tell_data_from_prose(text: str, expected: Notation) -> None:
    """Prose has few of them, data many, and a text of a few characters is never data."""
    assert look(text.encode(), 1000).notation is expected


def test_every_code_point() -> None:
    """Each code point alone has the script of the ranges."""
    for c in range(sys.maxunicode + 1):
        if not 0xD800 <= c < 0xE000:
            code = CODE_OF.get(c, "")
            code = {"Hira": "Jpan", "Kana": "Jpan", "Bopo": "Hani"}.get(code, code)
            seen = look(chr(c).encode(), 1)
            assert (seen.script, seen.has_letters) == (code, code != "")


@given(text=texts(), max_codepoints=st.integers(0, 80))
def test_only_the_beginning_is_looked_at(text: str, max_codepoints: int) -> None:
    """A text looks like its first `max_codepoints` code points."""
    check(text.encode(), max_codepoints)


@given(text=st.text(alphabet=SIGNS + "()'.:, aAbBzZß漢\n", max_size=120))
def test_signs_side_by_side(text: str) -> None:
    """Joints are counted as a search for each would find them, from left to right and none inside another."""
    check(text.encode(), 100)


@given(data=st.lists(st.one_of(st.binary(max_size=6), texts().map(str.encode))).map(b"".join))
def test_ill_formed_bytes_are_no_letters(data: bytes) -> None:
    """Bytes that are no UTF-8 are what U+FFFD is: one code point per maximal part, without a script."""
    n = len(data.decode(errors="replace"))
    check(data, n)
    check(data, random.Random(len(data)).randint(0, n))


def test_a_limit_that_is_none_is_refused() -> None:
    """A limit below zero is a mistake of the caller, not a text without letters."""
    for limit in (-1, 1 << 31):
        with pytest.raises(ValueError, match=f"max_codepoints is {limit}"):
            look(b"a", limit)
