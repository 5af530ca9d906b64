"""Small made-up vocabularies: real enough to merge, small enough to reason about."""

from __future__ import annotations

import base64
from collections.abc import Iterable

import tokenwire_core
from tokenwire_core import Encoder

WHOLE = r"[\s\S]+"
"""A pattern that makes the whole text one piece."""


def rank_file(tokens: Iterable[bytes]) -> bytes:
    """A rank file of the 256 bytes, then `tokens` from rank 256 on."""
    entries = [bytes([byte]) for byte in range(256)] + list(tokens)
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(entries))


def encoder(
    tokens: Iterable[bytes] = (), pattern: str = WHOLE, special_tokens: dict[str, int] | None = None
) -> Encoder:
    """An encoder over `rank_file(tokens)`."""
    return tokenwire_core.load(
        rank_file(tokens), format="tiktoken", pattern=pattern, special_tokens=special_tokens or {}
    )
