from collections.abc import Callable, Collection, Iterable
from typing import Final, Protocol, SupportsIndex, final

from tokenwire_core.vocab import Vocab

MAX_HELD_BYTES: Final[int]
JOININGS: Final[dict[str, int]]

class _Filter(Protocol):
    def push(self, text: str, /) -> str: ...
    def flush(self) -> str: ...

@final
class TokenStream:
    """Text of ids that arrive bit by bit."""

    def push(self, ids: Iterable[SupportsIndex]) -> str: ...
    def flush(self) -> str: ...

@final
class TokenDecoder:
    """What ids stand for."""

    @property
    def vocab_size(self) -> int: ...
    def decode_bytes(self, ids: Iterable[SupportsIndex], skip_special: bool = False) -> bytes: ...
    def decode(self, ids: Iterable[SupportsIndex], skip_special: bool = False) -> str: ...
    def stream(self, skip_special: bool = False) -> TokenStream: ...

def byte_level_decoder(vocab: Vocab) -> TokenDecoder: ...
def table_decoder(
    rows: list[bytes | None],
    first_rows: list[bytes | None] | None,
    joining: str,
    *,
    special_ids: Collection[int] = (),
    byte_ids: Collection[int] = (),
    staying_ids: Collection[int] = (),
    new_filter: Callable[[bool, int | None], _Filter] | None = None,
) -> TokenDecoder: ...
