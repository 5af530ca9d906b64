"""Changes of bytes and texts that know nothing of what they are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

MAX_BYTES: Final = 1 << 16
"""No mutant is larger."""

TEXTS: Final = (
    *("", " ", "a", "b", "ab", "é", "▁", "▁a", "##", "</w>", "<0x41>", "<0xFF>", "<unk>", "<s>", "</s>", "Ġ", "Ċ"),
    *("\0", "\ufffd", "\u0301", "漢", "😀", "\ud800", "\n", "%s", "-0", "#version: 0.2", "a b", "a" * 129),
)  # fmt: skip
NUMBERS: Final = (
    *(0, 1, 2, 3, 5, 127, 128, 255, 256, 1000, 10_001, 65_536, (1 << 21) - 1, 1 << 21, (1 << 31) - 1, 1 << 31),
    *(1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 10**30),
)  # fmt: skip


def mutate_bytes(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """One change of a place: of bits, by what stands elsewhere in it, or by a part of another artifact."""
    at = rng.randint(0, len(data))
    end = min(len(data), at + rng.choice((1, 1, 2, 4, 8, 32, 256)))
    match rng.randrange(7):
        case 0:
            new = bytes(byte ^ 1 << rng.randrange(8) for byte in data[at:end])
        case 1:
            new = rng.randbytes(end - at)
        case 2:
            new = b""
        case 3:
            new = data[at:end] * rng.choice((2, 2, 3, 17))
        case 4:
            start = rng.randint(0, len(other))
            new = other[start : start + end - at]
        case 5:
            start = rng.randint(0, len(data))
            new = data[start : start + end - at]
        case _:
            new = rng.choice((str(rng.choice(NUMBERS)).encode(), bytes((rng.choice((0, 127, 128, 255)),))))
    return (data[:at] + new + data[end:])[:MAX_BYTES]


def mutate_text(text: str, rng: random.Random, more: Sequence[str] = ()) -> str:
    """One change of a text; `more` are texts of the same kind."""
    at = rng.randint(0, len(text))
    match rng.randrange(6):
        case 0:
            return rng.choice((*TEXTS, *more))
        case 1:
            return text[:at] + rng.choice((*TEXTS, *more)) + text[at:]
        case 2:
            return text[:at] + text[at + rng.randint(1, 3) :]
        case 3:
            return text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0xD800)))) + text[at + 1 :]
        case 4:
            return text[:at] + text[at : at + rng.randint(1, 8)] * rng.choice((2, 3, 40)) + text[at:]
        case _:
            return text.swapcase() if rng.random() < 0.5 else text[::-1]


def mutate_number(number: float, rng: random.Random) -> float:
    """One change of a number."""
    return rng.choice((number + 1, number - 1, -number, number * 2, number * 1e30, 0.5, rng.choice(NUMBERS)))
