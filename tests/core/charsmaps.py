"""SentencePiece's compiled tables of replacements, written for tests."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

UNUSED = [byte ^ 1 for byte in range(256)]
"""A block of units that no byte leads to."""


def charsmap(replacements: Mapping[str, str] | Mapping[bytes, str]) -> bytes:
    """The table that replaces each key: a double array as Darts-clone has it, with a block of its own for each node."""
    root: dict[int, Any] = {}
    values: dict[int, int] = {}  # by the node's identity
    texts = b""
    for key, text in replacements.items():
        node = root
        for byte in key.encode() if isinstance(key, str) else key:
            node = node.setdefault(byte, {})
        values[id(node)] = len(texts)
        texts += text.encode() + b"\0"
    units = [0, *UNUSED[1:]]

    def place(node: dict[int, Any], index: int, label: int) -> None:
        children = len(units)
        units.extend(UNUSED)
        has_value = id(node) in values
        units[index] = (index ^ children) << 10 | has_value << 8 | label
        if has_value:
            units[children] = 1 << 31 | values[id(node)]
        for byte, child in node.items():
            place(child, children ^ byte, byte)

    place(root, 0, 0)
    trie = b"".join(unit.to_bytes(4, "little") for unit in units)
    return len(trie).to_bytes(4, "little") + trie + texts


def charsmap_stage(replacements: Mapping[str, str] | Mapping[bytes, str]) -> dict[str, Any]:
    """A normalizer of a tokenizer.json with this table."""
    table = base64.b64encode(charsmap(replacements)).decode()
    return {"type": "Precompiled", "precompiled_charsmap": table}
