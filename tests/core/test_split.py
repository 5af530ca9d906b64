"""Every path of the compiled splitter gives the same pieces, and they are tiktoken's."""

from __future__ import annotations

import itertools
import random
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core.split import FAMILIES, SEQUENCES, pattern_id, split

from tests.core.tiktoken_pieces import assert_pieces_are_tiktokens
from tests.strategies import random_text, texts

PATTERNS = sorted(FAMILIES)
COMPILED: tuple[str | tuple[str, ...], ...] = (*PATTERNS, *SEQUENCES)
Path = Literal["best", "sse2", "plain", "scalar"]
MASKED: tuple[Path, ...] = ("best", "sse2", "plain")

TRAPS = (
    "don't it's's 'S 'ſ ſ''ll I'LL we'Re x'velour 'd'd",
    "Hello, World! HTTPServer ABCdef aBC ǅu ǅ ʰA Aʰ Aʰb 中A A中 A中b",
    "12345678 ²³½ Ⅷ 1२३४5",
    "a\n b\n\n  c \n \n d\r\n\te  \n",
    "!\n/\n/x //\n/a !\r\n\r\n/ ...\n\n  x",
    "\u0301a a\u0301b !\u0301 \u0301\u0301 é\u0301'S \u0301's",
    "\u00a0x \u3000\u3000y \u2029z \u0085\u0085 \u200b \u001c\u001d",
    "   ",
    " \n ",
    ".caf\u00e9 .a\u0301 ..b  .c\t.d\x01\x01e \x7f\u0378 ガー・゛ ・.x 漢1字 23漢",
    "👨\u200d👩\u200d👧 🏽🏽 ❤\ufe0f",
)
SHORT = st.text(st.sampled_from("aAbS'’ \t\r\n/!.09\x01ſéǅʰ中か・ًि\u3000\u0301\u00a0²٣🙂"), max_size=150)


@pytest.mark.parametrize("pattern", COMPILED)
@given(text=st.one_of(SHORT, texts()))
def test_the_masks_agree_with_the_scalar_machine(pattern: str | tuple[str, ...], text: str) -> None:
    """Vectors, portable masks and one character at a time give the same pieces, which tile the text."""
    utf8 = text.encode()
    ends = split(pattern, utf8, "scalar")
    assert ends == sorted(set(ends))
    assert (ends[-1] if ends else 0) == len(utf8)
    for path in MASKED:
        assert split(pattern, utf8, path) == ends


@pytest.mark.parametrize("pattern", COMPILED)
def test_window_edges(pattern: str | tuple[str, ...]) -> None:
    """Each trap at every place relative to the end of a 64-byte window, and of the text."""
    for trap in TRAPS:
        for unit in ("x", " ", "é", "1"):
            for n_before in range(56, 70):
                for after in ("", "tail of more than a window, so that the masks are used up to here " * 2):
                    utf8 = (unit * n_before + trap + after).encode()
                    assert split(pattern, utf8) == split(pattern, utf8, "scalar")


def assert_tiktoken_agrees(pattern: str, cases: list[str]) -> None:
    """tiktoken has the pieces of the compiled splitter."""
    ours = []
    for text in cases:
        utf8 = text.encode()
        edges = [0, *split(pattern, utf8)]
        ours.append([utf8[start:end] for start, end in itertools.pairwise(edges)])
    assert_pieces_are_tiktokens(pattern, cases, ours)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_tiktoken_splits_at_the_same_places(pattern: str, seed: int) -> None:
    """Random texts of every kind, and the traps, are split where tiktoken splits them."""
    rng = random.Random(seed)
    edgy = [
        "".join(rng.choices("aAsS'tT \n\r/!1²ʰ中ǅ\u0301\u3000é🙂", k=rng.randint(1, 12))) for _ in range(3000)
    ]
    assert_tiktoken_agrees(pattern, [*TRAPS, *edgy, *(random_text(rng) for _ in range(600))])


def code_point_contexts(code_points: range) -> list[str]:
    """Each code point in five contexts: alone, between letters, behind a blank, doubled, between digit and newline."""
    return [
        context.replace("c", chr(code_point))
        for code_point in code_points
        if not 0xD800 <= code_point < 0xE000
        for context in ("c", "acb", " c", "cc", "1c\n")
    ]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_code_points_of_the_first_plane_by_sample(pattern: str) -> None:
    """One code point in 37 of the first two planes, in five contexts, as tiktoken has it."""
    assert_tiktoken_agrees(pattern, code_point_contexts(range(0, 0x20000, 37)))


@pytest.mark.long
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_code_point(pattern: str) -> None:
    """All code points in five contexts, as tiktoken has them."""
    for first in range(0, 0x110000, 0x4000):
        assert_tiktoken_agrees(pattern, code_point_contexts(range(first, first + 0x4000)))


def test_a_pattern_is_known_by_its_exact_text() -> None:
    """A pattern that differs in a single character is not taken for one that is compiled."""
    for pattern in PATTERNS:
        assert pattern_id(pattern) == FAMILIES[pattern]
        assert pattern_id(pattern + "|x") == pattern_id(f"(?:{pattern})") == -1
