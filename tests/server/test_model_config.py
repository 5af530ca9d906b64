"""Model bundles: configurations as they are published, and each way in which one does not fit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenwire_core
from tokenwire_server.tools import model_config
from tokenwire_server.tools.model_config import BundleCheck

from tests.server import made_up

ENCODER = tokenwire_core.load(
    made_up.rank_file(), pattern=made_up.GPT2_PATTERN, special_tokens=made_up.SPECIAL_TOKENS
)
"""Ids 0 to 261, a hole, then the control tokens 300 and 301."""

Files = dict[str, Any]


def check(folder: Path, config: object, **others: object) -> BundleCheck:
    """Check a bundle of these files; a name stands without `.json`."""
    for name, document in {"config": config, **others}.items():
        text = document if isinstance(document, str) else json.dumps(document)
        (folder / f"{name}.json").write_text(text)
    return model_config.check(ENCODER, folder)


def reasons(found: BundleCheck) -> list[str]:
    assert all(item.message for item in found.findings)
    return [item.reason for item in found.findings]


GOOD = {"vocab_size": 302, "bos_token_id": 300, "eos_token_id": 300, "pad_token_id": 301}
AS_TEXT = {"text_config": GOOD, "vision_config": {"vocab_size": 9, "eos_token_id": 7}, "vocab_size": None}


@pytest.mark.parametrize(
    "config",
    [
        GOOD,
        {**GOOD, "eos_token_id": [300, 301]},
        {**GOOD, "bos_token_id": None, "pad_token_id": -1},
        {"vocab_size": 302},
        {"padded_vocab_size": 320, "eos_token_id": 301},
        AS_TEXT,
        {"llm_config": GOOD, "vision_config": {}},
        {"language_config": GOOD, "aligner_config": {}},
        {"thinker_config": {"text_config": GOOD}, "talker_config": {"vocab_size": 8, "bos_token_id": 7}},
        {"decoder": GOOD, "encoder": {"vocab_size": 1}, "decoder_start_token_id": 300},
        {"text_config": {**GOOD, "vocab_size": 310}, "vocab_size": 100},
        {"model_type": "mllama", "text_config": {"vocab_size": 294}},
        {"vocab_size": 300, "additional_vocab_size": 2, "eos_token_id": 301},
        {**GOOD, "additional_vocab_size": 0},
        {**GOOD, "image_token_index": -200, "model_type": ["odd"]},
    ],
)
def test_a_bundle_that_fits_has_no_findings(tmp_path: Path, config: Files) -> None:
    """Flat and nested configurations, lists, nulls and -1, as they are published."""
    assert check(tmp_path, config).findings == []


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({**GOOD, "vocab_size": 301}, ["ID_BEYOND_EMBEDDING", "ID_BEYOND_EMBEDDING"]),
        ({"text_config": {"vocab_size": 299}, "vocab_size": 400}, ["ID_BEYOND_EMBEDDING"]),
        ({"model_type": "mllama", "text_config": {"vocab_size": 293}}, ["ID_BEYOND_EMBEDDING"]),
        ({"vocab_size": 300, "additional_vocab_size": 1}, ["ID_BEYOND_EMBEDDING"]),
        ({**GOOD, "pad_token_id": 302}, ["ID_BEYOND_EMBEDDING"]),
        ({**GOOD, "vocab_size": 400, "pad_token_id": 302}, ["UNKNOWN_SPECIAL"]),
        ({**GOOD, "pad_token_id": 270}, ["UNKNOWN_SPECIAL"]),
        ({**GOOD, "eos_token_id": [300, 97]}, ["NOT_CONTROL"]),
        ({**GOOD, "bos_token_id": 1}, ["NOT_CONTROL"]),
        ({**GOOD, "pad_token_id": 1}, []),
        ({**GOOD, "decoder_start_token_id": 299}, ["UNKNOWN_SPECIAL"]),
        ({**GOOD, "text_config": {"eos_token_id": 301}}, ["SPECIAL_ID_MISMATCH"]),
        ({}, ["NO_EMBEDDING_SIZE"]),
        ({"text_config": {"hidden_size": 1}}, ["NO_EMBEDDING_SIZE"]),
    ],
)
def test_an_id_that_does_not_fit_is_named(tmp_path: Path, config: Files, expected: list[str]) -> None:
    """Each id against the rows, the vocabulary and the control tokens."""
    assert reasons(check(tmp_path, config)) == expected


def test_padding_rows_are_fine_and_stated(tmp_path: Path) -> None:
    """More rows than ids hold, and the numbers are told; the exact size is not remarked on."""
    assert check(tmp_path, {"vocab_size": 302}).notes == []
    (note,) = check(tmp_path, {"vocab_size": 320}).notes
    assert "320 rows, 18 more than ids" in note


def test_a_generation_config_may_name_more_ends(tmp_path: Path) -> None:
    """Lists agree that have an id in common; without one they are a mismatch that names both."""
    config = {**GOOD, "eos_token_id": 300}
    assert check(tmp_path, config, generation_config={"eos_token_id": [301, 300]}).findings == []
    (finding,) = check(tmp_path, config, generation_config={"eos_token_id": 301}).findings
    assert finding.reason == "SPECIAL_ID_MISMATCH"
    assert "300 in config.json" in finding.message
    assert "301 in generation_config.json" in finding.message


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        ({"eos_token": "<|end|>", "pad_token": {"content": "<|pad|>", "lstrip": False}}, []),
        ({"eos_token": None, "bos_token": "", "unk_token": "the"}, []),
        ({"eos_token": "<|pad|>"}, ["SPECIAL_ID_MISMATCH"]),
        ({"eos_token": {"__type": "AddedToken", "content": "</s>"}}, ["UNKNOWN_SPECIAL"]),
        ({"unk_token": "x" * 1_000_000}, ["UNKNOWN_SPECIAL"]),
        ({"unk_token": "\ud800"}, ["UNKNOWN_SPECIAL"]),
        ({"additional_special_tokens": ["<|end|>", {"content": "<|pad|>"}]}, []),
        ({"additional_special_tokens": ["<|im_end|>"]}, ["UNKNOWN_SPECIAL"]),
        ({"additional_special_tokens": ["the"]}, ["NOT_CONTROL"]),
        ({"extra_special_tokens": {"image_token": "<|pad|>"}}, []),
        ({"added_tokens_decoder": {"300": {"content": "<|end|>", "special": True}}}, []),
        ({"added_tokens_decoder": {"301": {"content": "<|end|>", "special": True}}}, ["SPECIAL_ID_MISMATCH"]),
        ({"added_tokens_decoder": {"260": {"content": "the", "special": True}}}, ["NOT_CONTROL"]),
        ({"added_tokens_decoder": {"260": {"content": "the", "special": False}}}, []),
        ({"added_tokens_decoder": {"302": {"content": "<x>"}}}, ["UNKNOWN_SPECIAL"]),
        ({"eos_token": 300}, ["BAD_MODEL_CONFIG"]),
        ({"eos_token": {"content": None}}, ["BAD_MODEL_CONFIG"]),
        ({"added_tokens_decoder": ["<|end|>"]}, ["BAD_MODEL_CONFIG"]),
        ({"added_tokens_decoder": {"300": "<|end|>"}}, ["BAD_MODEL_CONFIG"]),
    ],
)
@pytest.mark.parametrize("name", ["tokenizer_config", "special_tokens_map"])
def test_the_spellings_agree_with_the_tokenizer(
    tmp_path: Path, name: str, tokenizer: Files, expected: list[str]
) -> None:
    """Spelling by spelling against ids and control tokens, in both files that have spellings."""
    assert reasons(check(tmp_path, GOOD, **{name: tokenizer})) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"vocab_size": 302',
        '{"a":' * 5000,
        "[" * 2_000_000,
        '{"vocab_size": ' + "9" * 10_000 + "}",
        '{"vocab_size": 1e999}',
        '{"vocab_size": "302"}',
        '{"vocab_size": 302.0}',
        '{"vocab_size": true}',
        '{"vocab_size": 0}',
        '{"vocab_size": -302}',
        '{"vocab_size": 99999999999999999999}',
        '{"vocab_size": 302, "additional_vocab_size": "1"}',
        '{"vocab_size": 302, "eos_token_id": "300"}',
        '{"vocab_size": 302, "eos_token_id": [[300]]}',
        '{"vocab_size": 302, "eos_token_id": true}',
        '{"vocab_size": 302, "eos_token_id": {"a": 1}}',
        '{"vocab_size": 302, "eos_token_id": 1e3}',
        '{"vocab_size": 302, "eos_token_id": 99999999999999999999}',
        '{"vocab_size": 302, "text_config": []}',
        '{"vocab_size": 302, "text_config": "x"}',
        " " * (4 << 20) + '{"vocab_size": 302}',
        "\ud800",
    ],
)
def test_hostile_json_is_a_finding(tmp_path: Path, text: str) -> None:
    """Deep, long, huge and ill-typed JSON, in any file of the bundle, is BAD_MODEL_CONFIG and nothing worse."""
    data = text.encode("utf-8", "surrogatepass")
    (tmp_path / "config.json").write_bytes(data)
    assert "BAD_MODEL_CONFIG" in reasons(model_config.check(ENCODER, tmp_path))


@pytest.mark.parametrize("name", ["generation_config", "tokenizer_config", "special_tokens_map"])
def test_a_broken_neighbour_is_a_finding(tmp_path: Path, name: str) -> None:
    """A file beside config.json that cannot be read is told by its name."""
    (finding,) = check(tmp_path, GOOD, **{name: "["}).findings
    assert finding.reason == "BAD_MODEL_CONFIG"
    assert f"{name}.json" in finding.message


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


@pytest.mark.parametrize("make", [lambda _path: None, os.mkfifo, Path.mkdir, sparse])
def test_what_is_no_file_of_this_kind_is_a_finding(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A file that is not there, a pipe nobody writes to, a folder, and 1 GiB."""
    make(tmp_path / "config.json")
    assert reasons(model_config.check(ENCODER, tmp_path)) == ["BAD_MODEL_CONFIG"]


def test_deep_nests_end(tmp_path: Path) -> None:
    """Nests in nests are followed a few levels down and no further."""
    config: Files = {"vocab_size": 1}
    for _ in range(200):
        config = {"text_config": config}
    assert reasons(check(tmp_path, config)) == ["NO_EMBEDDING_SIZE"]


def test_messages_hold_no_line_breaks_or_long_spellings(tmp_path: Path) -> None:
    """What a file says is shown short and on one line."""
    found = check(tmp_path, GOOD, tokenizer_config={"eos_token": "\n\x1b[31m" * 9999})
    (finding,) = found.findings
    assert "\n" not in finding.message
    assert "\x1b" not in finding.message
    assert len(finding.message) < 400
