"""The blocking client's connections and the attempts of its calls. `_async_connections.py` is the mirror."""

from __future__ import annotations

import functools
import itertools
import math
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import grpc

from tokenwire._artifact import Download
from tokenwire._channels import Endpoint, open_methods
from tokenwire._retry import Retry
from tokenwire.errors import TransportError, error_from_rpc

T = TypeVar("T")


class Connections:
    """Channels to one endpoint, used in turn; safe to share between threads. Deadlines are `time.monotonic`'s."""

    def __init__(self, endpoint: Endpoint, retry: Retry) -> None:
        self._metadata = endpoint.metadata
        self._retry = retry
        self._channels = [
            grpc.insecure_channel(target, options=endpoint.options)
            if endpoint.credentials is None
            else grpc.secure_channel(target, endpoint.credentials, options=endpoint.options)
            for target in endpoint.targets
        ]
        self._methods = [open_methods(channel) for channel in self._channels]
        self._turn = itertools.count()
        self._closed = threading.Event()

    def close(self) -> None:
        """Close the channels; calls in flight in other threads end with a `TransportError` (CANCELLED)."""
        self._closed.set()
        for channel in self._channels:
            channel.close()

    def ask(self, method: str, payload: bytes, deadline_s: float) -> Any:
        """The reply of a unary method."""
        return self._repeat(method, lambda send: send(payload), deadline_s)

    def fetch(self, download: Download, deadline_s: float) -> None:
        """Receive what `download` is missing; a stream that breaks is followed by one that goes on from there."""

        def attempt(send: Callable[[bytes], Any]) -> None:
            stream = send(download.request())
            try:
                for message in stream:
                    download.take(message)
            finally:
                stream.cancel()

        self._repeat("GetArtifact", attempt, deadline_s)

    def _repeat(self, method: str, attempt: Callable[[Callable[[bytes], Any]], T], deadline_s: float) -> T:
        """Attempts, each on the next connection, until a reply, a lasting error or the deadline."""
        n_attempts = 0
        while not self._closed.is_set():
            n_attempts += 1
            remaining_s = deadline_s - time.monotonic()
            send = functools.partial(
                self._methods[next(self._turn) % len(self._methods)][method],
                timeout=None if remaining_s == math.inf else max(0.0, remaining_s),
                metadata=self._metadata,
            )
            try:
                return attempt(send)
            except grpc.RpcError as fault:
                error = error_from_rpc(fault)
                delay_s = self._retry.delay_s(n_attempts, error, deadline_s - time.monotonic())
                if delay_s is None or self._closed.wait(delay_s):
                    raise error from fault
            except ValueError:
                if not self._closed.is_set():
                    raise
                break  # gRPC's word for a channel closed since the loop began
        raise TransportError("the client is closed", code=grpc.StatusCode.CANCELLED)
