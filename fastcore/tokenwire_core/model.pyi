from typing import Literal, overload

from typing_extensions import disjoint_base

@disjoint_base
class Model:
    """A model of some family, at work on pieces."""

    def tokens(self, piece: str, places: bool = True) -> list[tuple[int, int, int]]: ...
    @overload
    def ids(self, pieces: list[str], keep: Literal[True] = True) -> list[int]: ...
    @overload
    def ids(self, pieces: list[str], keep: Literal[False]) -> int: ...
