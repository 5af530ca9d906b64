from typing import Literal, Self, overload

from typing_extensions import disjoint_base

from tokenwire_core.model import Model
from tokenwire_core.sentencepiece_normalizer import SentencePieceNormalizer
from tokenwire_core.sentencepiece_spec import SentencePieceModel

@disjoint_base
class SentencePieceTokenizer(Model):
    """The model of a `SentencePieceModel`, at work on normalized texts, or with a normalizer on any."""

    def __new__(cls, model: SentencePieceModel) -> Self: ...
    @overload
    def encoded(
        self, normalizer: SentencePieceNormalizer, texts: list[bytes], tracing: Literal[0] = 0
    ) -> list[list[int]]: ...
    @overload
    def encoded(
        self, normalizer: SentencePieceNormalizer, texts: list[bytes], tracing: Literal[1, 2]
    ) -> list[list[tuple[int, int, int]]]: ...
    @overload
    def encoded(
        self,
        normalizer: SentencePieceNormalizer,
        texts: list[bytes],
        tracing: Literal[0] = 0,
        *,
        keep: Literal[False],
    ) -> list[int]: ...
