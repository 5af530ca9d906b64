"""The guard: what surrounds every method once, whatever the method and the transport.

`admit` decides whether a request may start: not while draining, not over the message limit, and, for
requests that are queued, not over the bound on queued bytes. `run` works it off, or `stream` where several
messages answer it: deadline, faults, defects, metering. Each admitted call holds a ticket until its work has
ended; draining waits for the tickets.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field

from tokenwire_core.errors import TokenizerError

from tokenwire_server import errors, logs
from tokenwire_server.call import Call, CallCancelled, Method, StreamMethod
from tokenwire_server.errors import Fault
from tokenwire_server.limits import Limits
from tokenwire_server.meter import Meter

OVERLOAD_RETRY_S = 0.5
STREAM_RETRY_S = 1.0


@dataclass(eq=False, slots=True)
class Ticket:
    """The place of one admitted call. Release it once its work has ended; releasing again does nothing."""

    guard: Guard
    operation: str
    queued_bytes: int
    is_stream: bool = False
    started_s: float = field(default_factory=time.monotonic)
    released: bool = False

    def hold(self, n_bytes: int) -> None:
        """Count `n_bytes` more against the bound on queued bytes until the release.

        Raises OVERLOADED, and MESSAGE_TOO_LARGE where even an empty queue has no room.
        """
        self.guard.hold(self, n_bytes)

    def release(self) -> None:
        """Give the place back."""
        self.guard.release(self)


class Guard:
    """Limits, admission and accounting of one process. Safe to use from any thread."""

    def __init__(self, limits: Limits, meter: Meter) -> None:
        self._limits = limits
        self._meter = meter
        self._changed = threading.Condition()
        self._n_in_flight = 0
        self._n_streams = 0
        self._queued_bytes = 0
        self._draining = False
        meter.follow(lambda: self._n_in_flight, lambda: self._queued_bytes)

    def deadline_s(self, remaining_s: float | None) -> float:
        """When a call with `remaining_s` left must have begun, on the clock of `time.monotonic`."""
        bound_s = self._limits.deadline_s
        return time.monotonic() + (bound_s if remaining_s is None else min(remaining_s, bound_s))

    def admit(self, operation: str, n_bytes: int, queued: bool, *, stream: bool = False) -> Ticket:
        """A ticket for a request of `n_bytes`; `queued` ones count against the bound on queued bytes.

        A `stream` counts against the bound on streams too. Raises the faults SHUTTING_DOWN, MESSAGE_TOO_LARGE and
        OVERLOADED.
        """
        limits = self._limits
        with self._changed:
            if self._draining:
                raise self.refuse(
                    Fault(
                        "SHUTTING_DOWN", "the service is shutting down; send the request to another instance"
                    )
                )
            if n_bytes > limits.message_bytes:
                raise self.refuse(errors.message_too_large("request", n_bytes, limits.message_bytes))
            queued_bytes = n_bytes if queued else 0
            if queued_bytes and self._queued_bytes + queued_bytes > limits.queue_bytes:
                raise self.refuse(self._overloaded(queued_bytes))
            if stream and self._n_streams >= limits.artifact_streams:
                raise self.refuse(
                    self.shed(
                        "artifact_streams",
                        f"{self._n_streams} artifacts are being sent, the limit is {limits.artifact_streams}; "
                        "try again after the delay, or elsewhere",
                        STREAM_RETRY_S,
                    )
                )
            self._n_in_flight += 1
            self._n_streams += stream
            self._queued_bytes += queued_bytes
        return Ticket(self, operation, queued_bytes, stream)

    def hold(self, ticket: Ticket, n_bytes: int) -> None:
        """See `Ticket.hold`."""
        bound = self._limits.queue_bytes
        with self._changed:
            if n_bytes > bound:
                raise Fault(
                    "MESSAGE_TOO_LARGE",
                    f"the answer takes {n_bytes} bytes, the limit queue_bytes of this service is {bound}; "
                    "have it raised there",
                    {"limit": bound, "got": n_bytes},
                )
            if self._queued_bytes + n_bytes > bound:
                raise self._overloaded(n_bytes)
            ticket.queued_bytes += n_bytes
            self._queued_bytes += n_bytes

    def release(self, ticket: Ticket) -> None:
        """Take the ticket of a call back. A second time does nothing."""
        with self._changed:
            if ticket.released:
                return
            ticket.released = True
            self._n_in_flight -= 1
            self._n_streams -= ticket.is_stream
            self._queued_bytes -= ticket.queued_bytes
            self._changed.notify_all()
        self._meter.took(ticket.operation, time.monotonic() - ticket.started_s)

    def run(self, method: Method, request: bytes, call: Call) -> bytes:
        """The response of `method`, metered. Raises `Fault` (counted) and `CallCancelled`, nothing else."""
        try:
            call.check()
            response = method(request, call)
            if len(response) > self._limits.message_bytes:
                raise errors.message_too_large("response", len(response), self._limits.message_bytes)
        except Exception as error:  # noqa: BLE001  whatever a method does wrong, the caller is told of it
            raise self._told(error, call) from None
        self._count(call)
        return response

    def stream(self, method: StreamMethod, request: bytes, call: Call) -> Generator[bytes]:
        """The responses of `method`, metered at their end. Raises as `run` does; close it to end it early."""
        try:
            call.check()
            call.deadline_s = math.inf  # The work has begun; how long a stream may take the transport bounds.
            for response in method(request, call):
                if len(response) > self._limits.message_bytes:
                    raise errors.message_too_large("response", len(response), self._limits.message_bytes)
                yield response
        except Exception as error:  # noqa: BLE001  whatever a method does wrong, the caller is told of it
            raise self._told(error, call) from None
        self._count(call)

    def _count(self, call: Call) -> None:
        self._meter.answered(call.operation, call.tokenizer, call.identity, call.usage, call.input_faults)

    def refuse(self, fault: Fault) -> Fault:
        """`fault`, counted."""
        self._meter.refused(fault.reason)
        return fault

    def _told(self, error: Exception, call: Call) -> Fault | CallCancelled:
        """What the caller is told where a method raises `error`: a fault, counted, or that it has gone."""
        match error:
            case CallCancelled():
                return error
            case Fault():
                return self.refuse(error)
            case TokenizerError():
                return self.refuse(errors.from_core(error))
        logs.error("method_broke", exception=error, operation=call.operation, tokenizer=call.tokenizer)
        return self.refuse(errors.internal())

    def shed(self, cause: str, message: str, retry_after_s: float) -> Fault:
        """OVERLOADED, counted by the limit that was met; as an error `refuse` counts it, like any fault."""
        self._meter.shed(cause)
        return Fault("OVERLOADED", message, retry_after_s=retry_after_s)

    def _overloaded(self, n_bytes: int) -> Fault:
        return self.shed(
            "queue_bytes",
            f"no room in the queue for {n_bytes} bytes beside {self._queued_bytes} of at most "
            f"{self._limits.queue_bytes}; try again after the delay, or elsewhere",
            OVERLOAD_RETRY_S,
        )

    def drain(self) -> None:
        """From now on admit nothing. Calls in flight go on."""
        with self._changed:
            self._draining = True

    def wait_idle(self, timeout_s: float) -> bool:
        """Wait until no call is in flight; False if some still are after `timeout_s`."""
        with self._changed:
            return self._changed.wait_for(lambda: self._n_in_flight == 0, timeout_s)
