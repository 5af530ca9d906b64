"""The compiled normalizers make of every text what the slow twin makes of it, places included."""

from __future__ import annotations

import functools
import itertools
import random
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
import tokenwire_core
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenwire_core.errors import NormalizedTooLongError, PatternTooSlowError
from tokenwire_core.formats import hf_normalizers as hf
from tokenwire_core.normalizers import NormalizerChain, normalize
from tokenwire_core.pipeline import Normalizer, Regex
from tokenwire_core.reference_aligned import AlignedText
from tokenwire_core.reference_normalize import normalize as normalize_slowly
from tools.make_normalizer_tables import header

from tests.core import model_files
from tests.core.charsmaps import charsmap
from tests.core.hf_twins import TRICKY, tricky_texts

Span = tuple[int, int]
Stages = Sequence[Normalizer]

NOTHING, SPANS, REFERENCE = range(3)

TABLE = charsmap(
    {
        "a": "b",
        "e\u0301": "E",
        "e\u0301\u0327": "never, since it has six bytes",
        "\r\n": "\n",
        "\n": "",
        "ﬁ": "fi",
        "x": "",
        "©\u200d": "(c)",
        "क\u0300": "k",
        "क": "",
        "ﷺ": "صلى الله عليه وسلم",
        "\u0300": "",
        "漢": "字字",
        "ａ\u0301": "á",
        "😀": ":)",
        "ᄀ": "g",
        " ": "▁",
    }
)
"""Entries of one and of more characters, to nothing, to less and to more, and where clusters are not simple."""
PART_OF_A_CHARACTER = charsmap({b"\xc3": "?", b"\xe2\x82": "!", b"q": "Q"})
"""Entries that a character's bytes only begin with."""

STAGES: tuple[Normalizer, ...] = (
    hf.NFC(),
    hf.NFD(),
    hf.NFKC(),
    hf.NFKD(),
    hf.Lowercase(),
    hf.Strip(),
    hf.Strip(left=True, right=False),
    hf.Strip(left=False, right=True),
    hf.StripAccents(),
    hf.Prepend("▁"),
    hf.Prepend("né "),
    hf.Prepend(""),
    hf.BertNormalizer(),
    hf.BertNormalizer(strip_accents=False),
    hf.BertNormalizer(clean_text=False, strip_accents=True, lowercase=False),
    hf.BertNormalizer(handle_chinese_chars=False),
    hf.Nmt(),
    hf.Precompiled(TABLE),
    hf.Precompiled(PART_OF_A_CHARACTER),
    hf.Precompiled(model_files.charsmap("nmt_nfkc_cf")),
    hf.ByteLevel(),
)
PATTERNS: tuple[str | Regex, ...] = (
    *(" ", "a", "é", "aa", "  ", "漢字", "\u0301", ""),
    *map(Regex, (" {2,}", r"\s+", " +", r"\s", r"\p{L}+", "[^a-z]", "a|é", "a*", "", "(?=a)")),
    *map(Regex, (r"(?<=a)\s", r"a(?=\p{L}{2})", r"\A\s*", "(?>a+)b", r"x*\z", r"\s+(?!\S)")),
)


def name(stage: Normalizer) -> str:
    return str(stage)[:60]


REPLACES = tuple(
    hf.Replace(pattern, content)
    for pattern, content in itertools.product(PATTERNS, ("", "▁", "ab", " ", "longer than eight"))
)
chains = st.lists(st.one_of(st.sampled_from(STAGES), st.sampled_from(REPLACES)), max_size=4)
MARKS = "aeoαকঅ가각각﹅ﾊﾟ\u0301\u0300\u0316\u0327\u0345\u0338\u0344\u0f71\u0f73\u0f74\u09be\u09c7\u302e"
"""Letters and marks that compose, decompose and change places."""
all_texts = st.one_of(tricky_texts, st.text(st.sampled_from(MARKS), max_size=12))
FORMS = STAGES[:4]


@functools.lru_cache(maxsize=256)
def compiled(*stages: Normalizer) -> NormalizerChain:
    return NormalizerChain(stages)


def normalized(stages: Stages, text: str, tracing: int = NOTHING) -> tuple[str, list[Span]]:
    """What the compiled stages make of a text."""
    return normalize(compiled(*stages), text, tracing)


