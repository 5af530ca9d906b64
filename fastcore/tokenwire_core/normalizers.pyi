from collections.abc import Iterable
from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.pipeline import Normalizer

@disjoint_base
class NormalizerChain:
    @property
    def is_empty(self) -> bool: ...
    @property
    def max_text_bytes(self) -> int | None: ...
    def __new__(cls, stages: Iterable[Normalizer]) -> Self: ...

def normalize(
    stages: Iterable[Normalizer] | NormalizerChain, text: str, tracing: int = 0, timeout_s: float = 1.0
) -> tuple[str, list[tuple[int, int]]]: ...
def normalize_each(chain: NormalizerChain, texts: Iterable[str]) -> list[str]: ...
