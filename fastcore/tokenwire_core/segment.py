"""A piece of input with a special-token policy of its own, and the words that options on text are given in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SpecialPolicy = Literal["text", "allow", "reject"] | frozenset[str]
"""`text`: a control token's spelling is ordinary text. `allow`: it becomes the control id. `reject`: it is an error.
A frozenset allows those spellings alone; every other one stays text."""

InvalidPolicy = Literal["error", "replace"]
"""Ill-formed UTF-8 is an error, or each maximal part of it becomes U+FFFD."""

OffsetUnit = Literal["byte", "codepoint", "utf16"]
"""What offsets count: bytes of UTF-8, code points, or UTF-16 code units."""


@dataclass(frozen=True, slots=True)
class Segment:
    """`text`, encoded so that nothing merges across its edges."""

    text: str | bytes
    special: SpecialPolicy = "text"
