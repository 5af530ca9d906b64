"""The guard: admission, accounting, and what becomes of each exception."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry
from tokenwire_core.errors import IdOutOfRangeError
from tokenwire_core.ledger import InputUsage
from tokenwire_core.tally import Tally
from tokenwire_server.call import Call, CallCancelled, StreamMethod
from tokenwire_server.errors import Fault
from tokenwire_server.guard import Guard
from tokenwire_server.limits import Limits, limit_fields
from tokenwire_server.meter import Meter
from tokenwire_server.metric_table import SHED_CAUSES

LIMITS = Limits(message_bytes=1000, queue_bytes=1000, deadline_s=5)


@pytest.fixture
def meter() -> Meter:
    return Meter(["tiny"])


@pytest.fixture
def guard(meter: Meter) -> Guard:
    return Guard(LIMITS, meter)


def call(deadline_s: float | None = None) -> Call:
    return Call("encode", time.monotonic() + 60 if deadline_s is None else deadline_s, tokenizer="tiny")


def value(registry: CollectorRegistry, name: str, **labels: str) -> float:
    found = registry.get_sample_value(name, labels)
    assert found is not None, f"{name} does not exist"
    return found


@pytest.mark.parametrize(("n_bytes", "refused"), [(1000, False), (1001, True), (10**9, True)])
def test_the_message_limit(guard: Guard, n_bytes: int, refused: bool) -> None:
    """A message at the limit is admitted, one byte over and far over are refused with both numbers."""
    if not refused:
        guard.admit("encode", n_bytes, queued=True).release()
        return
    with pytest.raises(Fault) as caught:
        guard.admit("encode", n_bytes, queued=True)
    assert caught.value.reason == "MESSAGE_TOO_LARGE"
    assert caught.value.metadata == {"limit": "1000", "got": str(n_bytes)}


@pytest.mark.case("BR-269")
def test_the_queue_is_bounded_in_bytes(guard: Guard, meter: Meter) -> None:
    """The queue fills to its bound and not beyond; released bytes make room; small calls pass all the time."""
    first = guard.admit("encode", 600, queued=True)
    second = guard.admit("encode", 400, queued=True)
    with pytest.raises(Fault) as caught:
        guard.admit("encode", 1, queued=True)
    assert caught.value.reason == "OVERLOADED"
    assert caught.value.retry_after_s is not None
    guard.admit("encode", 900, queued=False).release()
    assert value(meter.registry, "tokenwire_queue_bytes") == 1000
    first.release()
    guard.admit("encode", 600, queued=True).release()
    second.release()
    assert value(meter.registry, "tokenwire_queue_bytes") == 0
    assert value(meter.registry, "tokenwire_errors_total", reason="OVERLOADED") == 1
    assert value(meter.registry, "tokenwire_shed_total", cause="queue_bytes") == 1


def test_a_ticket_is_given_back_once(guard: Guard, meter: Meter) -> None:
    """Releasing twice counts once."""
    tickets = [guard.admit("encode", 10, queued=True) for _ in range(2)]
    tickets[0].release()
    tickets[0].release()
    assert value(meter.registry, "tokenwire_requests_in_flight") == 1
    assert not guard.wait_idle(0)
    tickets[1].release()
    assert guard.wait_idle(0)


def test_what_a_stream_holds_counts_as_queued(guard: Guard, meter: Meter) -> None:
    """Held bytes fill the queue to its bound, are refused over it, and are free with the ticket."""
    ticket = guard.admit("get_artifact", 10, queued=True, stream=True)
    ticket.hold(900)
    ticket.hold(90)
    with pytest.raises(Fault) as caught:
        ticket.hold(1)
    assert caught.value.reason == "OVERLOADED"
    with pytest.raises(Fault) as caught:
        ticket.hold(1001)
    assert caught.value.reason == "MESSAGE_TOO_LARGE"
    assert caught.value.metadata == {"limit": "1000", "got": "1001"}
    assert value(meter.registry, "tokenwire_queue_bytes") == 1000
    ticket.release()
    assert value(meter.registry, "tokenwire_queue_bytes") == 0


def test_streams_are_bounded_in_number(meter: Meter) -> None:
    """The limit of streams concerns streams alone, and a released one makes room."""
    guard = Guard(Limits(artifact_streams=2), meter)
    tickets = [guard.admit("get_artifact", 1, queued=True, stream=True) for _ in range(2)]
    with pytest.raises(Fault) as caught:
        guard.admit("get_artifact", 1, queued=True, stream=True)
    assert caught.value.reason == "OVERLOADED"
    assert value(meter.registry, "tokenwire_shed_total", cause="artifact_streams") == 1
    guard.admit("encode", 1, queued=True).release()
    tickets[0].release()
    guard.admit("get_artifact", 1, queued=True, stream=True).release()


def test_what_is_shed_is_overloaded(meter: Meter) -> None:
    """The causes of shed requests add up to the errors OVERLOADED, and no other refusal is one."""
    guard = Guard(Limits(message_bytes=100, queue_bytes=100, artifact_streams=1), meter)
    guard.admit("get_artifact", 60, queued=True, stream=True)

    def holding(_request: bytes, _call: Call) -> Iterator[bytes]:
        guard.admit("encode", 1, queued=True).hold(60)
        yield b""

    for refused, cause in (
        (lambda: guard.admit("encode", 41, queued=True), "queue_bytes"),
        (lambda: next(guard.stream(holding, b"", call())), "queue_bytes"),
        (lambda: guard.admit("get_artifact", 1, queued=True, stream=True), "artifact_streams"),
        (lambda: guard.admit("encode", 101, queued=True), None),
        (lambda: guard.run(lambda _request, _call: b"", b"", call(deadline_s=time.monotonic())), None),
    ):
        before = value(meter.registry, "tokenwire_shed_total", cause=cause) if cause else 0
        with pytest.raises(Fault) as caught:
            refused()
        assert (caught.value.reason == "OVERLOADED") == (cause is not None)
        if cause is not None:
            assert value(meter.registry, "tokenwire_shed_total", cause=cause) == before + 1
        n_shed = sum(value(meter.registry, "tokenwire_shed_total", cause=each) for each in SHED_CAUSES)
        assert n_shed == value(meter.registry, "tokenwire_errors_total", reason="OVERLOADED")
    assert limit_fields().keys() >= set(SHED_CAUSES)


def test_draining_admits_nothing_and_waits_for_what_is_in_flight(guard: Guard) -> None:
    """After `drain` new calls are refused, and idle means that the old ones have ended."""
    ticket = guard.admit("encode", 10, queued=False)
    guard.drain()
    with pytest.raises(Fault) as caught:
        guard.admit("encode", 10, queued=False)
    assert caught.value.reason == "SHUTTING_DOWN"
    assert not guard.wait_idle(0)
    ticket.release()
    assert guard.wait_idle(0)


def test_the_deadline_is_the_nearer_of_the_callers_and_ours(guard: Guard) -> None:
    """A caller can shorten the server's deadline but not lengthen it."""
    now = time.monotonic()
    assert guard.deadline_s(1.0) <= time.monotonic() + 1
    for remaining_s in (None, 1e9):
        assert now + 5 <= guard.deadline_s(remaining_s) <= time.monotonic() + 5


