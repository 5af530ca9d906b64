"""tokenizer_config.json: the members that are read, in all spellings, and what is refused."""

from __future__ import annotations

import json

import pytest
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.tokenizer_config_json import (
    MAX_CHAT_TEMPLATES,
    MAX_CONFIG_BYTES,
    read_tokenizer_config,
)
from tokenwire_core.tokenizer_config import TokenizerConfig

TWICE = b'{"name": "x", "template": "y"}'
ADDED = {"__type": "AddedToken", "content": "</s>", "lstrip": False, "normalized": True}


def test_all_members() -> None:
    """Tokens are spellings or objects that have them; members of other libraries are not looked at."""
    content = {
        "add_bos_token": True,
        "added_tokens_decoder": {"0": ADDED},
        "bos_token": "<s>",
        "eos_token": ADDED,
        "unk_token": None,
        "pad_token": "",
        "chat_template": "{% for message in messages %}",
        "model_max_length": 4096,
    }
    config = read_tokenizer_config(json.dumps(content).encode())
    assert [config.bos_token, config.eos_token, config.unk_token, config.pad_token] == [
        "<s>",
        "</s>",
        None,
        "",
    ]
    assert config.model_max_length == 4096
    assert config.chat_templates == (("default", "{% for message in messages %}"),)


def test_named_chat_templates() -> None:
    """Several templates are kept by name, in order, however long."""
    long = "x" * 100_000
    content = {"chat_template": [{"name": "tool_use", "template": long}, {"name": "default", "template": ""}]}
    config = read_tokenizer_config(json.dumps(content).encode())
    assert config.chat_templates == (("tool_use", long), ("default", ""))


def test_no_members() -> None:
    """Where the file says nothing there is None."""
    assert read_tokenizer_config(b"{}") == TokenizerConfig()


@pytest.mark.parametrize(
    ("spelled", "length"),
    [
        ("512", 512),
        ("512.0", 512),
        ("2147483647", 2147483647),
        ("2147483648", None),
        ("1000000000000000019884624838656", None),
        ("1e30", None),
        ("null", None),
    ],
)
def test_lengths(spelled: str, length: int | None) -> None:
    """A length that no model has means that there is none."""
    config = read_tokenizer_config(b'{"model_max_length": ' + spelled.encode() + b"}")
    assert config.model_max_length == length


@pytest.mark.parametrize(
    ("reason", "path", "data"),
    [
        ("EMPTY", "tokenizer_config", b""),
        ("BAD_JSON", "tokenizer_config", b"{"),
        ("BAD_VALUE", "tokenizer_config", b"[]"),
        ("DUPLICATE_KEY", "tokenizer_config", b'{"a": 1, "a": 2}'),
        ("BAD_VALUE", "tokenizer_config.bos_token", b'{"bos_token": 1}'),
        ("BAD_VALUE", "tokenizer_config.bos_token", rb'{"bos_token": "\ud800"}'),
        ("MISSING_KEY", "tokenizer_config.bos_token", b'{"bos_token": {}}'),
        ("BAD_VALUE", "tokenizer_config.model_max_length", b'{"model_max_length": 0}'),
        ("BAD_VALUE", "tokenizer_config.model_max_length", b'{"model_max_length": true}'),
        ("BAD_VALUE", "tokenizer_config.model_max_length", b'{"model_max_length": "512"}'),
        ("BAD_VALUE", "tokenizer_config.chat_template", b'{"chat_template": 5}'),
        ("BAD_VALUE", "tokenizer_config.chat_template", rb'{"chat_template": "\ud800"}'),
        ("BAD_VALUE", "tokenizer_config.chat_template[0]", b'{"chat_template": ["x"]}'),
        ("MISSING_KEY", "tokenizer_config.chat_template[0]", b'{"chat_template": [{"name": "x"}]}'),
        (
            "BAD_VALUE",
            "tokenizer_config.chat_template",
            b'{"chat_template": [' + TWICE + b"," + TWICE + b"]}",
        ),
        (
            "BAD_VALUE",
            "tokenizer_config.chat_template",
            b'{"chat_template": [' + b",".join([b"{}"] * (MAX_CHAT_TEMPLATES + 1)) + b"]}",
        ),
        ("TOO_LARGE", "tokenizer_config", b" " * (MAX_CONFIG_BYTES + 1)),
    ],
)
def test_refusals(reason: str, path: str, data: bytes) -> None:
    """Every mistake has a reason and a place."""
    with pytest.raises(ArtifactError) as caught:
        read_tokenizer_config(data)
    assert (caught.value.reason, caught.value.path) == (reason, path)
