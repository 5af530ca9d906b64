from collections.abc import Mapping, Set
from typing import Self

from typing_extensions import disjoint_base

@disjoint_base
class Vocab:
    """Tables over ordinary and special tokens; only compiled modules look into them."""

    def __new__(
        cls,
        ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int],
        hidden: Mapping[int, bytes] | None = None,
        control_ids: Set[int] = ...,
    ) -> Self: ...
