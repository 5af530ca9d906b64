"""The identity of a tokenizer."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core.formats.tiktoken_ranks import read_tiktoken_ranks
from tokenwire_core.spec import RankFileSpec, canonical_json

from tests.core import made_up
from tests.rank_files import rank_file

PUBLISHED = {
    "cl100k_base": "ca1a961b1f5a298796288fc3d87af5a145e1623f8a3d56416529639ad7cd8d6b",
    "o200k_base": "6698135781c3fe10126fd7597383325dc427225d751a676c24260ec60a3f9989",
}


def small_spec() -> RankFileSpec:
    return read_tiktoken_ranks(
        made_up.rank_file([b"ab"]), pattern=made_up.WHOLE, special_tokens={"<z>": 300, "<a>": 301}
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_digest_is_the_published_one(name: str) -> None:
    """A rank file, its pattern and its special tokens have one identity, the same in every version."""
    file = rank_file(name)
    spec = read_tiktoken_ranks(file.data, pattern=file.pattern, special_tokens=file.special_tokens)
    assert spec.digest == PUBLISHED[name]


CHANGES: dict[str, Callable[[RankFileSpec], RankFileSpec]] = {
    "another file": lambda spec: dataclasses.replace(spec, files=("0" * 64,)),
    "another format": lambda spec: dataclasses.replace(spec, format="other"),
    "another pattern": lambda spec: dataclasses.replace(spec, pattern=spec.pattern + "+"),
    "another id": lambda spec: dataclasses.replace(spec, special_tokens={"<z>": 300, "<a>": 302}),
    "another spelling": lambda spec: dataclasses.replace(spec, special_tokens={"<z>": 300, "<b>": 301}),
    "ids exchanged": lambda spec: dataclasses.replace(spec, special_tokens={"<z>": 301, "<a>": 300}),
    "no special tokens": lambda spec: dataclasses.replace(spec, special_tokens={}),
    "a chosen control token": lambda spec: dataclasses.replace(spec, chosen_control_tokens=("<a>",)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_decides_the_ids_decides_the_digest(
    change: Callable[[RankFileSpec], RankFileSpec],
) -> None:
    """Two tokenizers that may differ in an id differ in their digest."""
    assert change(small_spec()).digest != small_spec().digest


def test_the_order_of_special_tokens_is_not_in_the_digest() -> None:
    """A mapping is the same whichever entry comes first."""
    turned = dict(reversed(list(small_spec().special_tokens.items())))
    assert dataclasses.replace(small_spec(), special_tokens=turned).digest == small_spec().digest


def test_vocab_size_is_the_highest_id_and_one() -> None:
    """Holes count, and special tokens too."""
    assert small_spec().vocab_size == 302
    assert dataclasses.replace(small_spec(), special_tokens={}).vocab_size == 257


def test_canonical_json_is_as_rfc_8785_writes_it() -> None:
    """The escapes of section 3.2.2.2: short ones where there are, \\u00xx in lower case, all else as it is."""
    assert canonical_json({"b": '\x0f\n"\\/\x7f€\u2028😂', "a": [1, "ö"]}) == (
        '{"a":[1,"ö"],"b":"\\u000f\\n\\"\\\\/\x7f€\u2028😂"}'.encode()
    )


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_canonical_json_holds_what_it_was_given(text: str) -> None:
    """No two texts have one canonical form."""
    assert json.loads(canonical_json({"pattern": text})) == {"pattern": text}
