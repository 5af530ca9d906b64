"""Model names: exact names and explicit prefixes, and nothing else."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server import models

if TYPE_CHECKING:
    from _typeshed import TraceFunction

NAMES: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "model_names.toml").read_text("utf-8"))
UNPUBLISHED, UNKNOWN = NAMES.pop("unpublished"), NAMES.pop("unknown")
KNOWN = [(name, tokenizer) for tokenizer, names in NAMES.items() for name in names]

NARROWED = {
    "gpt-5": ("gpt-50", None),
    "gpt-4-": ("gpt-4-o-preview", None),
    "ft:gpt-4o": ("ft:gpt-4omega", None),
    "ft:gpt-4": ("ft:gpt-4.1-2025-04-14", "o200k_base"),
    "ft:gpt-3.5-turbo": ("ft:gpt-3.5-turbomax", None),
    "ft:davinci-002": ("ft:davinci-0022", None),
    "ft:babbage-002": ("ft:babbage-0022", None),
}
"""The prefixes of tiktoken's that take names of other models too: such a name, and the tokenizer it has here."""


@pytest.mark.parametrize(("name", "tokenizer"), KNOWN)
def test_a_name_as_gateways_send_it_has_its_tokenizer(name: str, tokenizer: str) -> None:
    """Each name of the test table gives the tokenizer the model uses."""
    assert models.tokenizer_of(name) == tokenizer


@pytest.mark.parametrize("name", UNKNOWN)
def test_nothing_else_matches(name: str) -> None:
    """A name near a known one is unknown, not the known one, and no model without a public tokenizer either."""
    assert models.match(name) is None
    assert not models.is_unpublished(name)


@pytest.mark.parametrize("name", UNPUBLISHED)
def test_a_model_without_a_public_tokenizer_is_known_as_one(name: str) -> None:
    """A closed model gives no tokenizer, and the table says that there is none to be had."""
    assert models.match(name) is None
    assert models.is_unpublished(name)


def test_the_table_says_each_thing_once() -> None:
    """No name, prefix, gateway or variant stands twice in the data, and each row says what it rests on."""
    table = tomllib.loads((Path(models.__file__).parent / "data" / "models.toml").read_text("utf-8"))
    rows = [*table["tokenizer"], *table["unpublished"]]
    assert all(row["rests_on"] for row in rows)
    for key in ("models", "model_prefixes"):
        names = [name for row in rows for name in row.get(key, [])]
        assert len(names) == len(set(names))
    for part in (table["gateways"], table["variants"], *table["vendors"].values()):
        assert len(part) == len(set(part))


def test_the_test_table_has_each_tokenizer_and_no_name_twice() -> None:
    """Every tokenizer of the table is met by the names above, which are distinct."""
    assert set(NAMES) == set(models.KNOWN_MODELS.values())
    names = [*(name for name, _ in KNOWN), *UNPUBLISHED, *UNKNOWN]
    assert len(names) == len(set(names))


def test_each_tokenizer_is_documented() -> None:
    """The names a deployment can give to its tokenizers, so that models find them, stand in the documentation."""
    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    section = text[text.index("## Model names") :]
    assert [name for name in NAMES if f"`{name}`" not in section] == []


def test_a_tokenizer_is_known_by_its_own_name() -> None:
    """The name of a public tokenizer means that tokenizer, so that nothing else may take it; it has no gateway."""
    for tokenizer in NAMES:
        assert models.match(tokenizer) == models.Match(tokenizer, None)
    assert models.match("azure/o200k_base") is None


def test_exact_names_and_prefixes_never_disagree() -> None:
    """What begins with a whole exact name is not given to another tokenizer by a shorter prefix."""
    for name, tokenizer in models.KNOWN_MODELS.items():
        found = models.match(name + "\0")
        assert found is None or found.tokenizer == tokenizer, name


def test_no_prefix_that_means_nothing_takes_a_known_name() -> None:
    """Of a known name, each beginning that is not known itself is shorter than what the table knows it by."""
    for name, _ in KNOWN:
        found = models.match(name)
        assert found is not None
        for length in range(2, len(name) + 1):
            if models.match(name[:length]) is None:
                assert found.n_prefix is None or length < found.n_prefix, name[:length]


def test_every_exact_name_of_the_reference_agrees() -> None:
    """Each exact name of tiktoken's table gives the tokenizer it has there."""
    reference = pytest.importorskip("tiktoken.model")
    for model, tokenizer in reference.MODEL_TO_ENCODING.items():
        assert models.tokenizer_of(model) == tokenizer, model


def test_every_prefix_of_the_reference_agrees_or_is_narrowed_for_a_reason() -> None:
    """tiktoken's prefixes give what they give there, but for those that take names of other models too."""
    reference = pytest.importorskip("tiktoken.model")
    for prefix, theirs in reference.MODEL_PREFIX_TO_ENCODING.items():
        name, tokenizer = NARROWED.get(prefix, (prefix + "x", theirs))
        assert name.startswith(prefix)
        assert models.tokenizer_of(name) == tokenizer, prefix
    assert set(NARROWED) <= set(reference.MODEL_PREFIX_TO_ENCODING)


def test_a_name_both_tables_know_has_one_tokenizer_but_for_fine_tuned_models() -> None:
    """Of the names gateways send, tiktoken disagrees on fine-tuned models of gpt-4.1 and on no other."""
    reference = pytest.importorskip("tiktoken.model")
    for name, tokenizer in KNOWN:
        try:
            theirs = reference.encoding_name_for_model(name)
        except KeyError:
            continue
        assert theirs == tokenizer or (name.startswith("ft:gpt-4.1") and theirs == "cl100k_base"), name


@given(st.lists(st.text("ab/", min_size=1, max_size=6), max_size=12), st.text("ab/", max_size=9))
def test_the_longest_prefix_is_found(prefixes: list[str], name: str) -> None:
    """The sorted look-up gives what trying every prefix gives."""
    tried = [prefix for prefix in prefixes if name.startswith(prefix)]
    assert models.Names({}, dict.fromkeys(prefixes, "")).longest_prefix(name) == max(
        tried, key=len, default=None
    )


def work(call: Callable[[], object]) -> int:
    """The number of function calls and lines of Python a call takes."""
    events = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> TraceFunction:
        nonlocal events
        events += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return events


def test_a_look_up_does_not_grow_with_the_name() -> None:
    """A name of 4 KiB takes no more steps than a short one that is as unknown, and no name takes more than 200."""
    short = work(lambda: models.match("zz"))
    for long in ("z" * 4096, "/" * 4096, ":" * 4096, "azure/" + "gpt-4o" * 700, "openai/gpt-4:" * 300):
        assert work(lambda long=long: models.match(long)) <= short + 10  # type: ignore[misc]
    assert max(work(lambda name=name: models.match(name)) for name, _ in KNOWN) <= 200  # type: ignore[misc]
