"""Places at the edges: tokens that stand for nothing in the text, and such as stand at its end."""

from __future__ import annotations

import json
from typing import Literal

import pytest
import sentencepiece
import tokenwire_core
from tokenwire_core.errors import BudgetTooSmallError
from tokenwire_core.segment import OffsetUnit

from tests.core.hf_documents import bpe
from tests.core.model_files import trained

BYTES = {f"<0x{byte:02X}>": byte + 1 for byte in range(256)}
TEXTS = ("ab", "é", "\u200d👧", "x" * 300, "")


@pytest.mark.parametrize(
    "affixes", [{"continuing_subword_prefix": "##"}, {"end_of_word_suffix": "</w>"}], ids=["prefix", "suffix"]
)
def test_bytes_of_affixes_stay_inside_the_text(affixes: dict[str, str]) -> None:
    """Unknown characters become bytes with the bytes of prefix or suffix: more than the text has."""
    model = {"unk_token": "u", "byte_fallback": True, "vocab": {"u": 0} | BYTES, "merges": []} | affixes
    encoder = tokenwire_core.load(json.dumps(bpe(**model)).encode(), "hf_json")
    for text in TEXTS:
        encoding = encoder.encode(text)
        sizes: dict[OffsetUnit, int] = {
            "byte": len(text.encode()),
            "codepoint": len(text),
            "utf16": len(text.encode("utf-16-le")) // 2,
        }
        for unit, size in sizes.items():
            assert all(0 <= start <= end <= size for start, end in encoding.offsets(unit)), (text, unit)
        assert encoding.partial_tokens() == []
        keeps: tuple[Literal["start", "end"], ...] = ("start", "end")
        for keep in keeps:
            try:
                kept = encoder.truncate(text, len(encoding) // 2, keep=keep)
            except BudgetTooSmallError:
                continue
            assert encoder.count(kept.text) <= len(encoding) // 2


def test_a_blank_behind_a_text_of_sentencepiece() -> None:
    """It is empty, at the last code point's end, as the library says when it counts code points."""
    data = trained("bpe with suffixes and symbols")
    encoder = tokenwire_core.load(data, "sentencepiece")
    library = sentencepiece.SentencePieceProcessor(model_proto=data)
    for text in ("é日本語", "日", " é  ", "👧 ß", ""):
        theirs = library.encode(text, return_type="offset_mapping")["offsets"]
        assert encoder.encode(text).offsets("codepoint", reference=True) == [tuple(span) for span in theirs]
