"""What is found in an artifact is said in full to programs and in short to people."""

from __future__ import annotations

import json

import pytest
import tokenwire_core
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import Encoder
from tokenwire_server.tools import findings
from tokenwire_server.tools.model_proto import read_model

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


def test_a_tokenizer_json_is_described_without_a_reader() -> None:
    """Types of the steps, sizes, and added tokens by their flag; unflagged chat markers are proposed."""
    found = findings.of_document(json.loads(other_formats.tokenizer_json()))
    assert found["model"] == "BPE"
    assert found["vocab_size"] == 6
    assert found["n_tokens"] == 6
    assert found["normalizer"] == ["NFC", "Lowercase"]
    assert found["pre_tokenizer"] == ["Whitespace"]
    assert found["post_processor"] == []
    assert found["special_tokens"] == ["[UNK]"]
    assert found["added_tokens"] == ["<think>", "<table>"]
    assert found["proposed_control_tokens"] == ["<think>"]
    assert any("<think>" in warning for warning in findings.warnings(found))


@pytest.mark.parametrize(
    "parts",
    [
        {"model": {"vocab": []}},
        {"model": {"vocab": {"a": "x", "b": None}, "type": 5}},
        {"model": {"vocab": [[], ["a", -1.0], 7, None]}},
        {"added_tokens": 5},
        {"added_tokens": [None, {}, {"id": "x", "content": 7, "special": "yes"}]},
        {"normalizer": [], "pre_tokenizer": {"pretokenizers": 5}, "decoder": {"decoders": [None, 5, {}]}},
    ],
)
def test_a_strange_tokenizer_json_is_still_described(parts: dict[str, object]) -> None:
    """Whatever types the parts have, there is a description and no exception."""
    assert list(findings.lines(findings.of_document(json.loads(other_formats.tokenizer_json(**parts)))))


def test_a_sentencepiece_model_is_described_without_a_reader() -> None:
    """Pieces by type, the model's type and its normalizer."""
    found = findings.of_model(read_model(other_formats.sentencepiece_model()))
    assert found["model"] == "bpe"
    assert found["normalizer"] == "identity"
    assert found["vocab_size"] == len(other_formats.PIECES)
    assert found["n_tokens"] == len(other_formats.PIECES) - 1
    assert found["special_tokens"] == ["<s>", "</s>"]
    assert found["added_tokens"] == ["<think>"]
    assert found["proposed_control_tokens"] == ["<think>"]
    assert found["byte_fallback"] is False


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
        "n_tokens": 5,
        "flag": True,
    }
    lines = list(findings.lines(found))
    assert len(lines) == len(found)
    assert all(line.isprintable() and len(line) < 2000 for line in lines)
