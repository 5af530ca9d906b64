from typing import Literal

FAMILIES: dict[str, int]
SEQUENCES: dict[tuple[str, ...], int]

def pattern_id(pattern: str) -> int: ...
def split(
    pattern: str | tuple[str, ...] | int,
    utf8: bytes,
    path: Literal["best", "sse2", "plain", "scalar"] = "best",
) -> list[int]: ...
