from collections.abc import Iterable, Sequence

from typing_extensions import disjoint_base

from tokenwire_core.pipeline import PreTokenizer

@disjoint_base
class PreTokenizerChain:
    @property
    def is_empty(self) -> bool: ...
    @property
    def needs_places(self) -> bool: ...
    @property
    def keeps_bytes(self) -> bool: ...
    @property
    def max_text_bytes(self) -> int | None: ...
    @property
    def fast_pattern(self) -> int: ...
    def __init__(self, stages: Iterable[PreTokenizer], byte_level: bool) -> None: ...

def pre_tokenize(
    stages: Iterable[PreTokenizer],
    source: str | Sequence[tuple[str, int, int | None]],
    tracing: int,
    byte_level: bool = False,
    start: int = 0,
    end: int | None = None,
    timeout_s: float = 1.0,
) -> list[tuple[bytes, list[tuple[int, int]] | None]]: ...
