"""The script of each token of a text, to the letter and slowly: the twin of `tally`.

A token belongs to the script (Unicode 16.0, UAX #24) of the first character with one of its own, from the character
that holds its first byte on. So a word with a blank before it belongs to the script of the word. Where no character has
one, a token that begins with an inherited mark takes the script of the character before the marks; else it is neutral
(Zyyy), as blanks, digits and punctuation are. Han counts as Jpan in a text that has kana.
"""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from tokenwire_core.unicode_ranges import SCRIPT

NEUTRAL: Final = "Zyyy"
INHERITED: Final = "Zinh"
JOINERS: Final = "\u200c\u200d"
"""Inherited as marks are, but marks of nothing."""


def token_scripts(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """ISO 15924 codes of tokens by their `spans` in bytes of the text's UTF-8, as `Encoding.spans` gives them."""
    scripts = list(map(script_of, text))
    starts = list(itertools.accumulate((len(char.encode()) for char in text), initial=0))
    bases: list[str] = []
    for script in scripts:
        bases.append(script if script != INHERITED else bases[-1] if bases else NEUTRAL)
    has_kana = not {"Hira", "Kana"}.isdisjoint(scripts)
    found = []
    for start, end in spans:
        first = bisect_right(starts, start) - 1
        own = (
            each
            for each in scripts[first : bisect_right(starts, end - 1)]
            if each not in (NEUTRAL, INHERITED)
        )
        found.append(next(own, bases[first]) if start < end else NEUTRAL)
    return ["Jpan" if script == "Hani" and has_kana else script for script in found]


@functools.lru_cache(maxsize=1 << 16)
def script_of(char: str) -> str:
    """The script of one character, Zinh for an inherited mark; Zyyy where it is a joiner or unassigned."""
    if char in JOINERS:
        return NEUTRAL
    starts, ends, codes = _ranges()
    at = bisect_right(starts, ord(char)) - 1
    return codes[at] if at >= 0 and ord(char) < ends[at] else NEUTRAL


@functools.cache
def _ranges() -> tuple[list[int], list[int], list[str]]:
    """Starts and ends of the ranges of all scripts, in order, and the script of each."""
    ranges = []
    for code, words in SCRIPT.items():
        edges = list(itertools.accumulate(int(word, 16) for word in words.split()))
        ranges += [(start, end, code) for start, end in zip(edges[::2], edges[1::2], strict=True)]
    starts, ends, codes = zip(*sorted(ranges), strict=True)
    return list(starts), list(ends), list(codes)
