"""The generated tables say of every code point what tiktoken's own regex engine says."""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
import tiktoken
import tokenwire_core
from tokenwire_core import charset
from tokenwire_core.unicode_ranges import GENERAL_CATEGORY, SCRIPT

CODE_POINTS = [*range(0xD800), *range(0xE000, sys.maxunicode + 1)]
SURROGATES = set(range(0xD800, 0xE000))
BYTES = {bytes([byte]): byte for byte in range(256)}
CLASSES = {
    1: r"[\p{Lu}\p{Lt}]",
    2: r"\p{Ll}",
    4: r"[\p{Lm}\p{Lo}]",
    8: r"\p{M}",
    16: r"\p{N}",
    32: r"[^\S\r\n]",
    64: r"[\r\n]",
    128: r"[^\p{L}\p{M}\p{N}\s]",
}


def matched(pattern: str, text: str) -> str:
    """What the engine's matches of the pattern spell: with single bytes as the vocabulary, ids are bytes."""
    encoding = tiktoken.Encoding("bytes", pat_str=pattern, mergeable_ranks=BYTES, special_tokens={})
    return bytes(encoding.encode_ordinary(text)).decode()


def assert_engine_has(parts: dict[str, Iterable[int]]) -> None:
    """Each pattern matches all of its part.

    The parts are all code points, and the patterns exclude each other: so each matches nothing else.
    """
    members = {pattern: sorted(set(part) - SURROGATES) for pattern, part in parts.items()}
    assert sorted(itertools.chain.from_iterable(members.values())) == CODE_POINTS
    for pattern, part in members.items():
        text = "".join(map(chr, part))
        assert matched(pattern, text) == text, pattern


def c_array(header: str, name: str) -> list[int]:
    """The values of an array in a generated header, whose macros R4 to R256 repeat a value."""
    source = (Path(tokenwire_core.__file__).parent / header).read_text(encoding="utf-8")
    size, body = re.findall(rf"{name}\[(\d+)\] = {{([^}}]*)}}", source)[0]
    values: list[int] = []
    for times, repeated, single in re.findall(r"R(\d+)\((\d+)\)|(\d+)", body):
        values += [int(single or repeated)] * int(times or 1)
    assert len(values) == int(size)
    return values


def test_each_code_point_has_the_class_that_the_engine_gives_it() -> None:
    """The eight classes are exactly eight sets of the engine."""
    stage1, stage2 = (c_array("unicode_tables.h", name) for name in ("tw_class_block", "tw_class"))
    assert len(stage1) == (sys.maxunicode + 1) >> 8
    parts: dict[int, list[int]] = {flag: [] for flag in CLASSES}
    for code_point in CODE_POINTS:
        parts[stage2[stage1[code_point >> 8] << 8 | code_point & 0xFF]].append(code_point)
    assert_engine_has({CLASSES[flag]: part for flag, part in parts.items()})


def named(found: charset.CharSet | None) -> charset.CharSet:
    assert found is not None
    return found


def test_general_categories() -> None:
    """Each general category has the engine's members."""
    assert_engine_has(
        {rf"\p{{{name}}}": named(charset.general_category(name.lower())) for name in GENERAL_CATEGORY}
    )


def test_scripts() -> None:
    """Each script has the engine's members, and all other code points have none."""
    scripts = {code: named(charset.script(code.lower())) for code in SCRIPT}
    unknown = ~charset.CharSet.of(r for members in scripts.values() for r in members.ranges)
    parts: dict[str, Iterable[int]] = {rf"\p{{Script={code}}}": members for code, members in scripts.items()}
    assert_engine_has({**parts, f"[^{''.join(parts)}]": unknown})


@pytest.mark.parametrize("letter", "dsw")
def test_perl_classes(letter: str) -> None:
    r"""`\d`, `\s` and `\w` are the engine's, and so is all that they leave out."""
    members = charset.perl_class(letter)
    assert_engine_has({rf"\{letter}": members, rf"\{letter.upper()}": ~members})


@pytest.mark.parametrize("name", ["alphabetic", "joincontrol"])
def test_binary_properties(name: str) -> None:
    """A property that a pattern may name has the engine's members; White_Space is `\\s`, above."""
    members = named(charset.binary_property(name))
    assert_engine_has({rf"\p{{{name}}}": members, rf"\P{{{name}}}": ~members})


def test_code_points_that_differ_only_in_case(seed: int) -> None:
    """A class that ignores case, of one member from each of many orbits, matches the whole orbits and nothing else.

    For each binary digit, a class of the orbits that have it in their number: together they tell all orbits apart.
    """
    rng = random.Random(seed)
    orbits = sorted(set(charset.case_orbits().values()))
    assert len(orbits) > 1000
    assert all(len(orbit) > 1 for orbit in orbits)
    cased = "".join(map(chr, sorted(itertools.chain.from_iterable(orbits))))
    for digit in range(len(orbits).bit_length()):
        chosen = [orbit for number, orbit in enumerate(orbits) if number >> digit & 1]
        members = "".join(rf"\u{{{rng.choice(orbit):x}}}" for orbit in chosen)
        expected = {chr(code_point) for orbit in chosen for code_point in orbit}
        assert set(matched(f"(?i)[{members}]", cased)) == expected
    one_of_each = "".join(rf"\u{{{rng.choice(orbit):x}}}" for orbit in orbits)
    assert matched(f"(?i)[{one_of_each}]", "".join(map(chr, CODE_POINTS))) == cased
