"""Texts for property tests: Hypothesis strategies that shrink, and a fast generator of the same kinds for bulk runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import strategies as st

MAX_CHARACTERS = 1024
"""At four bytes a character, texts have at most 4 KiB."""

SCRIPTS = {
    "Latin": (0x41, 0x24F),
    "Greek": (0x370, 0x3FF),
    "Cyrillic": (0x400, 0x52F),
    "Hebrew": (0x591, 0x5F4),
    "Arabic": (0x600, 0x6FF),
    "Devanagari": (0x900, 0x97F),
    "Bengali": (0x980, 0x9FE),
    "Tamil": (0xB82, 0xBFA),
    "Thai": (0xE01, 0xE5B),
    "Hangul": (0xAC00, 0xD7A3),
    "Kana": (0x3041, 0x30FF),
    "Han": (0x4E00, 0x9FFF),
    "Emoji": (0x1F300, 0x1F64F),
    "Mathematical": (0x1D400, 0x1D7FF),
}
"""First and last code point of a block that is mostly letters of the script."""

BLANKS = " \t\n\r\x0b\x0c\x1c\x85\xa0\u2000\u2003\u2028\u2029\u202f\u3000\u200b\u200d\ufeff"
EDGES = "'’aAsSſtTdDmMrReElLvV09²٣½Ⅷ.,;:!?-_/\\#@<|>()[]{}\"`~$%^&*+=́\u0301\u094d\u200d\ufe0f🏽"
CONTROL_WORDS = (
    "<|endoftext|>",
    "<|fim_prefix|>",
    "<|endofprompt|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|startoftranscript|>",
    "<|0.00|>",
    "<think>",
    "<|",
    "|>",
)

_ROOT = Path(__file__).parents[1]
LINES = tuple(
    line
    for name in ("LICENSE", "NOTICE", "proto/tokenwire/v1/tokenizer.proto", "tests/strategies.py")
    for line in (_ROOT / name).read_text(encoding="utf-8").splitlines()
    if line.strip()
)
"""Ordinary text and code of our own, to be mutated."""

code_points = st.characters(exclude_categories=["Cs"])
"""Every code point that UTF-8 can hold."""

words = st.sampled_from(sorted(SCRIPTS)).flatmap(
    lambda script: st.text(
        st.characters(min_codepoint=SCRIPTS[script][0], max_codepoint=SCRIPTS[script][1]),
        min_size=1,
        max_size=12,
    )
)
blanks = st.text(st.sampled_from(BLANKS), min_size=1, max_size=8)
near_control_tokens = st.builds(
    lambda word, cut, glue: word[:cut] + glue + word[cut:],
    st.sampled_from(CONTROL_WORDS),
    st.integers(0, 12),
    st.text(st.sampled_from("|<> a\n"), max_size=2),
)
mutated_lines = st.builds(
    lambda line, at, glue: line[:at] + glue + line[at:],
    st.sampled_from(LINES),
    st.integers(0, 110),
    st.text(code_points, max_size=3),
)
runs = st.builds(
    lambda unit, times: unit * times, st.text(code_points, min_size=1, max_size=2), st.integers(2, 60)
)

_texts = st.one_of(
    st.text(code_points, max_size=60),
    st.lists(
        st.one_of(
            words,
            blanks,
            st.text(st.sampled_from(EDGES), max_size=6),
            near_control_tokens,
            mutated_lines,
            runs,
            st.text(code_points, max_size=4),
        ),
        max_size=12,
    ).map(lambda parts: "".join(parts)[:MAX_CHARACTERS]),
)


def texts() -> st.SearchStrategy[str]:
    """Well-formed texts of at most 4 KiB: random code points, words of one script, blanks, spellings near control
    tokens, mutated lines and runs, alone and mixed."""
    return _texts


def _code_point(rng: random.Random) -> str:
    value = rng.randrange(0x110000 - 0x800)
    return chr(value if value < 0xD800 else value + 0x800)


def _word(rng: random.Random) -> str:
    first, last = rng.choice(list(SCRIPTS.values()))
    return "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 12)))


def _mutated(rng: random.Random, text: str, glue: str) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + glue + text[at + rng.randint(0, 2) :]


_KINDS: tuple[Callable[[random.Random, Sequence[str], Sequence[str]], str], ...] = (
    lambda rng, _words, _lines: "".join(_code_point(rng) for _ in range(rng.randint(1, 8))),
    lambda rng, _words, _lines: _word(rng),
    lambda rng, _words, _lines: "".join(rng.choices(BLANKS, k=rng.randint(1, 8))),
    lambda rng, _words, _lines: "".join(rng.choices(EDGES, k=rng.randint(1, 8))),
    lambda rng, words, _lines: _mutated(rng, rng.choice(words), rng.choice(["", "|", " ", "<"])),
    lambda rng, _words, lines: _mutated(
        rng, rng.choice(lines), rng.choice(["", _code_point(rng), " ", "\n", "'s"])
    ),
    lambda rng, _words, _lines: (
        rng.choice([_code_point(rng), rng.choice(EDGES), rng.choice(BLANKS)]) * rng.randint(2, 60)
    ),
)


def random_text(
    rng: random.Random, control_words: Sequence[str] = CONTROL_WORDS, lines: Sequence[str] = LINES
) -> str:
    """One text of the kinds of `texts`, made a hundred times as fast and without shrinking."""
    most = 1 << rng.randint(0, 10)
    parts: list[str] = []
    length = 0
    while length < most:
        parts.append(rng.choice(_KINDS)(rng, control_words, lines))
        length += len(parts[-1])
    return "".join(parts)[:most]
