"""docs/families.md tells the truth: what a control token that a user types splits into, artifact by artifact."""

from __future__ import annotations

import re

import pytest
from tokenwire_core import Encoder
from tokenwire_server import embedded
from tokenwire_server.artifacts import embedded_encoder

from tests.artifact_files import PULLED_NAMES, ours
from tests.service import ROOT

PAGE = (ROOT / "docs" / "families.md").read_text()
CELL = re.compile(r"`([^`]+)`")


def rows() -> list[tuple[str, str, list[str]]]:
    """Artifact, spelling and pieces of each row of the table; a bar in a cell is escaped there."""
    found = []
    for line in PAGE.splitlines():
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        if len(cells) == 4 and CELL.search(cells[1]):
            name, spelling, *pieces = (
                text.replace(r"\|", "|") for cell in cells[1:] for text in CELL.findall(cell)
            )
            found.append((name, spelling, pieces))
    return found


def encoder(name: str) -> Encoder:
    if name in embedded.NAMES:
        return embedded_encoder(name)
    assert name in PULLED_NAMES, f"{name} is not an artifact that every run of the tests has"
    return ours(name)


@pytest.mark.parametrize(("name", "spelling", "pieces"), rows())
def test_a_typed_control_token_splits_as_documented(name: str, spelling: str, pieces: list[str]) -> None:
    """The pieces of the row are those of today, and the spelling is a control token."""
    tokenizer = encoder(name)
    assert spelling in tokenizer.control_tokens
    assert [piece.decode() for piece in tokenizer.encode(spelling).token_bytes()] == pieces


def test_every_family_has_a_row() -> None:
    """Each algorithm of an artifact that every run of the tests has is in the table."""
    models = {encoder(name).spec.model for name, _, _ in rows()}
    assert models >= {"byte_level_bpe", "bpe", "unigram", "wordpiece"}
