from collections.abc import Mapping
from typing import Self

from typing_extensions import disjoint_base

@disjoint_base
class Trie:
    """A set of byte strings, each with a number, to be found from their first byte on."""

    n_slots: int

    def __new__(cls, entries: Mapping[bytes, int]) -> Self: ...
    def matches(self, text: bytes, start: int = 0) -> list[tuple[int, int]]: ...
