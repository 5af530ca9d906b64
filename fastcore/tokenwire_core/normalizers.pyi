from collections.abc import Iterable

from tokenwire_core.pipeline import Normalizer

class NormalizerChain:
    @property
    def is_empty(self) -> bool: ...
    @property
    def max_text_bytes(self) -> int | None: ...
    def __init__(self, stages: Iterable[Normalizer]) -> None: ...

def normalize(
    stages: Iterable[Normalizer] | NormalizerChain, text: str, tracing: int = 0, timeout_s: float = 1.0
) -> tuple[str, list[tuple[int, int]]]: ...
