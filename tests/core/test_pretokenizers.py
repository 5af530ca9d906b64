"""The compiled pre-tokenizers and the slow twin: the same pieces, from the same places, whatever the stages."""

from __future__ import annotations

import itertools
import random
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenwire_core.byte_alphabet import BYTE_OF_CHAR
from tokenwire_core.formats import hf_pretokenizers as hf
from tokenwire_core.pipeline import Behavior, PreTokenizer, Regex
from tokenwire_core.pretokenizers import PreTokenizerChain, pre_tokenize
from tokenwire_core.reference_aligned import AlignedText, Span
from tokenwire_core.reference_pretokenize import GPT2_PATTERN
from tokenwire_core.reference_pretokenize import pre_tokenize as slowly
from tokenwire_core.split import FAMILIES, SEQUENCES, split
from tools.make_pretokenizer_tables import header
from tools.make_unicode_tables import CORE

from tests.core.hf_twins import tricky_texts

PATHS: tuple[Literal["best", "sse2", "plain", "scalar"], ...] = ("best", "sse2", "plain", "scalar")
IDS_ONLY, OWN_PLACES, REFERENCE_PLACES = range(3)
BEHAVIORS: tuple[Behavior, ...] = (
    *("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext"),
    "Contiguous",
)
FLAGS = (False, True)
BY_FAMILY = Regex(sorted(FAMILIES)[-1])
BY_TABLE = (
    *(Regex(r"\s+(?!\S)|\p{L}+|\p{N}"), Regex("(?=[abs])"), Regex(r"\s*[\r\n]+"), Regex("a*b|a|")),
    *(Regex(r"\s+(?=\S|\z)"), Regex("(?i:'s)|x{2,3}?|(?:ab|a)(?:c|bcd)?"), Regex(r"[^\s\p{L}]?\p{L}{1,3}")),
)
BY_REGEX = (Regex(r"(?<=a)\s|b"), Regex("(?=ab)|a++b?"), Regex("(?:a|b?)*c"))
LITERALS = ("a", " ", "▁", "aa", "\u0301")
PATTERNS = (*LITERALS, BY_FAMILY, *BY_TABLE, *BY_REGEX)
OTHER_STAGES: tuple[PreTokenizer, ...] = (
    *(hf.ByteLevel(prefix, by_regex) for prefix in FLAGS for by_regex in FLAGS),
    *(
        hf.Metaspace(replacement, scheme, split)
        for replacement in "▁a "
        for scheme in ("always", "first", "never")
        for split in FLAGS
    ),
    *(hf.Digits(individual) for individual in FLAGS),
    *(hf.Punctuation(behavior) for behavior in BEHAVIORS),
    *(hf.CharDelimiterSplit("a"), hf.UnicodeScripts(), hf.BertPreTokenizer()),
    *(hf.FixedLength(1), hf.FixedLength(3), hf.Whitespace(), hf.WhitespaceSplit()),
)
SPLITS = tuple(
    hf.Split(pattern, behavior, invert) for pattern in PATTERNS for behavior in BEHAVIORS for invert in FLAGS
)
STAGES = (*OTHER_STAGES, *SPLITS)
stages = st.one_of(st.sampled_from(OTHER_STAGES), st.sampled_from(SPLITS))
chains = st.lists(stages, max_size=4)