def test_work_past_its_deadline_does_not_start(guard: Guard) -> None:
    """A call whose deadline has passed never reaches the method."""
    reached: list[bytes] = []

    def method(request: bytes, _call: Call) -> bytes:
        reached.append(request)
        return b""

    with pytest.raises(Fault) as caught:
        guard.run(method, b"x", call(deadline_s=time.monotonic()))
    assert caught.value.reason == "DEADLINE_EXCEEDED"
    assert reached == []


def test_a_cancelled_call_is_no_error(guard: Guard, meter: Meter) -> None:
    """A caller that has gone gets no work done and counts as no error."""
    gone = call()
    gone.cancelled = True
    with pytest.raises(CallCancelled):
        guard.run(lambda request, _call: request, b"x", gone)
    assert all(
        sample.value == 0
        for metric in meter.registry.collect()
        if metric.name == "tokenwire_errors"
        for sample in metric.samples
    )


def test_a_defect_is_internal_and_its_message_stays_inside(
    guard: Guard, caplog: pytest.LogCaptureFixture
) -> None:
    """An unforeseen exception becomes INTERNAL; neither the caller nor the log gets its message."""

    def method(_request: bytes, _call: Call) -> bytes:
        raise UnicodeDecodeError("utf-8", b"secret text", 0, 1, "secret text")

    with caplog.at_level(logging.ERROR), pytest.raises(Fault) as caught:
        guard.run(method, b"x", call())
    assert caught.value.reason == "INTERNAL"
    assert "secret" not in caught.value.message
    assert [record.getMessage() for record in caplog.records] == ["method_broke"]


