"""Artifacts of the formats beside rank files, small enough to read: a tokenizer.json and a sentencepiece model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

VOCAB = {"[UNK]": 0, "a": 1, "b": 2, "ab": 3}
ADDED = [
    {"id": 0, "content": "[UNK]", "special": True},
    {"id": 4, "content": "<think>", "special": False},
    {"id": 5, "content": "<table>", "special": False},
]


def tokenizer_json(**parts: Any) -> bytes:
    """A tokenizer.json of byte-pair encoding; `parts` replace its own."""
    document: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [
            {**token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
            for token in ADDED
        ],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "BPE", "vocab": VOCAB, "merges": ["a b"], "unk_token": "[UNK]"},
    }
    return json.dumps(document | parts).encode()


PIECES = (
    ("<unk>", 2),
    ("<s>", 3),
    ("</s>", 3),
    ("<think>", 4),
    ("left", 5),
    ("▁", 1),
    ("a", 1),
    ("b", 1),
    ("ab", 1),
)


def sentencepiece_model(pieces: Sequence[tuple[str, int]] = PIECES) -> bytes:
    """A model of byte-pair encoding with these pieces (spelling and type), longer ones first in merging."""
    parts = []
    for spelling, kind in pieces:
        piece = (
            _field(1, spelling.encode())
            + b"\x15\x00\x00"
            + (b"\x80\x3f" if len(spelling) == 1 else b"\x00\x40")
        )
        parts.append(_field(1, piece + (b"\x18" + bytes((kind,)) if kind != 1 else b"")))
    trainer = b"\x18\x02" + b"\x20" + bytes((len(pieces),))  # BPE, and how many
    parts.append(_field(2, trainer))
    parts.append(_field(3, _field(1, b"identity") + b"\x18\x00\x20\x00"))
    return b"".join(parts)


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes, below 128 of them."""
    return bytes((number << 3 | 2, len(content))) + content
