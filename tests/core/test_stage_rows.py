"""A normalizer or pre-tokenizer is a class, which is its row, and the compiled code that it names; there is no more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Self

import pytest
from tokenwire_core.describe import describe
from tokenwire_core.encoder import Encoder
from tokenwire_core.formats.hf_normalizers import NORMALIZERS
from tokenwire_core.formats.hf_pretokenizers import PRE_TOKENIZERS
from tokenwire_core.formats.hf_stages import row
from tokenwire_core.json_fields import Fields
from tokenwire_core.load import read_spec
from tokenwire_core.pipeline import Normalizer, PreTokenizer

from tests.core.hf_documents import WORDLEVEL, document, refusal

DOCUMENT = document(
    model=WORDLEVEL,
    normalizer={"type": "Swap", "from": "é", "to": "a"},
    pre_tokenizer={"type": "SplitAtBar"},
)


@pytest.fixture
def rows() -> Iterator[None]:
    """Two stages that no library has, done by code that is there."""

    @row(NORMALIZERS, compiled="replacing.replacer")
    class Swap(Normalizer):
        pattern: str
        content: str

        @classmethod
        def read(cls, fields: Fields) -> Self:
            return cls(fields.character("from"), fields.text("to"))

    @row(PRE_TOKENIZERS, compiled="split_stages.char_delimiter_split")
    class SplitAtBar(PreTokenizer):
        delimiter = "|"

    yield
    del NORMALIZERS["Swap"], PRE_TOKENIZERS["SplitAtBar"]


@pytest.mark.usefixtures("rows")
def test_a_row_is_all_that_is_added() -> None:
    """A stage with a row is read, compiled, run in places too, and described."""
    spec = read_spec(json.dumps(DOCUMENT).encode(), "hf_json")
    assert describe(spec).normalizer == ('Swap(pattern="é", content="a")',)
    assert describe(spec).pre_tokenizer == ("SplitAtBar",)
    found = Encoder(spec).encode("é|a|é")
    assert list(found.ids) == [1, 1, 1]
    assert list(found.offsets("byte")) == [(0, 2), (3, 4), (5, 7)]


def test_without_its_row_it_is_refused() -> None:
    """The row is what makes a stage known."""
    assert refusal(json.dumps(DOCUMENT).encode()).reason == "UNSUPPORTED_STAGE"
