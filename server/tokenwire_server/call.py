"""A call as the methods see it, whatever transport it came by: when to stop, who asks, and what was used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tokenwire_core.ledger import InputUsage

from tokenwire_server.errors import Fault


class CallCancelled(Exception):  # noqa: N818  the end of a call, not an error
    """The caller has gone; no answer is wanted."""


def _hold_uncounted(_n_bytes: int) -> None:
    """Where nobody bounds what calls hold."""


@dataclass(slots=True)
class Call:
    """One call. `deadline_s` is on `time.monotonic`'s clock; `identity` is empty for a stranger."""

    operation: str
    deadline_s: float
    metadata: Sequence[tuple[str, str | bytes]] = ()
    identity: str = ""
    cancelled: bool = False
    tokenizer: str = ""
    usage: list[InputUsage] = field(default_factory=list)
    """Filled by the method: one record per input that was answered."""
    input_faults: list[str] = field(default_factory=list)
    """Filled by the method: the reason of each input that was refused."""
    hold: Callable[[int], None] = _hold_uncounted
    """To be called with the bytes a stream keeps in memory until its end. Raises OVERLOADED, MESSAGE_TOO_LARGE."""

    def check(self) -> None:
        """To be called before each piece of work. Raises `CallCancelled`, or DEADLINE_EXCEEDED."""
        if self.cancelled:
            raise CallCancelled
        if time.monotonic() >= self.deadline_s:
            raise Fault(
                "DEADLINE_EXCEEDED",
                "the deadline passed before the work was done; allow more time, or send fewer inputs at once",
            )


Method = Callable[[bytes, Call], bytes]
"""A unary method: request message → response message. Raises `Fault` and `CallCancelled`."""

StreamMethod = Callable[[bytes, Call], Iterator[bytes]]
"""A method answered by a stream: request message → response messages, one at a time and none before it is asked for.
Raises as a unary one, between any two messages. What it holds is free once the iterator is closed."""
