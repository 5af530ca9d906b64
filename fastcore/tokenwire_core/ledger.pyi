from collections.abc import Mapping, Sequence
from typing import Self, final

@final
class InputUsage:
    """What one input took."""

    def __init__(
        self,
        language: str,
        decided_by: str,
        n_tokens: int,
        n_bytes: int,
        n_characters: int,
        n_unknown: int = 0,
        n_byte_fallback: int = 0,
        scripts: dict[str, int] | None = None,
    ) -> None: ...
    @property
    def language(self) -> str: ...
    @property
    def decided_by(self) -> str: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_characters(self) -> int: ...
    @property
    def n_unknown(self) -> int: ...
    @property
    def n_byte_fallback(self) -> int: ...
    @property
    def scripts(self) -> dict[str, int] | None: ...

@final
class Ledger:
    """Numbers by their place, zero at first."""

    def __new__(cls, size: int) -> Self: ...
    @property
    def size(self) -> int: ...
    def add(self, place: int, amount: int = 1) -> None: ...
    def observe(self, place: int, bounds: Bounds, value: float) -> None: ...
    def copy(self) -> list[float]: ...

@final
class Bounds:
    """The upper bounds of a histogram's buckets."""

    def __new__(cls, bounds: Sequence[float]) -> Self: ...
    @property
    def n(self) -> int: ...

@final
class Account:
    """Where the calls of one operation on one tokenizer are added."""

    def __new__(
        cls,
        ledger: Ledger,
        volumes: Sequence[int],
        gaps: Sequence[int],
        languages: Mapping[str, int],
        scripts: Mapping[str, int],
        decisions: Mapping[str, int],
        request_tokens: int,
        bounds: Bounds,
    ) -> Self: ...
    def add(self, usage: list[InputUsage], share: int) -> None: ...
