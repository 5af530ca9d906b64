from collections.abc import Set
from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.bpe import Merges
from tokenwire_core.model import Model
from tokenwire_core.pipeline import BytePairModel

@disjoint_base
class CharBpe(Model):
    """The model of a `BytePairModel`."""

    def __new__(cls, model: BytePairModel, control_ids: Set[int] = ...) -> Self: ...
    @property
    def merges(self) -> Merges: ...
    @property
    def n_unreachable(self) -> int: ...
