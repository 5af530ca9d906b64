from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.bpe import Merges
from tokenwire_core.vocab import Vocab

@disjoint_base
class MergeTable(Merges):
    """The merges of bytes to the entries of a vocabulary."""

    def __new__(cls, vocab: Vocab, listed: Merges | None = None, n_listed: int = 0) -> Self: ...
    @property
    def n_unreachable(self) -> int: ...
    def merge(self, piece: bytes) -> list[int]: ...