def test_a_response_over_the_limit_is_refused(guard: Guard) -> None:
    """A response at the limit is sent, one byte over it becomes MESSAGE_TOO_LARGE."""
    assert len(guard.run(lambda _request, _call: bytes(1000), b"", call())) == 1000
    with pytest.raises(Fault) as caught:
        guard.run(lambda _request, _call: bytes(1001), b"", call())
    assert caught.value.reason == "MESSAGE_TOO_LARGE"


def test_a_refused_call_adds_no_tokens(guard: Guard, meter: Meter) -> None:
    """Tokens of a call that is refused in the end are not counted, its error is, once."""

    def method(_request: bytes, current: Call) -> bytes:
        current.usage.append(InputUsage("und", "none", 7, 7, Tally(7, 0, 0, {})))
        raise IdOutOfRangeError(0, 10)

    with pytest.raises(Fault):
        guard.run(method, b"", call())
    tokens = value(
        meter.registry, "tokenwire_tokens_total", tokenizer="tiny", operation="encode", language="und"
    )
    assert tokens == 0
    assert value(meter.registry, "tokenwire_errors_total", reason="ID_OUT_OF_RANGE") == 1


def test_a_stream_is_guarded_at_every_message(guard: Guard, meter: Meter) -> None:
    """What comes before a fault is sent; the fault, a defect or a message over the limit ends the stream."""

    def ending(last: Callable[[], bytes]) -> StreamMethod:
        def method(_request: bytes, _call: Call) -> Iterator[bytes]:
            yield b"first"
            yield last()

        return method

    def broken() -> bytes:
        raise ZeroDivisionError("secret text")

    def refusing() -> bytes:
        raise IdOutOfRangeError(0, 10)

    for last, reason in (
        (broken, "INTERNAL"),
        (refusing, "ID_OUT_OF_RANGE"),
        (lambda: bytes(1001), "MESSAGE_TOO_LARGE"),
    ):
        messages = guard.stream(ending(last), b"", call())
        assert next(messages) == b"first"
        with pytest.raises(Fault) as caught:
            next(messages)
        assert caught.value.reason == reason
        assert "secret" not in caught.value.message
        assert value(meter.registry, "tokenwire_errors_total", reason=reason) == 1
    assert list(guard.stream(ending(lambda: bytes(1000)), b"", call())) == [b"first", bytes(1000)]


def test_a_stream_that_began_in_time_goes_on(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is for the beginning; a reader may take longer."""

    def method(_request: bytes, current: Call) -> Iterator[bytes]:
        yield b"first"
        current.check()
        yield b"second"

    messages = guard.stream(method, b"", call())
    assert next(messages) == b"first"
    monkeypatch.setattr(
        "tokenwire_server.call.time", SimpleNamespace(monotonic=lambda: time.monotonic() + 1e6)
    )
    assert next(messages) == b"second"


def test_a_stream_past_its_deadline_does_not_start(guard: Guard) -> None:
    """Neither is anything made before the first message is asked for."""
    reached: list[bytes] = []

    def method(request: bytes, _call: Call) -> Iterator[bytes]:
        reached.append(request)
        yield b""

    messages = guard.stream(method, b"x", call(deadline_s=time.monotonic()))
    with pytest.raises(Fault) as caught:
        next(messages)
    assert caught.value.reason == "DEADLINE_EXCEEDED"
    guard.stream(method, b"x", call()).close()
    assert reached == []
