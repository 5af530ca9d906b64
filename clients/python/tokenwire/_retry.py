"""When a failed attempt is made again, and after how long. Every call of the contract is safe to repeat."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import grpc

from tokenwire.errors import OverloadedError, TokenwireError


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential back-off with full jitter, inside the call's own deadline.

    Repeated are UNAVAILABLE, a CANCELLED that the caller did not issue (a draining server can cause one), and
    RESOURCE_EXHAUSTED where the service said when to come back or that it is OVERLOADED. The wait after
    attempt n is the one the service asked for plus a random part of
    min(max_backoff_s, initial_backoff_s * 2 ** (n - 1)) seconds.
    `max_attempts=1` never repeats.
    """

    max_attempts: int = 5
    initial_backoff_s: float = 0.1
    max_backoff_s: float = 2.0

    def __post_init__(self) -> None:
        if self.max_attempts < 1 or self.initial_backoff_s < 0 or self.max_backoff_s < 0:
            raise ValueError(f"{self} is out of bounds: at least 1 attempt, and no back-off below 0 s")

    def delay_s(
        self,
        n_attempts: int,
        error: TokenwireError,
        remaining_s: float,
        draw: Callable[[], float] = random.random,
    ) -> float | None:
        """Seconds to wait after failed attempt number `n_attempts` (from 1); None: give up and raise `error`.

        A wait that would not end before the deadline is not begun. `draw` gives a number in [0, 1).
        """
        if n_attempts >= self.max_attempts or not _is_transient(error):
            return None
        # The exponent is bounded only to keep the float finite; max_backoff_s decides long before.
        ceiling_s = min(self.max_backoff_s, self.initial_backoff_s * 2.0 ** min(n_attempts - 1, 64))
        delay_s = (error.retry_after_s or 0.0) + draw() * ceiling_s
        return delay_s if delay_s < remaining_s else None


DEFAULT_RETRY = Retry()


def _is_transient(error: TokenwireError) -> bool:
    if error.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return True
    return isinstance(error, OverloadedError) or (
        error.code is grpc.StatusCode.RESOURCE_EXHAUSTED and error.retry_after_s is not None
    )
