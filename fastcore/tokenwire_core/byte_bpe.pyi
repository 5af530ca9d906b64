from collections.abc import Mapping, Set
from typing import Self

from typing_extensions import disjoint_base

from tokenwire_core.merge_table import MergeTable
from tokenwire_core.model import Model
from tokenwire_core.pipeline import BytePairModel
from tokenwire_core.vocab import Vocab

@disjoint_base
class ByteBpe(Model):
    """The model of a `BytePairModel` that `fits`."""

    def __new__(
        cls,
        model: BytePairModel,
        control_ids: Set[int] = ...,
        added_tokens: Mapping[str, int] | None = None,
    ) -> Self: ...
    @staticmethod
    def fits(model: BytePairModel, control_ids: Set[int] = ...) -> bool: ...
    @property
    def vocab(self) -> Vocab: ...
    @property
    def merges(self) -> MergeTable: ...
