from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.vocab import Vocab

_Pair = tuple[int, int]

@disjoint_base
class Merges:
    """A table of merges; only compiled modules look into it."""

@disjoint_base
class MergeTable(Merges):
    """The merges of bytes to the entries of a vocabulary."""

    def __new__(cls, vocab: Vocab, listed: Merges | None = None, n_listed: int = 0) -> Self: ...
    @property
    def n_unreachable(self) -> int: ...

def merge(symbols: list[_Pair], merges: list[tuple[_Pair, _Pair]]) -> list[_Pair]: ...
