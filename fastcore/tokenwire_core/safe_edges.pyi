from typing import Self

from typing_extensions import disjoint_base

@disjoint_base
class SafeEdges:
    """The edges in texts that no entry goes over."""

    def __new__(cls, entries: list[bytes]) -> Self: ...
    def parts(self, text: str) -> list[str]: ...
