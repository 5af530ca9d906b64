"""Golden vectors of tokenizer.json files and SentencePiece models: what the library gave, and what our encoder must.

Those of the artifacts that `make test` has are committed; the folder of reference data has them all.
"""

from __future__ import annotations

import functools
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenwire_core.encoder import Encoder
from tokenwire_core.segment import SpecialPolicy

from tests.artifact_files import PULLED_NAMES, TABLE, ours, theirs

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "artifacts"
COMMITTED = tuple(sorted(path.name.split(".")[0] for path in GOLDEN.glob("*.jsonl.xz")))
WITH_VECTORS = {
    "ai21_j2": 282, "bert_cased_config": 271, "cl100k_hf": 272, "claude_legacy": 273, "deepseek_v4": 283,
    "gemma3": 279, "gpt_oss": 282, "llama2": 266, "llama3_1": 282, "minilm_bert_uncased": 271, "mistral_v1": 266,
    "mistral_v1_hf": 266, "mistral_v3": 280, "moonshine": 280, "nepali_unigram": 272, "nepali_wordpiece": 271,
    "qwen3": 282, "sp_botchan_en_bpe": 266, "sp_botchan_en_unigram": 266, "sp_kyoto_ja_unigram": 266,
    "xlm_roberta": 268, "xlm_roberta_sp": 266,
}  # fmt: skip
"""How many vectors each artifact has."""
NAMES = tuple(name for name in WITH_VECTORS if name in COMMITTED or "TOKENWIRE_TEST_DATA" in os.environ)
"""Those that are here; without the reference data a test below says that the others are not."""
LEAKS = {"nepali_unigram": 13, "xlm_roberta": 9}
"""Vectors of which the library's `ids` have control tokens, because their spellings are ordinary Unigram entries."""

Row = dict[str, Any]
Ask = Callable[[Encoder, Row], tuple[object, object]]


@functools.lru_cache(2)
def rows(name: str) -> list[Row]:
    """The vectors of one artifact.

    `ids`: control tokens spelled in the text are text; `ids_special`: they are control tokens; `ids_template`: and
    what the artifact puts around a text is there (in SentencePiece, which has no `ids_special`, around `ids`).
    `pieces`, `byte_offsets` and `char_offsets` are the vocabulary's spelling of each token of `ids` and the library's
    places of it. `decoded` and `decoded_special` are the texts of two lists, `decoded_skip` without special tokens.
    """
    if name in COMMITTED:
        text = lzma.decompress((GOLDEN / f"{name}.jsonl.xz").read_bytes()).decode("ascii")
    else:
        text = Path(os.environ["TOKENWIRE_TEST_DATA"], "golden", f"{name}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def different(name: str, ask: Ask, *, with_leaks: bool = True) -> list[str]:
    """The ids of the vectors for which `ask(encoder, row)` gives two different things."""
    encoder = ours(name)
    return [
        row["id"]
        for row in rows(name)
        if (with_leaks or not is_leak(name, row)) and (pair := ask(encoder, row))[0] != pair[1]
    ]


def is_leak(name: str, row: Row) -> bool:
    return not theirs(name).control_ids.isdisjoint(row["ids"])


def has_special(name: str) -> bool:
    return TABLE[name].format == "hf_json"


def spans(offsets: list[list[int]]) -> list[tuple[int, int]]:
    return [(start, end) for start, end in offsets]


def test_what_is_committed_is_tested() -> None:
    """Every artifact of `make test` under a licence of ours has committed vectors."""
    own = {name for name in PULLED_NAMES if not TABLE[name].licence.startswith("LicenseRef")}
    assert set(COMMITTED) == own


def test_every_artifact_has_its_vectors(reference_data: Path) -> None:
    """The committed vectors and those of the reference data are the same, and none is left out."""
    files = {path.stem: path for path in (reference_data / "golden").glob("*.jsonl")}
    assert {name for name in files if name in TABLE} == set(WITH_VECTORS)
    for name in COMMITTED:
        theirs = {row["id"]: row for row in map(json.loads, files[name].read_text().splitlines())}
        assert len(theirs) == len(rows(name))
        assert [row["id"] for row in rows(name) if row != {key: theirs[row["id"]][key] for key in row}] == []


@pytest.mark.parametrize("name", [name for name in NAMES if has_special(name)], scope="module")
def test_ids_with_control_tokens_allowed(name: str) -> None:
    """Under `allow` a control token's spelling becomes its id, and is counted so."""

    def ask(encoder: Encoder, row: Row) -> tuple[object, object]:
        ids = encoder.encode(row["text"], special="allow").ids
        assert encoder.count(row["text"], special="allow") == len(ids), row["id"]
        return ids, row["ids_special"]

    assert different(name, ask) == []


@pytest.mark.parametrize("name", NAMES, scope="module")
class TestGolden:
    def test_number_of_vectors(self, name: str) -> None:
        """No vector is missing, and the library's own leaks are where they are known."""
        assert len(rows(name)) == WITH_VECTORS[name]
        assert sum(is_leak(name, row) for row in rows(name)) == LEAKS.get(name, 0)

    def test_ids_with_control_tokens_as_text(self, name: str) -> None:
        """By default a control token's spelling is ordinary text."""
        found = different(name, lambda e, row: (e.encode(row["text"]).ids, row["ids"]), with_leaks=False)
        assert found == []

    def test_no_control_token_comes_of_text(self, name: str) -> None:
        """Also where the library makes control tokens of text, we make what it makes without such entries."""
        control = theirs(name).control_ids

        def ask(encoder: Encoder, row: Row) -> tuple[object, object]:
            ids = encoder.encode(row["text"]).ids
            assert control.isdisjoint(ids), row["id"]
            return ids, theirs(name).ids([row["text"]])[0] if is_leak(name, row) else ids

        assert different(name, ask) == []

    def test_ids_with_what_is_put_around_a_text(self, name: str) -> None:
        """With `add_special` the template's tokens, or those that begin and end a text, are there."""
        special: SpecialPolicy = "allow" if has_special(name) else "text"

        def ask(encoder: Encoder, row: Row) -> tuple[object, object]:
            encoding = encoder.encode(row["text"], special=special, add_special=True)
            assert encoder.count(row["text"], special=special, add_special=True) == len(encoding.ids), row[
                "id"
            ]
            return encoding.ids, row["ids_template"]

        assert different(name, ask) == []

    def test_counts(self, name: str) -> None:
        """count is the number of ids."""
        found = different(name, lambda e, row: (e.count(row["text"]), row["count"]), with_leaks=False)
        assert found == []

    def test_offsets_of_the_reference(self, name: str) -> None:
        """In `reference` mode offsets are the library's, in code points and in bytes."""

        def ask(encoder: Encoder, row: Row) -> tuple[object, object]:
            encoding = encoder.encode(row["text"])
            return (
                [encoding.offsets(unit, reference=True) for unit in ("codepoint", "byte")],
                [spans(row["char_offsets"]), spans(row["byte_offsets"])],
            )

        assert different(name, ask, with_leaks=False) == []

    def test_decoded_text(self, name: str) -> None:
        """In `reference` mode the lists decode to the library's texts, with special tokens and without."""

        def ask(encoder: Encoder, row: Row) -> tuple[object, object]:
            decoded = [encoder.decode(row["ids"], reference=True)]
            expected = [row["decoded"]]
            if has_special(name):
                decoded += [
                    encoder.decode(row["ids_special"], skip_special=skip, reference=True)
                    for skip in (False, True)
                ]
                expected += [row["decoded_special"], row["decoded_skip"]]
            return decoded, expected

        assert different(name, ask) == []
