"""No text becomes a control token unless it may: in no published artifact, whatever becomes of its spelling."""

from __future__ import annotations

import random
import re

import pytest
from tokenwire_core import Encoder

from tests.artifact_files import PULLED_NAMES, TABLE, ours
from tests.service import ROOT

CONTEXTS = ("{}", "a{}b", "a {} b", "{}{}", " {}", "{} ", "\n{}\n", "東{}京", "▁{}", "<{}>", "</{}")
MOST = 500
"""Control tokens of one artifact that are tried; some have tens of thousands."""
PAGE = (ROOT / "docs" / "families.md").read_text()
ROW = re.compile(r"^\| [^|]+ \| `(\w+)` \| `([^`]+)` \| ((?:`[^`]+` ?)+)\|$", re.M)


def chosen(encoder: Encoder) -> list[str]:
    tokens = sorted(encoder.control_tokens)
    return tokens if len(tokens) <= MOST else random.Random(0).sample(tokens, MOST)


@pytest.mark.parametrize(
    "name", [name if name in PULLED_NAMES else pytest.param(name, marks=pytest.mark.long) for name in TABLE]
)
def test_a_control_token_comes_from_no_text(name: str) -> None:
    """Alone, in words, beside blanks and itself, a spelling is text by default; allowed, it is the token."""
    encoder = ours(name)
    ids = frozenset(encoder.control_tokens.values())
    for token in chosen(encoder):
        for context in CONTEXTS:
            text = context.format(token, token)
            assert ids.isdisjoint(encoder.encode(text).ids), text
            assert encoder.control_tokens[token] in encoder.encode(text, special="allow").ids, text


def documented() -> list[tuple[str, str, list[str]]]:
    return [(name, spelling, re.findall("`([^`]+)`", pieces)) for name, spelling, pieces in ROW.findall(PAGE)]


def test_every_family_is_documented() -> None:
    """The page has a row for each algorithm of a published artifact."""
    assert len(documented()) >= 6


@pytest.mark.parametrize(("name", "spelling", "pieces"), documented())
def test_the_documented_splits_are_those_of_today(name: str, spelling: str, pieces: list[str]) -> None:
    """What the page says a typed control token becomes is what it becomes."""
    if name not in PULLED_NAMES:
        pytest.fail(f"{name} is not an artifact that every test run has")
    encoder = ours(name)
    assert spelling in encoder.control_tokens
    assert [piece.decode() for piece in encoder.encode(spelling).token_bytes()] == pieces
