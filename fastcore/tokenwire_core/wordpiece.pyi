from collections.abc import Container
from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.model import Model
from tokenwire_core.pipeline import WordLevelModel, WordPieceModel

@disjoint_base
class WordPiece(Model):
    """The model of a `WordPieceModel`, at work on pieces."""

    def __new__(cls, model: WordPieceModel, control_ids: Container[int] = frozenset()) -> Self: ...

@disjoint_base
class WordLevel(Model):
    """The model of a `WordLevelModel`, at work on pieces."""

    def __new__(cls, model: WordLevelModel, control_ids: Container[int] = frozenset()) -> Self: ...
