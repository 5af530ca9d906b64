from collections.abc import Sequence
from typing import Self, final

from tokenwire_core.tally import Tally

@final
class InputUsage:
    """What one input took."""

    def __new__(
        cls, language: str, decided_by: str, n_bytes: int, n_characters: int, tally: Tally
    ) -> Self: ...
    @property
    def language(self) -> str: ...
    @property
    def decided_by(self) -> str: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_characters(self) -> int: ...
    @property
    def tally(self) -> Tally: ...

@final
class Ledger:
    """Numbers by their place, zero at first."""

    def __new__(cls, size: int) -> Self: ...
    @property
    def size(self) -> int: ...
    def add(self, place: int, amount: int = 1) -> None: ...
    def copy(self) -> list[float]: ...

@final
class Histogram:
    """A number for each bucket, and the sum of the values."""

    def __new__(cls, ledger: Ledger, place: int, bounds: Sequence[float]) -> Self: ...

@final
class Account:
    """Where the calls of one operation on one tokenizer are added."""

    def __new__(
        cls,
        ledger: Ledger,
        volumes: Sequence[int],
        gaps: Sequence[int],
        languages: dict[str, int],
        scripts: dict[str, int],
        decisions: dict[str, int],
        tenants: dict[str, int],
        other_tenant: int,
        request_tokens: Histogram,
    ) -> Self: ...

@final
class Book:
    """The accounts and histograms that calls are added to, by what a call says of itself."""

    def __new__(
        cls,
        ledger: Ledger,
        accounts: dict[str, dict[str, Account]],
        durations: dict[str, Histogram],
        errors: dict[str, int],
    ) -> Self: ...
    def answered(
        self, operation: str, tokenizer: str, tenant: str, usage: list[InputUsage], input_faults: list[str]
    ) -> None: ...
    def took(self, operation: str, duration_s: float) -> None: ...
    def refused(self, reason: str) -> None: ...
