from collections.abc import Iterator

from regex import Pattern
from typing_extensions import disjoint_base

from tokenwire_core.pattern_table import PatternTable

@disjoint_base
class TableMatcher:
    """The table of a pattern; only compiled modules look into it."""

    def __init__(self, table: PatternTable) -> None: ...

def matches_by_regex(
    pattern: Pattern[str], symbols: str, give_up_at_s: float
) -> Iterator[tuple[int, int]]: ...
