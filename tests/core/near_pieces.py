"""Pieces of text for a model of an artifact: words as people write them, and what its own entries make up."""

from __future__ import annotations

import functools
import json
import lzma
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.strategies import SCRIPTS

N_WORDS = 150
"""Of each corpus."""
N_RANDOM = 2000


@functools.lru_cache(maxsize=1)
def artifact(folder: Path, name: str) -> dict[str, Any]:
    """A tokenizer.json of the reference data."""
    content: dict[str, Any] = json.loads(
        lzma.decompress((folder / "artifacts" / f"{name}.tokenizer.json.xz").read_bytes())
    )
    return content


def pieces_near(folder: Path, spellings: Sequence[str], draw: random.Random) -> Iterator[str]:
    """Words of all corpora in turn, as they are and as Metaspace makes them; entries joined and cut; any letters."""
    for path in sorted((folder / "corpora").glob("*.txt.xz")):
        with lzma.open(path, "rt", encoding="utf-8", errors="ignore") as lines:
            lines.seek(draw.randrange(1 << 18))
            lines.readline()
            words = lines.read(1 << 14).split()
        for word in draw.sample(words, min(N_WORDS, len(words))):
            yield from (word, "▁" + word, word.lower())
    for _ in range(N_RANDOM):
        joined = "".join(draw.choices(spellings, k=draw.randint(1, 8))).replace("##", "")
        start = draw.randrange(3)
        piece = joined[start : len(joined) - draw.randrange(3)]
        for first, last in draw.sample(sorted(SCRIPTS.values()), draw.randrange(3)):
            at = draw.randint(0, len(piece))
            piece = piece[:at] + chr(draw.randint(first, last)) + piece[at:]
        if piece:
            yield piece
