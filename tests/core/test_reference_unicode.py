"""The Unicode tables of the twin, against each part of the library that has one: by default where they change and on
some at random, in the long run on every code point."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers
from tokenwire_core import reference_tables, unicode_ranges
from tokenwire_core.reference_aligned import AlignedText
from tokenwire_core.reference_normalize import normalize
from tokenwire_core.reference_pretokenize import pre_tokenize
from tokenwire_core.reference_unicode import graphemes

from tests.core.charsmaps import charsmap, charsmap_stage
from tests.core.hf_documents import added
from tests.core.hf_twins import CHARACTERS, ONE_UNKNOWN, Twins

CODE_POINTS = [*range(0xD800), *range(0xE000, 0x110000)]
CONTEXTS = ("{0}", "a{0}b", " {0}", "{0}{0}", "1{0}\n", "\u0301{0}\u0301", "か{0}゛", "\u1100{0}\u11a8")
N_TOGETHER = 2000

EVERY_LEAD_BYTE = {bytes([byte]): "X" for byte in (*range(1, 0x80), *range(0xC2, 0xF5))}
"""Replaces all of any cluster that is short enough to be looked up, and each character of others: shows clusters."""


def bert(**flags: bool) -> dict[str, Any]:
    off = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False)
    return {"type": "BertNormalizer", **off, **flags}


NORMALIZERS: dict[str, dict[str, Any]] = {
    **{name: {"type": name} for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")},
    "controls": bert(clean_text=True),
    "Han": bert(handle_chinese_chars=True),
    "nonspacing marks": bert(strip_accents=True),
    "graphemes": charsmap_stage(EVERY_LEAD_BYTE),
}
PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    **{
        name: {"type": name}
        for name in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts")
    },
    "Punctuation": {"type": "Punctuation", "behavior": "Removed"},
    "Digits": {"type": "Digits", "individual_digits": True},
    "ByteLevel": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, "trim_offsets": False},
}
MEMBERS: dict[str, dict[str, Any]] = {
    **{name: {"normalizer": stage, "pre_tokenizer": CHARACTERS} for name, stage in NORMALIZERS.items()},
    **{name: {"pre_tokenizer": stage} for name, stage in PRE_TOKENIZERS.items()},
    "word characters": {"added_tokens": [added("a", 1, single_word=True), added("1", 2, single_word=True)]},
    "blanks": {"added_tokens": [added("a", 1, rstrip=True), added("b", 2, lstrip=True)]},
}


def changes() -> set[int]:
    """Where a set of any table begins or ends."""
    tables: list[Any] = [*vars(reference_tables).values(), *vars(unicode_ranges).values()]
    words = itertools.chain.from_iterable(
        table.values() if isinstance(table, dict) else [table] for table in tables
    )
    found: set[int] = set()
    for text in words:
        if isinstance(text, str) and text.replace(" ", "").isalnum() and " " in text:
            found |= set(itertools.accumulate(int(word, 16) for word in text.split()))
    steps = (*reference_tables.LOWERCASE_17, *unicode_ranges.SIMPLE_FOLDING)
    return found | {edge for first, last, _, _ in steps for edge in (first, last, last + 1)}


def assert_same_on(twins: Twins, code_points: list[int]) -> None:
    for start in range(0, len(code_points), N_TOGETHER):
        chars = [chr(code_point) for code_point in code_points[start : start + N_TOGETHER]]
        twins.assert_same("\n".join(context.format(char) for char in chars for context in CONTEXTS))


@pytest.mark.parametrize("name", MEMBERS)
def test_code_points_where_tables_change(name: str, seed: int) -> None:
    """Around each change of a table, and on some code points at random, the stage does the library's."""
    edges = sorted(changes())
    assert len(edges) > 3000
    rng = random.Random(seed)
    chosen = {near for edge in rng.sample(edges, 400) for near in (edge - 1, edge)} | set(
        rng.sample(CODE_POINTS, 200)
    )
    assert_same_on(Twins(model=ONE_UNKNOWN, **MEMBERS[name]), sorted(chosen & set(CODE_POINTS)))


@pytest.mark.long
@pytest.mark.parametrize("name", NORMALIZERS)
def test_every_code_point_normalized(name: str) -> None:
    """Every code point between two letters becomes what the library makes of it."""
    twins = Twins(normalizer=NORMALIZERS[name])
    for text in every_code_point():
        ours = AlignedText.of(text)
        normalize(ours, twins.ours.pipeline.normalizer)
        assert ours.text == twins.theirs.normalizer.normalize_str(text)


@pytest.mark.long
@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_every_code_point_split(name: str) -> None:
    """Around every code point between two letters pieces begin and end where the library has it."""
    twins = Twins(pre_tokenizer=PRE_TOKENIZERS[name])
    for text in every_code_point():
        ours = pre_tokenize(AlignedText.of(text), twins.ours.pipeline.pre_tokenizer)
        assert [piece.text for piece in ours] == [
            piece for piece, _ in twins.theirs.pre_tokenizer.pre_tokenize_str(text)
        ]


def every_code_point() -> Iterator[str]:
    """Texts of 2,000 code points each."""
    for start in range(0, len(CODE_POINTS), N_TOGETHER):
        yield "".join(f"a{chr(code_point)}b\n" for code_point in CODE_POINTS[start : start + N_TOGETHER])


CLUSTER_PARTS = "a\r\n\x01\u0301\u200d\u0600\u0903\u1100\u1161\u11a8각가कत\u094d\u093c©👍🏽🇩🇪\u0e33\u0bbf"


@given(text=st.text(st.sampled_from(CLUSTER_PARTS), max_size=16))
@settings(max_examples=500)
def test_graphemes(text: str) -> None:
    """Clusters are the library's, as far as it shows them: by what is replaced as a whole."""
    library = normalizers.Precompiled(charsmap(EVERY_LEAD_BYTE)).normalize_str(text)
    clusters = list(graphemes(text))
    assert "".join(clusters) == text
    assert library == "".join(
        "X" if len(cluster.encode()) < 6 else "X" * len(cluster) for cluster in clusters
    )


def test_graphemes_of_an_example() -> None:
    """A flag, a family, a syllable of Devanagari, one of Hangul, a line end."""
    clusters = ["🇩🇪", "🇫🇷", "👩\u200d👩\u200d👧", "क्त", "각", "e\u0301", "\r\n", "\n"]
    assert list(graphemes("".join(clusters))) == clusters
