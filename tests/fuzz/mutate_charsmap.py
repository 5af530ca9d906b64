"""Changes of a compiled table of replacements: of its units, its size, its texts; or another sound table."""

from __future__ import annotations

import random
import struct
from typing import Final

from tests.core.charsmaps import charsmap
from tests.fuzz.mutate_bytes import TEXTS, mutate_bytes

_CHARACTERS: Final = "abé漢 ▁\u0301ﬁ"


def mutate_charsmap(table: bytes, rng: random.Random) -> bytes:
    """A changed table, which need not be one."""
    n_units = len(table) // 4 - 1
    if n_units < 1 or rng.random() < 0.25:
        return _sound(rng)
    if rng.random() < 0.15:
        return mutate_bytes(table, table, rng)
    changed = bytearray(table)
    for _ in range(rng.choice((1, 1, 2, 8))):
        # The first unit is the root; those that are not empty matter most.
        used = [at for at in range(1, n_units + 1) if table[4 * at + 1 : 4 * at + 4] != b"\0\0\0"]
        at = 4 * rng.choice((0, 1, rng.randint(1, n_units), *used[:1000], *used[-20:]))
        (unit,) = struct.unpack_from("<I", changed, at)
        new = rng.choice(
            (unit ^ 1 << rng.randrange(32), unit ^ rng.randrange(1 << 12) << 10, rng.randrange(1 << 32))
        )
        struct.pack_into("<I", changed, at, new)
    return bytes(changed)


def _sound(rng: random.Random) -> bytes:
    def text(most: int) -> str:
        return "".join(rng.choices(_CHARACTERS, k=rng.randint(1, most)))

    keys = [text(3) for _ in range(rng.randint(1, 5))] + ([text(140)] if rng.random() < 0.02 else [])
    texts = ("", text(3), rng.choice(TEXTS), "x" * 1025 if rng.random() < 0.1 else "y")
    return charsmap(
        {key: rng.choice(texts).encode(errors="ignore").decode().replace("\0", "") for key in keys}
    )
