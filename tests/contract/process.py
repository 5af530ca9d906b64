"""A service in a process of its own, as an operator starts it, and ways to call and watch it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from email.message import Message as Headers
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from prometheus_client.parser import text_string_to_metric_families

PATIENCE_S = 60.0
"""Nothing here takes this long; it only ends a test that hangs."""
SERVICE = "/tokenwire.v1.TokenizerService/"

ResponseT = TypeVar("ResponseT", bound=Message)


class Refused(Exception):  # noqa: N818  the answer of the service, not an error of the test
    """An RPC's own status: code, message, reason, metadata and the delay asked for."""

    def __init__(self, error: Any) -> None:
        self.code: grpc.StatusCode = error.code()
        self.message: str = error.details() or ""
        status = rpc_status.from_call(error)
        self.reason, self.metadata, self.retry_s = unpack(status) if status is not None else ("", {}, 0.0)
        super().__init__(f"{self.code} {self.reason}: {self.message}")


def unpack(status: status_pb2.Status) -> tuple[str, dict[str, str], float]:
    """Reason, metadata, and the delay asked for in seconds, of a status that carries an ErrorInfo."""
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    retry_s = 0.0
    for detail in status.details:
        detail.Unpack(info)
        if detail.Unpack(retry):
            retry_s = retry.retry_delay.ToMilliseconds() / 1000
    assert info.domain == "tokenwire.dev"
    return info.reason, dict(info.metadata), retry_s


class PageAnswer(NamedTuple):
    """An answer of the HTTP port."""

    status: int
    headers: Headers
    body: bytes


class Service:
    """A running `tokenwire serve`; `ready` is its ready line, `channel` leads to its TCP port."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        addresses = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tokenwire_server.cli", "serve", *addresses, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})},
        )
        self.stderr: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the service did not start: {''.join(self.stderr)}"
        self.ready: dict[str, Any] = json.loads(line)
        self.addresses: dict[str, str] = self.ready["addresses"]
        self.channel = grpc.insecure_channel(
            self.addresses.get("tcp", ""),
            options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
        )

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr.append(line)
            self._lines.put(line)

    def wait_for_line(self, part: str) -> str:
        """The next line on stderr that has this in it."""
        while part not in (line := self._lines.get(timeout=PATIENCE_S)):
            pass
        return line

    def wait_for_event(self, name: str) -> dict[str, Any]:
        """The next log line of this event."""
        event: dict[str, Any] = json.loads(self.wait_for_line(f'"event": "{name}"'))
        return event

    def start_call(self, method: str, request: Message | bytes) -> Any:
        """The `grpc.Future` of a call under way; its result is the response's bytes."""
        data = request if isinstance(request, bytes) else request.SerializeToString()
        return self.channel.unary_unary(SERVICE + method, None, None).future(data, timeout=PATIENCE_S)

    def call(self, method: str, request: Message | bytes, response: type[ResponseT]) -> ResponseT:
        """The response, or `Refused`."""
        try:
            return response.FromString(self.start_call(method, request).result())
        except grpc.RpcError as error:
            raise Refused(error) from None

    def stream(
        self, method: str, request: Message | bytes, response: type[ResponseT]
    ) -> Generator[ResponseT, None, None]:
        """The responses as they come; ends in `Refused` where the service refuses. Closing it cancels the call."""
        data = request if isinstance(request, bytes) else request.SerializeToString()
        call: Any = self.channel.unary_stream(SERVICE + method, None, None)(data, timeout=PATIENCE_S)
        try:
            for message in call:
                yield response.FromString(message)
        except grpc.RpcError as error:
            raise Refused(error) from None
        finally:
            call.cancel()

    def ask_page(
        self, method: str, path: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> PageAnswer:
        """What the HTTP port answers to a method on a page."""
        connection = http.client.HTTPConnection(self.addresses["http"], timeout=PATIENCE_S)
        with contextlib.closing(connection):
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return PageAnswer(answer.status, answer.headers, answer.read())

    def page(self, path: str) -> tuple[int, str]:
        """Status and body of a page of the HTTP port."""
        answer = self.ask_page("GET", path)
        return answer.status, answer.body.decode()

    def metrics(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Every sample by name and sorted labels."""
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(self.page("/metrics")[1])
            for sample in family.samples
        }

    def n_admitted(self, operation: str) -> float:
        """How many calls of this operation are in flight or finished; assumes that only it is in flight."""
        metrics = self.metrics()
        finished = metrics["tokenwire_request_duration_seconds_count", (("operation", operation),)]
        return finished + metrics["tokenwire_requests_in_flight", ()]

    def wait_until_admitted(self, operation: str, n_calls: float) -> None:
        """Wait until so many calls of this operation, over the life of the service, were admitted."""
        given_up_s = time.monotonic() + PATIENCE_S
        while self.n_admitted(operation) < n_calls:
            assert time.monotonic() < given_up_s

    def wait_until_idle(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        """Wait until no call is in flight; gives the metrics of that moment."""
        given_up_s = time.monotonic() + PATIENCE_S
        while (metrics := self.metrics())["tokenwire_requests_in_flight", ()]:
            assert time.monotonic() < given_up_s
        return metrics

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and give the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """End the process whatever it does."""
        self.channel.close()
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()


@contextlib.contextmanager
def serving(*arguments: str, environment: dict[str, str] | None = None) -> Iterator[Service]:
    """A service for the length of a block."""
    service = Service(*arguments, environment=environment)
    try:
        yield service
    finally:
        service.close()
