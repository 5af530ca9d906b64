from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.sentencepiece_spec import SentencePieceModel

@disjoint_base
class SentencePieceNormalizer:
    """The normalizer of a `SentencePieceModel`, at work on texts."""

    def __new__(cls, model: SentencePieceModel) -> Self: ...
    def normalized(self, utf8: bytes, tracing: int = 0) -> tuple[bytes, list[tuple[int, int, int]]]: ...
