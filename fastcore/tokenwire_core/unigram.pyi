from collections.abc import Container
from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.model import Model
from tokenwire_core.pipeline import UnigramModel

@disjoint_base
class Unigram(Model):
    """The model of a `UnigramModel`, at work on pieces."""

    def __new__(cls, model: UnigramModel, control_ids: Container[int] = frozenset()) -> Self: ...
