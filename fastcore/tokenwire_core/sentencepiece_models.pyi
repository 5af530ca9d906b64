from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.model import Model
from tokenwire_core.sentencepiece_normalizer import SentencePieceNormalizer
from tokenwire_core.sentencepiece_spec import SentencePieceModel

@disjoint_base
class SentencePieceLookup(Model):
    """A model whose pieces are looked up."""

    def __new__(cls, model: SentencePieceModel) -> Self: ...

@disjoint_base
class SentencePieceChar(SentencePieceLookup):
    """A `char` model."""

    def __new__(cls, model: SentencePieceModel) -> Self: ...

class SentencePieceWord(SentencePieceLookup):
    """A `word` model."""

@disjoint_base
class SentencePieceTokenizer(Model):
    """The model of a `SentencePieceModel`, at work on normalized texts, or with a normalizer on any."""

    def __new__(cls, model: SentencePieceModel) -> Self: ...
    def encoded(
        self, normalizer: SentencePieceNormalizer, texts: list[bytes], tracing: int = 0
    ) -> list[list[tuple[int, int, int]]]: ...
    def counted(self, normalizer: SentencePieceNormalizer, texts: list[bytes]) -> list[int]: ...
