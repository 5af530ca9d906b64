"""What is found in an artifact is said in full to programs and in short to people."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tokenwire_core
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import Encoder
from tokenwire_server.tools import findings

from tests.server import made_up, other_formats


def encoder(extra: dict[bytes, int] | None = None, pattern: str = made_up.GPT2_PATTERN) -> Encoder:
    return tokenwire_core.load(
        made_up.rank_file(made_up.RANKS | (extra or {})),
        pattern=pattern,
        special_tokens=made_up.SPECIAL_TOKENS,
    )


def test_a_rank_file_is_described_in_full() -> None:
    """The table has the figures of the vocabulary, with holes and special tokens counted once."""
    found = findings.of_encoder(encoder())
    assert found["format"] == "tiktoken"
    assert found["model"] == "byte_level_bpe"
    assert found["vocab_size"] == 302
    assert found["n_tokens"] == len(made_up.RANKS) + 2
    assert found["n_tokens"] + found["n_holes"] == found["vocab_size"]
    assert found["n_single_bytes"] == 256
    assert (found["longest_token"], found["longest_token_bytes"]) == ("abc", 3)
    assert found["pattern_runs"] == "compiled"
    assert found["special_tokens"] == made_up.SPECIAL_TOKENS
    assert found["control_tokens"] == list(made_up.SPECIAL_TOKENS)
    assert found["n_unreachable"] == 0
    assert found["digest"] == encoder().digest
    assert list(findings.warnings(found)) == []
    assert json.loads(json.dumps(found)) == found


def test_unreachable_entries_are_counted_and_shown() -> None:
    """Entries that no merges lead to are counted in full, and the last few are examples."""
    found = findings.of_encoder(encoder({b"xyz": 270, b"xyzzy": 271, b"uvw": 272, b"rst": 273}))
    assert found["n_unreachable"] == 4
    assert found["unreachable_examples"] == ["rst", "uvw", "xyzzy"]


def test_examples_are_looked_for_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for examples ends with its steps, however long the tokens are; the count is exact all the same."""
    monkeypatch.setattr(findings, "_MAX_MERGE_STEPS", 100)
    found = findings.of_encoder(encoder({b"xyz": 270, b"uvw" * 300: 271}))
    assert found["n_unreachable"] == 2
    assert found["unreachable_examples"] == []


def test_ordinary_entries_that_look_like_control_tokens_are_a_warning() -> None:
    """An ordinary entry spelled like a chat marker is listed: in a rank file it cannot be made a control token."""
    found = findings.of_encoder(encoder({b"<|im_start|>": 270, b"<table>": 271, b"\xff<": 272}))
    assert found["ordinary_like_control"] == ["<|im_start|>"]
    assert any("<|im_start|>" in warning for warning in findings.warnings(found))


def test_a_pattern_on_the_regex_engine_and_no_special_tokens_are_warnings() -> None:
    """What makes a tokenizer slow or incomplete is said."""
    found = findings.of_encoder(encoder(pattern=made_up.OWN_PATTERN))
    assert found["pattern_runs"] == "on the regex engine, slower"
    assert len(list(findings.warnings(found))) == 1
    assert len(list(findings.warnings(found | {"special_tokens": {}}))) == 2


def test_many_holes_are_a_warning() -> None:
    """Special tokens of another vocabulary leave ids that are no token."""
    spec = tokenwire_core.load(
        made_up.rank_file(), pattern=made_up.GPT2_PATTERN, special_tokens={"<|end|>": 5000}
    )
    (warning,) = findings.warnings(findings.of_encoder(spec))
    assert "4,738 ids" in warning


@pytest.mark.parametrize(
    "spelling",
    [
        "<think>",
        "</think>",
        "<|im_start|>",
        "<|endoftext|>",
        "[INST]",
        "[/INST]",
        "[TOOL_CALLS]",
        "[AVAILABLE_TOOLS]",
        "<<SYS>>",
        "<｜User｜>",
        "<｜end▁of▁sentence｜>",
        "<start_of_turn>",
        "</tool_call>",
        "<eos>",
    ],
)
def test_chat_markers_are_recognised(spelling: str) -> None:
    """The spellings of chat templates look like control tokens."""
    assert findings.looks_like_control(spelling)


@pytest.mark.parametrize(
    "spelling",
    [
        "",
        "<",
        "think",
        "<table>",
        "</p>",
        "<unused7>",
        "<0x0A>",
        "[0]",
        "[A]",
        "<T>",
        "<|",
        "|>",
        "<| |>",
        "[NAME]",
        "  ",
    ],
)
def test_vocabulary_is_left_alone(spelling: str) -> None:
    """Tags of HTML, placeholders, bytes and code are ordinary vocabulary."""
    assert not findings.looks_like_control(spelling)


def found_in(data: bytes, format: Any, **options: Any) -> findings.Findings:
    return findings.of_encoder(tokenwire_core.load(data, format, **options))


