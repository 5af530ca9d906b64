"""Golden vectors: what the reference gave for a fixed set of texts, and what our encoder must give."""

from __future__ import annotations

import base64
import functools
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from tests.rank_files import OPEN_NAMES, ours, rank_file

GOLDEN = Path(__file__).parents[1] / "data" / "golden"


@functools.cache
def rows(name: str) -> list[dict[str, Any]]:
    """The vectors of one vocabulary.

    `ids`: control tokens spelled in the text are text; `ids_special`: they are control tokens. `pieces` are the bytes
    of each token of `ids`, `byte_offsets` its span in the UTF-8 of the text, `char_starts` the code point it starts
    in. `decoded` and `decoded_special` are the texts of the two id lists.
    """
    text = lzma.decompress((GOLDEN / f"{name}.jsonl.xz").read_bytes()).decode("ascii")
    return [json.loads(line) for line in text.splitlines()]


def different(name: str, ask: Any) -> list[str]:
    """The ids of the vectors for which `ask(encoder, row)` gives two different things."""
    encoder = ours(name)
    return [row["id"] for row in rows(name) if (pair := ask(encoder, row))[0] != pair[1]]


def test_every_vocabulary_has_its_vectors() -> None:
    """META.json names each file, its rows and the artifact they were made with."""
    meta = json.loads((GOLDEN / "META.json").read_text())["vocabularies"]
    assert sorted(meta) == sorted(OPEN_NAMES) == sorted(p.name.split(".")[0] for p in GOLDEN.glob("*.xz"))
    assert {name: len(rows(name)) for name in meta} == {name: entry["rows"] for name, entry in meta.items()}
    assert min(len(rows(name)) for name in meta) > 200


@pytest.mark.parametrize("name", OPEN_NAMES)
class TestGolden:
    def test_ids_with_control_tokens_as_text(self, name: str) -> None:
        """By default a control token's spelling is ordinary text."""
        assert different(name, lambda e, row: (e.encode(row["text"]).ids, row["ids"])) == []

    def test_ids_with_control_tokens_allowed(self, name: str) -> None:
        """Under `allow` a control token's spelling becomes its id."""
        assert (
            different(name, lambda e, row: (e.encode(row["text"], special="allow").ids, row["ids_special"]))
            == []
        )

    def test_counts(self, name: str) -> None:
        """count is the number of ids, for each policy."""
        assert different(name, lambda e, row: (e.count(row["text"]), row["count"])) == []
        assert (
            different(name, lambda e, row: (e.count(row["text"], special="allow"), len(row["ids_special"])))
            == []
        )

    def test_token_bytes(self, name: str) -> None:
        """Each token stands for the bytes the reference says."""

        def ask(encoder: Any, row: dict[str, Any]) -> tuple[object, object]:
            return encoder.encode(row["text"]).token_bytes(), [base64.b64decode(p) for p in row["pieces"]]

        assert different(name, ask) == []

    def test_byte_spans(self, name: str) -> None:
        """Byte spans are the reference's."""

        def ask(encoder: Any, row: dict[str, Any]) -> tuple[object, object]:
            return encoder.encode(row["text"]).offsets("byte"), [tuple(span) for span in row["byte_offsets"]]

        assert different(name, ask) == []

    def test_code_point_starts(self, name: str) -> None:
        """A token starts in the code point that the reference says."""

        def ask(encoder: Any, row: dict[str, Any]) -> tuple[object, object]:
            spans = encoder.encode(row["text"]).offsets("codepoint")
            return [start for start, _ in spans], row["char_starts"]

        assert different(name, ask) == []

    def test_decoded_text(self, name: str) -> None:
        """Both id lists decode to the reference's text."""
        assert different(name, lambda e, row: (e.decode(row["ids"]), row["decoded"])) == []
        assert different(name, lambda e, row: (e.decode(row["ids_special"]), row["decoded_special"])) == []

    def test_control_tokens_are_found_where_the_reference_has_them(self, name: str) -> None:
        """find_control_tokens reports the ids that `allow` gives, in order, with their spans."""
        control = set(rank_file(name).special_tokens.values())

        def ask(encoder: Any, row: dict[str, Any]) -> tuple[object, object]:
            text = row["text"].encode()
            found = encoder.find_control_tokens(row["text"])
            assert [text[start:end].decode() for _, _, start, end in found] == [token for token, *_ in found]
            return [token_id for _, token_id, _, _ in found], [i for i in row["ids_special"] if i in control]

        assert different(name, ask) == []