SERVED = {
    **{f"DeepSeek {number}": patterns for number, patterns in enumerate(SEQUENCES)},
    "DeepSeek's first two": next(iter(SEQUENCES))[:2],
    "DeepSeek's last": next(iter(SEQUENCES))[2:],
    "DeepSeek Coder": ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+"),
    "BLOOM": (r" ?[^(\s|[.,!?…。，、।۔،])]+",),
    "CLIP": (r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",),
    **{f"family {family}": (pattern,) for pattern, family in FAMILIES.items()},
}
"""Patterns that tokenizers are served with."""

Part = tuple[str, int, int | None]
Pieces = list[tuple[bytes, list[Span]]]


@st.composite
def changed_texts(draw: st.DrawFn) -> list[Part]:
    """A text that normalizers have changed: stretches as they were, and some that stand for a range of the source."""
    parts: list[Part] = []
    at = 0
    for _ in range(draw(st.integers(1, 5))):
        at += draw(st.integers(0, 2))
        text = draw(st.text(st.sampled_from("ab é▁1.漢"), min_size=1, max_size=5))
        if draw(st.booleans()):
            parts.append((text, at, None))
            at += len(text.encode())
        else:
            n_bytes = draw(st.integers(0, 4))
            parts.append((text, at, at + n_bytes))
            at += n_bytes
    return parts


def twins_text(source: str | list[Part]) -> AlignedText:
    if isinstance(source, str):
        return AlignedText.of(source)
    text = ""
    spans: list[Span] = []
    for part, start, end in source:
        text += part
        if end is None:
            edges = [start, *itertools.accumulate((len(char.encode()) for char in part), initial=start)][1:]
            spans += itertools.pairwise(edges)
        else:
            spans += [(start, end)] * len(part)
    return AlignedText(text, spans, (spans[0][0], spans[-1][1]))


def expected(chain: list[PreTokenizer], source: str | list[Part]) -> Pieces:
    return [(piece.text.encode(), piece.spans) for piece in slowly(twins_text(source), chain)]


def assert_same(chain: list[PreTokenizer], source: str | list[Part]) -> None:
    """Pieces are the twin's; places too, except by our rule those of what was put before a piece."""
    theirs = expected(chain, source)
    assert pre_tokenize(chain, source, REFERENCE_PLACES) == theirs
    if not PreTokenizerChain(chain, False).needs_places:
        assert pre_tokenize(chain, source, IDS_ONLY) == [(piece, None) for piece, _ in theirs]
    ours = pre_tokenize(chain, source, OWN_PLACES)
    assert [piece for piece, _ in ours] == [piece for piece, _ in theirs]
    for (_, places), (_, spans) in zip(ours, theirs, strict=True):
        assert places is not None
        for place, span in zip(places, spans, strict=True):
            assert place in (span, (span[0], span[0]))


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@given(source=st.one_of(tricky_texts, changed_texts()).filter(bool))
@settings(max_examples=8)
def test_each_behavior(pattern: str | Regex, source: str | list[Part]) -> None:
    """Every piece of a Split is the twin's, whatever becomes of the delimiters."""
    for behavior in BEHAVIORS:
        for invert in FLAGS:
            assert_same([hf.Split(pattern, behavior, invert)], source)


@pytest.mark.parametrize("each", OTHER_STAGES, ids=str)
@given(source=st.one_of(tricky_texts, changed_texts()).filter(bool))
@settings(max_examples=10)
def test_each_stage(each: PreTokenizer, source: str | list[Part]) -> None:
    """Every piece of a stage is the twin's, and comes from the same places."""
    assert_same([each], source)


@given(chain=chains, source=st.one_of(tricky_texts, changed_texts()).filter(bool))
@settings(max_examples=100)
def test_stages_after_each_other(chain: list[PreTokenizer], source: str | list[Part]) -> None:
    """Stages in any order, each on the pieces that the ones before have made."""
    assert_same(chain, source)


@given(chain=chains, text=tricky_texts.filter(bool))
@settings(max_examples=100)
def test_bytes_stay_bytes(chain: list[PreTokenizer], text: str) -> None:
    """For a model of bytes the last ByteLevel changes nothing, and pieces are still cut as if it did."""
    theirs = expected(chain, text)
    keeps = PreTokenizerChain(chain, True).keeps_bytes
    assert keeps == ends_with_byte_level(chain)
    if keeps:
        theirs = [(bytes(BYTE_OF_CHAR[char] for char in piece.decode()), places) for piece, places in theirs]
    for tracing in (OWN_PLACES, REFERENCE_PLACES):
        ours = pre_tokenize(chain, text, tracing, byte_level=True)
        if tracing == REFERENCE_PLACES or not PreTokenizerChain(chain, True).needs_places:
            assert [piece for piece, _ in ours] == [piece for piece, _ in theirs]


def ends_with_byte_level(chain: list[PreTokenizer]) -> bool:
    changing = [each for each in chain if isinstance(each, hf.ByteLevel | hf.Metaspace)]
    return bool(changing) and isinstance(changing[-1], hf.ByteLevel)


@given(chain=chains, around=st.tuples(tricky_texts, tricky_texts), text=tricky_texts.filter(bool))
@settings(max_examples=100)
def test_what_stands_around_a_text_plays_no_part(
    chain: list[PreTokenizer], around: tuple[str, str], text: str
) -> None:
    """The middle of a text is cut as a text of its own."""
    start = len(around[0].encode())
    end = start + len(text.encode())
    found = pre_tokenize(chain, around[0] + text + around[1], IDS_ONLY, start=start, end=end)
    if not PreTokenizerChain(chain, False).needs_places:
        assert [piece for piece, _ in found] == [piece for piece, _ in expected(chain, text)]


def served(name: str) -> list[PreTokenizer]:
    return [hf.Split(Regex(pattern), "Isolated") for pattern in SERVED[name]]


@pytest.mark.parametrize("name", SERVED)
@given(
    text=st.one_of(tricky_texts, st.text(st.sampled_from("aé.,・か漢 \n\t1\x01\u0301\u3000"))).filter(bool)
)
@settings(max_examples=20)
def test_served_patterns(name: str, text: str) -> None:
    """Patterns that tokenizers are served with are compiled, and cut as the twin does."""
    assert PreTokenizerChain(served(name), False).max_text_bytes is None
    assert_same(served(name), text)


def test_which_patterns_run_on_the_regex_module() -> None:
    """A pattern that looks behind has a limit of bytes and of time; one with a table has none."""
    for pattern in BY_TABLE:
        assert PreTokenizerChain([hf.Split(pattern, "Isolated")], False).max_text_bytes is None
    for pattern in BY_REGEX:
        assert PreTokenizerChain([hf.Split(pattern, "Isolated")], False).max_text_bytes == 65536


def test_a_slow_pattern_is_given_up() -> None:
    """A pattern that backtracks without end ends at its time."""
    slow = hf.Split(Regex("(?<!x)(?:a|aa)+(?=b)"), "Isolated")
    with pytest.raises(TimeoutError):
        pre_tokenize([slow], "a" * 200, IDS_ONLY, timeout_s=0.05)


def test_a_text_grows_within_a_bound() -> None:
    """Stages that each double the text end before memory does."""
    with pytest.raises(OverflowError):
        pre_tokenize([hf.ByteLevel(False, False)] * 256, "漢" * 100, IDS_ONLY)


@pytest.mark.parametrize("pattern", [r"\s*[\r\n]+", "a*b|a", "a*b|a*c|a*d|a"])
def test_reading_ahead_again_and_again_is_linear(pattern: str) -> None:
    """Where each match fails only at the end of the text, the whole is still done in linear time."""
    text = ("a" if pattern[0] == "a" else " ") * 400_000
    found = pre_tokenize([hf.Split(Regex(pattern), "Isolated")], text, IDS_ONLY)
    assert b"".join(piece for piece, _ in found) == text.encode()


def test_fast_patterns() -> None:
    """One pattern of a family, and nothing else, is told of; what changes or drops anything is not."""
    by_family = hf.Split(BY_FAMILY, "Isolated")
    bytes_only = hf.ByteLevel(False, False)
    family = FAMILIES[BY_FAMILY.pattern]
    cases: tuple[tuple[list[PreTokenizer], bool, int], ...] = (
        ([by_family], False, family),
        ([by_family, bytes_only], True, family),
        ([hf.Split(BY_FAMILY, "Removed", invert=True), bytes_only], True, family),
        ([hf.ByteLevel(False, True)], True, 0),
        ([by_family, bytes_only], False, -1),
        ([hf.Split(BY_FAMILY, "Removed"), bytes_only], True, -1),
        ([hf.Split(BY_FAMILY, "Contiguous")], False, -1),
        ([hf.ByteLevel(True, True)], True, -1),
        ([bytes_only], True, -1),
        ([], True, -1),
    )
    for chain, byte_level, fast in cases:
        assert PreTokenizerChain(chain, byte_level).fast_pattern == fast
    assert PreTokenizerChain([], False).is_empty
    assert PreTokenizerChain([bytes_only], True).is_empty
    assert not PreTokenizerChain([bytes_only], False).is_empty


DIGITS_APART: list[PreTokenizer] = [hf.Digits(True), hf.ByteLevel(False, True)]


@given(
    text=st.one_of(
        tricky_texts, st.text(st.sampled_from("aé.' s\n\t1²\U00010d4a\U00011de1\u0301\u3000"), max_size=99)
    )
)
@settings(max_examples=60)
def test_gpt2_between_digits(text: str) -> None:
    """Digits and GPT-2's pattern are compiled as one; its paths agree with the twin of both."""
    family = PreTokenizerChain(DIGITS_APART, True).fast_pattern
    assert family not in (-1, FAMILIES[GPT2_PATTERN.pattern])
    both: list[PreTokenizer] = [hf.Digits(True), hf.Split(GPT2_PATTERN, "Isolated")]
    edges = itertools.accumulate(len(piece) for piece, _ in expected(both, text)) if text else ()
    ends = list(edges)
    for path in PATHS:
        assert split(family, text.encode(), path) == ends


def test_the_tables_are_as_generated() -> None:
    """The committed header is what its tool writes."""
    committed = CORE / "pretokenizer_tables.h"
    assert committed.read_text(encoding="utf-8") == header()


BY_CHARACTER: dict[str, list[PreTokenizer]] = {
    **{str(each): [each] for each in (hf.Whitespace(), hf.WhitespaceSplit(), hf.Digits())},
    **{str(each): [each] for each in (hf.BertPreTokenizer(), hf.Punctuation(), hf.UnicodeScripts())},
    **{name: served(name) for name in ("DeepSeek 0", "DeepSeek's last", "CLIP", "BLOOM")},
    **{pattern: [hf.Split(Regex(pattern), "Isolated")] for pattern in FAMILIES if "++" not in pattern},
    "ByteLevel": [hf.ByteLevel(True, True)],
    "Digits, ByteLevel": DIGITS_APART,
}
"""Chains that do what they do by tables of characters."""


def assert_code_points_are_cut_alike(chain: list[PreTokenizer], code_points: range, contexts: str) -> None:
    """Each code point in the place of each c of the contexts."""
    characters = (chr(c) for c in code_points if not 0xD800 <= c < 0xE000)
    if text := "".join(contexts.replace("c", char) for char in characters):
        assert pre_tokenize(chain, text, IDS_ONLY) == [(piece, None) for piece, _ in expected(chain, text)]


@pytest.mark.parametrize("name", BY_CHARACTER)
def test_code_points_by_sample(name: str) -> None:
    """One code point in 211 of the first two planes, in many contexts."""
    assert_code_points_are_cut_alike(BY_CHARACTER[name], range(0, 0x20000, 211), "cx\nacb c\rcc\n1c\n")


@pytest.mark.long
@pytest.mark.parametrize("name", BY_CHARACTER)
def test_every_code_point(name: str) -> None:
    """All code points, between a letter and a blank and the other way round."""
    for first in range(0, 0x110000, 0x1000):
        assert_code_points_are_cut_alike(BY_CHARACTER[name], range(first, first + 0x1000), "c ca")


@pytest.mark.long
def test_many_random_chains(seed: int) -> None:
    """Five thousand chains, each on a text of the traps."""
    rng = random.Random(seed)
    for _ in range(5_000):
        text = "".join(rng.choices("aAbsS'’ \t\r\n/!.09ſéǅʰ中ًि\u3000\u0301\u00a0²٣🙂▁", k=rng.randint(1, 60)))
        assert_same(rng.choices(STAGES, k=rng.randint(1, 4)), text)
