"""What tests of byte-pair models share: comparing tokens, models without some entries, pieces of corpora."""

from __future__ import annotations

import dataclasses
import lzma
import random
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st
from tokenwire_core.model import Model
from tokenwire_core.pipeline import BytePairModel

Tokens = list[tuple[int, int, int]]
Item = TypeVar("Item")
CORPORA = ("en", "zh-cn", "th", "ru", "ja", "de", "ar", "ko", "code-c", "json")


def assert_tokens(model: Model, text: str, expected: Tokens) -> None:
    """The tokens with their places, and on the fast way, which knows none."""
    assert model.tokens(text) == expected
    assert [id for id, _, _ in model.tokens(text, places=False)] == [id for id, _, _ in expected]


def without(model: BytePairModel, ids: Set[int]) -> BytePairModel:
    """The model as if it had never had these entries; the unknown token stays."""
    vocab = {spelling: id for spelling, id in model.vocab.items() if id not in ids or spelling == model.unk}
    n_prefix = len(model.prefix)
    merges = [
        (left, right)
        for left, right in model.merges
        if {left, right, left + right[n_prefix:]} <= vocab.keys()
    ]
    return dataclasses.replace(model, vocab=vocab, merges=tuple(merges))


def shuffled(draw: st.DrawFn, items: Sequence[Item]) -> list[Item]:
    """All items, as they come or in another order."""
    seed = draw(st.integers(0, 99))
    return random.Random(seed).sample(items, len(items)) if seed else list(items)


def pieces_of(reference_data: Path, seed: int, n: int) -> list[str]:
    """Parts of corpora, of many sizes, some shuffled."""
    rng = random.Random(seed)
    paths = [reference_data / "corpora" / f"{name}.txt.xz" for name in CORPORA]
    corpora = [lzma.decompress(path.read_bytes()).decode() for path in paths]
    pieces = []
    for _ in range(n):
        text = rng.choice(corpora)
        start = rng.randrange(len(text) - 1)
        piece = text[start : start + rng.choice([1, 2, 3, 5, 8, 13, 20, 40, 100, 300, 2000])]
        pieces.append("".join(rng.sample(piece, len(piece))) if rng.random() < 0.2 else piece)
    return pieces
