"""Public bug reports about artifacts that ask for a judgement: each test says what ours is and why."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
import tokenwire_core
from tokenwire_core.encoder import Encoder
from tokenwire_core.errors import ArtifactError

from tests import artifact_files
from tests.core.hf_documents import added, bpe, document
from tests.core.model_files import NORMAL, UNIGRAM, UNKNOWN, model_file
from tests.test_cases import ROWS, check_ids, load_inline, text_of


def load(content: Any) -> Encoder:
    """The encoder of a tokenizer.json."""
    return tokenwire_core.load(json.dumps(content).encode(), format="hf_json")


def refusal(data: bytes, format: str = "hf_json") -> ArtifactError:
    with pytest.raises(ArtifactError) as error:
        tokenwire_core.load(data, format=format)  # type: ignore[arg-type]
    return error.value


@pytest.mark.case("BR-010")
def test_a_pattern_that_backtracks() -> None:
    """The report's pattern is refused, as each with an edge such as `$` is: engines disagree on what it means. One as
    bad that is read becomes a table, which does not backtrack: a text a thousand times as long costs no more."""
    row = ROWS["BR-010"]
    content = row["artifacts"][0]["content"]
    assert refusal(json.dumps(content).encode()).reason == "UNSUPPORTED_PATTERN"
    split = content["pre_tokenizer"] | {"pattern": {"Regex": "(x+)+!"}}
    encoder = load(content | {"pre_tokenizer": split})
    assert encoder.splitter == "compiled"
    assert encoder.encode(text_of(row)).ids == [0] * 40 + [3]
    assert encoder.count("x" * 40_000 + ".") == 40_001


MARKERS = ["<think>", "</think>", "<tool_call>", "</tool_call>"]


@pytest.mark.case("BR-095")
def test_markers_that_are_not_flagged_special() -> None:
    """By default only tokens flagged special are kept out of user text, as in the reference: added tokens are also
    runs of blanks and tags, which are ordinary vocabulary. Whoever serves a chat model names its markers as
    `control_tokens`, and then they are safe as well."""
    content = bpe(vocab={char: id_ for id_, char in enumerate("<think>")}, merges=[], unk_token=None)
    content["added_tokens"] = [added("<think>", 7)]
    plain = load(content)
    assert plain.encode("<think>").ids == plain.encode("<think>", special="allow").ids == [7]
    data = json.dumps(content).encode()
    safe = tokenwire_core.load(data, format="hf_json", control_tokens=["<think>"])
    assert safe.encode("<think>").ids == [0, 1, 2, 3, 4, 5, 6]
    assert safe.count("<think>") == 7
    assert safe.encode("<think>", special="allow").ids == [7]
    assert safe.control_tokens == {"<think>": 7}


@pytest.mark.case("BR-095")
@pytest.mark.system
def test_markers_of_a_published_artifact() -> None:
    """Qwen3's markers under both judgements of the report: the reference's by default, the strict one when named."""
    row = ROWS["BR-095"]
    expected = row["expected"]["by_option"]
    text = text_of(row)
    plain = artifact_files.ours("qwen3")
    check_ids(plain.encode(text).ids, row["accept"][0]["by_option"]["escape"])
    check_ids(plain.encode(text, special="allow").ids, expected["allow"])
    safe = tokenwire_core.load(artifact_files.artifact("qwen3"), format="hf_json", control_tokens=MARKERS)
    check_ids(safe.encode(text).ids, expected["escape"])
    check_ids(safe.encode(text, special="allow").ids, expected["allow"])


@pytest.mark.case("BR-229")
def test_an_enormous_id() -> None:
    """An id beyond the bound of all ids is refused before anything is made for it: tables here are as long as the
    highest id, and no model has a row for it."""
    error = refusal(json.dumps(ROWS["BR-229"]["artifacts"][0]["content"]).encode())
    assert (error.reason, error.path) == ("BAD_VALUE", "model.vocab['e']")


@pytest.mark.case("BR-234")
@pytest.mark.parametrize(
    ("number", "reason"), [(0, "BAD_JSON"), (1, "BAD_JSON"), (2, "EMPTY"), (3, "BAD_JSON")]
)
def test_documents_that_are_not_json(number: int, reason: str) -> None:
    """Cut off, with a stray comma, empty: refused. So is a byte-order mark, as by the reference: JSON has none, and a
    file that an editor has rewritten is not the one that was published."""
    data = base64.b64decode(ROWS["BR-234"]["artifacts"][number]["content_b64"])
    assert refusal(data).reason == reason


@pytest.mark.case("BR-235")
def test_thousands_of_nested_stages() -> None:
    """3,000 sequences inside each other are refused while they are read, with no stack to overflow."""
    nested = '{"type": "Sequence", "normalizers": [' * 3000 + "]}" * 3000
    data = json.dumps(document(normalizer=0)).replace('"normalizer": 0', f'"normalizer": {nested}').encode()
    assert nested.encode() in data
    assert refusal(data).reason == "TOO_DEEP"


@pytest.mark.case("BR-248")
def test_a_piece_that_is_nul() -> None:
    """A model with a piece of NUL is refused by name, as by this version of the reference."""
    pieces = [("<unk>", 0.0, UNKNOWN), ("a", 0.0, NORMAL), ("\0", -1.0, NORMAL)]
    error = refusal(model_file(pieces, trainer={3: UNIGRAM}), "sentencepiece")
    assert error.reason == "BAD_PIECE"
    assert "NUL" in str(error)


@pytest.mark.case("BR-249")
def test_documents_of_a_newer_schema() -> None:
    """An unknown version is refused, and so is an unknown key, though the report would have it ignored: a flag that
    nobody here knows may decide ids, and wrong ids that nobody notices cost more than a refusal that names the key."""
    newer_key, newer_version = (
        refusal(json.dumps(artifact["content"]).encode()) for artifact in ROWS["BR-249"]["artifacts"]
    )
    assert (newer_key.reason, newer_key.path) == ("UNKNOWN_KEY", "model.future_flag")
    assert (newer_version.reason, newer_version.path) == ("UNSUPPORTED_VERSION", "version")
    assert "2.0" in str(newer_version)


@pytest.mark.case("BR-282")
def test_a_rule_that_begins_another() -> None:
    """In a tokenizer.json the shortest rule wins, as in `tokenizers` 0.23, with whose ids models of such artifacts
    were trained and are served; the longest, as SentencePiece takes it, wins in a SentencePiece model."""
    row = ROWS["BR-282"]
    encoder = load_inline(row["artifacts"][0])
    (same_as_library,) = row["accept"]
    assert [encoder.encode(text).ids for text in row["input"]["texts"]] == same_as_library["ids_each"]
