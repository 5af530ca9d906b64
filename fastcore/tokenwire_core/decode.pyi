from collections.abc import Iterable
from typing import Self, SupportsIndex, final

from tokenwire_core.vocab import Vocab

def decode_ids(vocab: Vocab, ids: Iterable[SupportsIndex], skip_special: bool) -> bytes: ...

@final
class Decoder:
    """Text of ids that arrive bit by bit."""

    def __new__(cls, vocab: Vocab, skip_special: bool = False) -> Self: ...
    def push(self, ids: Iterable[SupportsIndex]) -> str: ...
    def flush(self) -> str: ...
