"""Failed calls are made again when that can help, never beyond the deadline or against the caller's will."""

from __future__ import annotations

import asyncio
import threading

import grpc
import pytest
import tokenwire
from hypothesis import given
from hypothesis import strategies as st
from tokenwire.errors import TokenwireError, error_from_status
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.client.fake_service import Ask, FakeService, count_bytes, fail, refuse, rich_status

UNAVAILABLE = fail(grpc.StatusCode.UNAVAILABLE)
OVERLOADED = rich_status("OVERLOADED", grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after_s=0.001)
TRANSIENT = tokenwire.TransportError("m", code=grpc.StatusCode.UNAVAILABLE)


@pytest.mark.parametrize(
    "step",
    [
        UNAVAILABLE,
        fail(grpc.StatusCode.CANCELLED),
        refuse(OVERLOADED),
        refuse(rich_status("SHUTTING_DOWN", grpc.StatusCode.UNAVAILABLE)),
    ],
    ids=["unavailable", "cancelled by the server", "overloaded", "shutting down"],
)
def test_a_passing_failure_is_not_seen_by_the_caller(ask: Ask, service: FakeService, step: object) -> None:
    """Three failures, then the answer: the caller gets the answer."""
    service.script = [step] * 3  # type: ignore[list-item]  # parametrize loses the type
    assert ask(service.address, "count", "t", "four") == 4
    assert len(service.requests) == 4
    assert all(request == service.requests[0] for request in service.requests)


def test_attempts_are_bounded(ask: Ask, service: FakeService) -> None:
    """After `max_attempts` the last error is raised."""
    service.default = UNAVAILABLE
    with pytest.raises(tokenwire.TransportError) as caught:
        ask(service.address, "count", "t", "x")
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    assert len(service.requests) == 4


@pytest.mark.parametrize(
    "step",
    [
        fail(grpc.StatusCode.INTERNAL),
        fail(grpc.StatusCode.RESOURCE_EXHAUSTED),
        refuse(rich_status("MESSAGE_TOO_LARGE", grpc.StatusCode.RESOURCE_EXHAUSTED)),
        refuse(rich_status("UNKNOWN_TOKENIZER", grpc.StatusCode.NOT_FOUND)),
    ],
    ids=["internal", "exhausted without a hint", "message too large", "unknown tokenizer"],
)
def test_a_lasting_failure_is_raised_at_once(ask: Ask, service: FakeService, step: object) -> None:
    """What would fail again is asked once."""
    service.default = step  # type: ignore[assignment]  # parametrize loses the type
    with pytest.raises(TokenwireError):
        ask(service.address, "count", "t", "x")
    assert len(service.requests) == 1


def test_a_wait_beyond_the_deadline_is_not_begun(ask: Ask, service: FakeService) -> None:
    """A service that asks for an hour is not waited for: its error is raised, with the hour in it."""
    service.default = refuse(
        rich_status("OVERLOADED", grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after_s=3600)
    )
    with pytest.raises(tokenwire.OverloadedError) as caught:
        ask(service.address, "count", "t", "x", timeout_s=20.0)
    assert caught.value.retry_after_s == 3600
    assert len(service.requests) == 1


def test_the_deadline_is_one_for_all_attempts(ask: Ask, service: FakeService) -> None:
    """An attempt after a wait of 0.4 s travels with that much less time, but for what gRPC rounds up."""
    left_s: list[float] = []

    def step(request: pb.CountRequest, context: grpc.ServicerContext) -> pb.CountResponse:
        left_s.append(context.time_remaining())
        if len(left_s) == 1:
            status = rich_status("OVERLOADED", grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after_s=0.4)
            refuse(status)(request, context)
        return count_bytes(request, context)

    service.default = step
    assert ask(service.address, "count", "t", "x", timeout_s=50.0) == 1
    assert 49.0 < left_s[0] < 50.2
    assert left_s[1] < 50.2 - 0.4


def test_no_answer_in_time_is_deadline_exceeded(ask: Ask, service: FakeService) -> None:
    """A service that never answers is left when the time of the client is over."""
    release = threading.Event()

    def step(request: pb.CountRequest, context: grpc.ServicerContext) -> pb.CountResponse:
        release.wait(30)
        return count_bytes(request, context)

    service.default = step
    try:
        with pytest.raises(tokenwire.DeadlineExceededError) as caught:
            ask(service.address, "count", "t", "x", client={"timeout_s": 0.05})
    finally:
        release.set()
    assert caught.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
    assert len(service.requests) == 1


