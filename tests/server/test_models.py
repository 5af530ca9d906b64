"""Model names: exact names and explicit prefixes, and nothing else."""

from __future__ import annotations

import pytest
from tokenwire_server import models


@pytest.mark.parametrize(
    ("model", "tokenizer"),
    [
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-2024-08-06", "o200k_base"),
        ("chatgpt-4o-latest", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("gpt-5-mini", "o200k_base"),
        ("o1", "o200k_base"),
        ("o3-pro", "o200k_base"),
        ("o4-mini", "o200k_base"),
        ("ft:gpt-4o:acme:suffix:abc123", "o200k_base"),
        ("ft:gpt-4:acme:suffix:abc123", "cl100k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-32k", "cl100k_base"),
        ("gpt-3.5-turbo-0125", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("text-embedding-ada-002", "cl100k_base"),
        ("text-davinci-003", "p50k_base"),
        ("davinci", "r50k_base"),
        ("gpt-oss-120b", "o200k_harmony"),
    ],
)
def test_a_known_model_has_its_tokenizer(model: str, tokenizer: str) -> None:
    """A model name gives the tokenizer the model uses."""
    assert models.tokenizer_of(model) == tokenizer


@pytest.mark.parametrize(
    "name", ["", "gpt", "GPT-4o", "gpt-4o ", "my-gpt-4o", "o1x", "davinci-003", "claude"]
)
def test_nothing_else_matches(name: str) -> None:
    """A name near a known one is unknown, not the known one."""
    assert models.tokenizer_of(name) is None


def test_the_table_agrees_with_the_reference() -> None:
    """Every exact name and prefix of tiktoken's tables gives the tokenizer it has there."""
    reference = pytest.importorskip("tiktoken.model")
    for model, name in reference.MODEL_TO_ENCODING.items():
        assert models.tokenizer_of(model) == name, model
    for prefix, name in reference.MODEL_PREFIX_TO_ENCODING.items():
        assert models.tokenizer_of(prefix + "x") == name, prefix
    assert set(models.KNOWN_MODELS) <= set(reference.MODEL_TO_ENCODING)