def slowly(stages: Stages, text: str) -> AlignedText:
    aligned = AlignedText.of(text)
    normalize_slowly(aligned, stages)
    return aligned


def is_within_bounds(stages: Stages, text: str) -> bool:
    """Whether no stage blows the text up beyond what is taken; that it is refused is another test's."""
    sizes = (len(slowly(stages[:n], text).text.encode()) for n in range(1, len(stages) + 1))
    return all(size <= 1 << 20 for size in sizes)


def assert_same(stages: Stages, text: str) -> None:
    """Text and places are the twin's."""
    expected = slowly(stages, text)
    assert normalized(stages, text) == (expected.text, [])
    assert normalized(stages, text, REFERENCE) == (expected.text, expected.spans)


def assert_places_are_lawful(stages: Stages, text: str) -> None:
    """Our own places are in the source, each between its characters, and never go back."""
    expected, _ = normalized(stages, text)
    found, spans = normalized(stages, text, SPANS)
    assert found == expected
    assert len(spans) == len(found)
    edges = set(itertools.accumulate((len(char.encode()) for char in text), initial=0))
    assert all(start <= end and {start, end} <= edges for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


@settings(max_examples=300)
@given(stages=chains, text=all_texts)
def test_chains_make_what_the_twin_makes(stages: Stages, text: str) -> None:
    """Any stages in any order: the twin's text, and with reference tracing its places."""
    assume(is_within_bounds(stages, text))
    assert_same(stages, text)


@pytest.mark.parametrize("stage", STAGES, ids=name)
def test_each_stage_makes_what_the_twin_makes(stage: Normalizer, seed: int) -> None:
    """One stage alone: the twin's text and places."""
    rng = random.Random(seed)
    for _ in range(100):
        assert_same([stage], "".join(rng.choices(TRICKY, k=rng.randint(1, 16))))
        assert_same([stage], "".join(rng.choices(MARKS, k=rng.randint(1, 16))))


@given(stages=chains, text=all_texts)
def test_our_places_are_lawful(stages: Stages, text: str) -> None:
    """Places by our rule are half-open ranges of characters of the source, in order."""
    assume(is_within_bounds(stages, text))
    assert_places_are_lawful(stages, text)


OWN_PLACES: tuple[Normalizer, ...] = (
    hf.Lowercase(),
    hf.Strip(),
    hf.StripAccents(),
    hf.BertNormalizer(strip_accents=False),
    hf.Nmt(),
    hf.ByteLevel(),
    hf.Replace(" ", "▁"),
)


@given(stages=st.lists(st.sampled_from(OWN_PLACES), max_size=4), text=all_texts)
def test_where_nothing_is_joined_our_places_are_the_references(stages: Stages, text: str) -> None:
    """Stages that go character by character have one answer to where each came from."""
    assert normalized(stages, text, SPANS) == normalized(stages, text, REFERENCE)


def test_places_by_our_rule() -> None:
    """What is made of several characters covers them, what is put before covers nothing."""
    nfc, nfd = hf.NFC(), hf.NFD()
    assert normalized([nfc], "xe\u0301y", SPANS) == ("xéy", [(0, 1), (1, 4), (4, 5)])
    assert normalized([nfd], "xéy", SPANS) == ("xe\u0301y", [(0, 1), (1, 3), (1, 3), (3, 4)])
    exchanged = normalized([nfd], "xa\u0301\u0316y", SPANS)
    assert exchanged == ("xa\u0316\u0301y", [(0, 1), (1, 2), (2, 6), (2, 6), (6, 7)])
    assert normalized([hf.Prepend("▁")], "ab", SPANS) == ("▁ab", [(0, 0), (0, 1), (1, 2)])
    assert normalized([hf.Replace(Regex(" +"), "▁")], "a   b", SPANS) == (
        "a▁b",
        [(0, 1), (1, 4), (4, 5)],
    )
    assert normalized([hf.Precompiled(TABLE)], "e\u0301ﬁ", SPANS) == ("Efi", [(0, 3), (3, 6), (3, 6)])


@given(text=st.text(st.sampled_from("a\u0301\u0316\u0327\u0345\u0338\u1dce\u302e"), max_size=200))
def test_long_runs_of_marks_are_ordered_as_short_ones(text: str) -> None:
    """Many marks are put in order another way than few, with the same result."""
    for form in FORMS:
        assert_same([form], text)
        assert_places_are_lawful([form], text)


def contexts(code_points: Iterable[int]) -> list[str]:
    """Each code point behind a blank and before an accent, behind that, and before another letter."""
    texts = [f" {chr(c)}\u0301{chr(c)}a" for c in code_points if not 0xD800 <= c < 0xE000]
    return ["".join(texts[first : first + 32]) for first in range(0, len(texts), 32)]


EACH_KIND = (*STAGES[:5], STAGES[8], *STAGES[12:16], *STAGES[16:21])


@pytest.mark.parametrize("stage", EACH_KIND, ids=name)
def test_code_points_by_sample(stage: Normalizer) -> None:
    """One code point in 4999 of all, and all that are in the tricky texts."""
    for text in contexts([*range(0, 0x110000, 4999), *map(ord, TRICKY)]):
        assert_same([stage], text)


@pytest.mark.long
@pytest.mark.parametrize("stage", EACH_KIND, ids=name)
def test_every_code_point(stage: Normalizer) -> None:
    """All code points."""
    for text in contexts(range(0x110000)):
        assert_same([stage], text)
        assert_places_are_lawful([stage], text)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS, ids=name)
