from typing_extensions import disjoint_base

_Pair = tuple[int, int]

@disjoint_base
class Merges:
    """A table of merges; only compiled modules look into it."""

def merge(symbols: list[_Pair], merges: list[tuple[_Pair, _Pair]]) -> list[_Pair]: ...