def test_the_callers_own_cancel_ends_the_call(service: FakeService) -> None:
    """A cancelled task cancels its call at the service and is not retried."""
    arrived, cancelled = threading.Event(), threading.Event()

    def step(_request: pb.CountRequest, context: grpc.ServicerContext) -> pb.CountResponse:
        context.add_callback(cancelled.set)
        arrived.set()
        assert cancelled.wait(30)
        return pb.CountResponse()

    service.default = step

    async def run() -> None:
        async with tokenwire.AsyncClient(service.address) as client:
            task = asyncio.create_task(client.count("t", "x"))
            assert await asyncio.to_thread(arrived.wait, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(cancelled.wait, 30)

    asyncio.run(run())
    assert len(service.requests) == 1


def test_closing_ends_calls_of_other_threads(service: FakeService) -> None:
    """A call in flight when the client is closed fails with CANCELLED, once; later ones too."""
    arrived, ended = threading.Event(), threading.Event()

    def step(_request: pb.CountRequest, context: grpc.ServicerContext) -> pb.CountResponse:
        context.add_callback(ended.set)
        arrived.set()
        assert ended.wait(30)
        return pb.CountResponse()

    service.default = step
    client = tokenwire.Client(service.address)
    caught: list[BaseException] = []

    def call() -> None:
        try:
            client.count("t", "x")
        except TokenwireError as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert arrived.wait(30)
    client.close()
    thread.join(30)
    with pytest.raises(tokenwire.TransportError, match="closed"):
        client.count("t", "x")
    (error,) = caught
    assert isinstance(error, tokenwire.TransportError)
    assert error.code is grpc.StatusCode.CANCELLED
    assert len(service.requests) == 1


def test_closing_ends_calls_of_other_tasks(service: FakeService) -> None:
    """The same for tasks: closing is no cancel of the task, so it gets an error and not CancelledError."""
    arrived, ended = threading.Event(), threading.Event()

    def step(_request: pb.CountRequest, context: grpc.ServicerContext) -> pb.CountResponse:
        context.add_callback(ended.set)
        arrived.set()
        assert ended.wait(30)
        return pb.CountResponse()

    service.default = step

    async def run() -> None:
        client = tokenwire.AsyncClient(service.address)
        task = asyncio.create_task(client.count("t", "x"))
        assert await asyncio.to_thread(arrived.wait, 30)
        await client.close()
        with pytest.raises(tokenwire.TransportError, match="closed"):
            await task
        with pytest.raises(tokenwire.TransportError, match="closed"):
            await client.count("t", "x")

    asyncio.run(run())
    assert len(service.requests) == 1


@given(
    n_attempts=st.integers(1, 3_000),
    initial_s=st.floats(0, 10),
    max_s=st.floats(0, 100),
    asked_s=st.none() | st.floats(0, 100),
    draw=st.floats(0, 1, exclude_max=True),
    remaining_s=st.floats(-1, 1_000) | st.just(float("inf")),
)
def test_the_wait_keeps_its_bounds(
    n_attempts: int, initial_s: float, max_s: float, asked_s: float | None, draw: float, remaining_s: float
) -> None:
    """The wait is at least what was asked, at most the back-off more, and ends before the deadline."""
    error = tokenwire.OverloadedError("m", retry_after_s=asked_s)
    retry = tokenwire.Retry(max_attempts=5_000, initial_backoff_s=initial_s, max_backoff_s=max_s)
    delay_s = retry.delay_s(n_attempts, error, remaining_s, lambda: draw)
    if delay_s is None:
        assert remaining_s <= (asked_s or 0) + max_s
    else:
        assert (asked_s or 0) <= delay_s <= (asked_s or 0) + max_s
        assert delay_s < remaining_s


def test_the_back_off_doubles_up_to_its_bound() -> None:
    """The ceiling of the random part is 1, 2, 4 and then the bound of 5 seconds."""
    retry = tokenwire.Retry(max_attempts=9, initial_backoff_s=1, max_backoff_s=5)
    assert [retry.delay_s(n, TRANSIENT, 99, lambda: 1.0) for n in range(1, 10)] == [
        1,
        2,
        4,
        5,
        5,
        5,
        5,
        5,
        None,
    ]


@pytest.mark.parametrize(
    "wrong",
    [{"max_attempts": 0}, {"initial_backoff_s": -1.0}, {"max_backoff_s": -0.1}],
    ids=lambda it: next(iter(it)),
)
def test_a_senseless_policy_is_refused(wrong: dict[str, float]) -> None:
    """No attempt at all, or a negative wait, is a ValueError."""
    with pytest.raises(ValueError, match="out of bounds"):
        tokenwire.Retry(**wrong)  # type: ignore[arg-type]  # one wrong value at a time


def test_retry_info_is_read_to_the_nanosecond() -> None:
    """Seconds and nanoseconds of RetryInfo add up."""
    status = rich_status("OVERLOADED", grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after_s=1.25)
    assert error_from_status(status).retry_after_s == 1.25