def test_pairs_that_compose(form: Normalizer) -> None:
    """Every first with every second of a pair, and a mark that may stand between."""
    pairs = [
        unicodedata.normalize("NFD", chr(c))
        for c in range(0x110000)
        if not 0xAC00 <= c < 0xD7A4 and len(unicodedata.normalize("NFD", chr(c))) > 1
    ]
    firsts = sorted({pair[0] for pair in pairs} | {unicodedata.normalize("NFC", pair[:-1]) for pair in pairs})
    seconds = sorted({char for pair in pairs for char in pair[1:]})
    for first in firsts:
        for start in range(0, len(seconds), 8):
            text = "".join(f"{first}{second}{first}\u0316{second} " for second in seconds[start : start + 8])
            assert_same([form], text)


def test_what_a_chain_says_of_itself() -> None:
    """A chain says how long a text may be: any, unless a pattern runs on the `regex` module."""
    chain = NormalizerChain([hf.Replace(Regex(" +"), " "), hf.Nmt()])
    assert chain.max_text_bytes is None
    assert not chain.is_empty
    assert NormalizerChain([]).is_empty
    assert NormalizerChain([hf.Replace(Regex("(?<=a)b"), "")]).max_text_bytes == 65536


DOUBLED = [hf.Replace("a", "aa")]


def test_growth_is_bounded() -> None:
    """A text may grow to 1 MiB, or to 16 times its size; a byte more is refused, and far more at once."""
    assert len(normalized(DOUBLED * 20, "a")[0]) == 1 << 20
    assert len(normalized(DOUBLED * 4, "a" * 100_000)[0]) == 1_600_000
    refused: list[tuple[Stages, str]] = [
        (DOUBLED * 21, "a"),
        ([*DOUBLED * 20, hf.Prepend("x")], "a"),
        (DOUBLED * 40, "a"),
        ([hf.Replace("a", "b" * 1000)], "a" * 100_000),
        ([hf.Replace(Regex("a"), "b" * 1000)], "a" * 100_000),
        ([hf.Replace(Regex("(?<!b)a"), "b" * 1000)], "a" * 60_000),
        ([hf.Precompiled(charsmap({"a": "b" * 1000}))], "a" * 100_000),
    ]
    for stages, text in refused:
        for tracing in (NOTHING, SPANS, REFERENCE):
            with pytest.raises(NormalizedTooLongError):
                normalized(stages, text, tracing)


def test_a_pattern_that_backtracks_is_stopped() -> None:
    """Matching has a deadline."""
    stage = hf.Replace(Regex(r"(a|aa)+(?<!a)"), "")
    with pytest.raises(PatternTooSlowError):
        normalize([stage], "a" * 5000, timeout_s=0.05)


@pytest.mark.long
def test_the_committed_tables_are_what_the_tool_makes() -> None:
    """The header for C says what the twin's tables say."""
    committed = Path(tokenwire_core.__file__).parent / "normalizer_tables.h"
    assert committed.read_text(encoding="utf-8") == header()