def test_a_tokenizer_json_is_described() -> None:
    """Its stages, sizes, and added tokens by their flag; unflagged chat markers are proposed as control tokens."""
    found = found_in(other_formats.tokenizer_json(), "hf_json")
    assert found["model"] == "bpe"
    assert found["vocab_size"] == found["n_tokens"] == 6
    assert found["n_holes"] == found["n_unreachable"] == 0
    assert found["normalizer"] == ["NFC", "Lowercase"]
    assert found["pre_tokenizer"] == ["Whitespace"]
    assert found["post_processor"] == []
    assert found["special_tokens"] == {"[UNK]": 0}
    assert found["control_tokens"] == []  # The unknown token steers no model.
    assert found["added_tokens"] == ["<think>", "<table>"]
    assert found["proposed_control_tokens"] == ["<think>"]
    assert any("<think>" in warning for warning in findings.warnings(found))
    assert json.loads(json.dumps(found)) == found


def test_what_becomes_of_a_control_token_that_is_text_is_shown() -> None:
    """For each control token the tokens that its spelling splits into, which never are itself."""
    found = found_in(other_formats.tokenizer_json(), "hf_json", control_tokens=["<think>"])
    assert found["proposed_control_tokens"] == []
    assert found["control_tokens"] == ["<think>"]
    assert found["control_tokens_as_text"] == {"<think>": " + ".join(["[UNK]"] * 7)}
    found = found_in(other_formats.sentencepiece_model(), "sentencepiece")
    assert list(found["control_tokens_as_text"]) == ["<s>", "</s>"]
    assert "<s>" not in found["control_tokens_as_text"].values()


def test_entries_that_no_merge_makes_are_counted() -> None:
    """Of byte-pair encoding, beside single characters and the unknown token; the last few are examples."""
    vocab = {**other_formats.VOCAB, "ba": 4, "abc": 5}
    model = {"type": "BPE", "vocab": vocab, "merges": ["a b"], "unk_token": "[UNK]"}
    added = [
        {"id": 6, "content": "<x>", "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    ]
    found = found_in(other_formats.tokenizer_json(model=model, added_tokens=added), "hf_json")
    assert found["n_unreachable"] == 2
    assert found["unreachable_examples"] == ["abc", "ba"]


def test_a_tokenizer_config_is_described() -> None:
    """Its tokens, length and templates; one that no added token is spelled like is a warning."""
    config = {"bos_token": "[UNK]", "eos_token": "<end>", "model_max_length": 512, "chat_template": "x"}
    found = found_in(other_formats.tokenizer_json(), "hf_json", tokenizer_config=json.dumps(config).encode())
    assert found["tokenizer_config"] == {
        "bos_token": "[UNK]",
        "eos_token": "<end>",
        "model_max_length": 512,
        "chat_templates": ["default"],
    }
    assert any(
        warning.startswith("eos_token of the tokenizer_config") for warning in findings.warnings(found)
    )


def test_a_sentencepiece_model_is_described() -> None:
    """Pieces by type, the model's type and its normalizer."""
    found = found_in(other_formats.sentencepiece_model(), "sentencepiece")
    assert found["model"] == "bpe"
    assert found["normalizer"][0].startswith('NormalizerSpec(name="identity"')
    assert found["vocab_size"] == len(other_formats.PIECES)
    assert found["n_tokens"] == len(other_formats.PIECES) - 1
    assert found["n_unused"] == 1
    assert found["special_tokens"] == {"<s>": 1, "</s>": 2}
    assert found["added_tokens"] == ["<think>"]
    assert found["proposed_control_tokens"] == ["<think>"]


def test_long_lists_are_cut_in_the_middle() -> None:
    """Up to `MOST_SHOWN` tokens are all shown; of more the first, the last and their number."""
    tokens = {f"<|t{n}|>": n for n in range(findings.MOST_SHOWN + 1)}
    (line,) = findings.lines({"special_tokens": dict(list(tokens.items())[:-1])})
    assert all(token in line for token in list(tokens)[:-1])
    (line,) = findings.lines({"special_tokens": tokens})
    assert "<|t0|> = 0" in line
    assert "<|t12|> = 12 (13 in all)" in line
    assert "<|t6|>" not in line


@given(st.text(), st.lists(st.text(), max_size=20))
def test_a_line_is_a_line(spelling: str, tokens: list[str]) -> None:
    """Whatever tokens are spelled like, each finding is one printable line of bounded length."""
    found = {
        "longest_token": spelling,
        "pattern": spelling,
        "added_tokens": tokens,
        "normalizer": tokens,
        "control_tokens_as_text": {spelling: spelling},
        "n_tokens": 5,
        "flag": True,
    }
    lines = list(findings.lines(found))
    assert len(lines) == len(found)
    assert all(line.isprintable() and len(line) < 2000 for line in lines)
