"""The asyncio client's connections and the attempts of its calls, the mirror of `_connections.py`."""

from __future__ import annotations

import asyncio
import functools
import itertools
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import grpc
import grpc.aio

from tokenwire._artifact import Download
from tokenwire._channels import Endpoint, open_methods
from tokenwire._retry import Retry
from tokenwire.errors import TransportError, error_from_rpc

T = TypeVar("T")


class AsyncConnections:
    """Channels to one endpoint, used in turn, opened at the first call in its event loop. Deadlines as there."""

    def __init__(self, endpoint: Endpoint, retry: Retry) -> None:
        self._endpoint = endpoint
        self._retry = retry
        self._channels: list[grpc.aio.Channel] = []
        self._methods: list[Mapping[str, Any]] = []
        self._turn = itertools.count()
        self._is_closed = False

    async def close(self) -> None:
        """Close the channels; calls in flight in other tasks end with a `TransportError` (CANCELLED)."""
        self._is_closed = True
        for channel in self._channels:
            await channel.close(grace=None)

    async def ask(self, method: str, payload: bytes, deadline_s: float) -> Any:
        """The reply of a unary method."""

        async def attempt(send: Callable[[bytes], Any]) -> Any:
            return await send(payload)

        return await self._repeat(method, attempt, deadline_s)

    async def fetch(self, download: Download, deadline_s: float) -> None:
        """Receive what `download` is missing; a stream that breaks is followed by one that goes on from there."""

        async def attempt(send: Callable[[bytes], Any]) -> None:
            stream = send(download.request())
            try:
                async for message in stream:
                    download.take(message)
            finally:
                stream.cancel()

        await self._repeat("GetArtifact", attempt, deadline_s)

    async def _repeat(
        self, method: str, attempt: Callable[[Callable[[bytes], Any]], Awaitable[T]], deadline_s: float
    ) -> T:
        """Attempts, each on the next connection, until a reply, a lasting error or the deadline."""
        n_attempts = 0
        while not self._is_closed:
            n_attempts += 1
            remaining_s = deadline_s - time.monotonic()
            send = functools.partial(
                self._next_methods()[method],
                timeout=None if remaining_s == math.inf else max(0.0, remaining_s),
                metadata=self._endpoint.metadata,
            )
            try:
                return await attempt(send)
            except grpc.RpcError as fault:
                error = error_from_rpc(fault)
                delay_s = self._retry.delay_s(n_attempts, error, deadline_s - time.monotonic())
                if delay_s is None:
                    raise error from fault
                await asyncio.sleep(delay_s)
            except (asyncio.CancelledError, grpc.aio.UsageError):
                # Closing the client cancels its calls too; that must not look like the caller's own cancel.
                task = asyncio.current_task()
                if not self._is_closed or (task is not None and task.cancelling()):
                    raise
        raise TransportError("the client is closed", code=grpc.StatusCode.CANCELLED)

    def _next_methods(self) -> Mapping[str, Any]:
        if not self._channels:
            endpoint = self._endpoint
            self._channels = [
                grpc.aio.insecure_channel(target, options=endpoint.options)
                if endpoint.credentials is None
                else grpc.aio.secure_channel(target, endpoint.credentials, options=endpoint.options)
                for target in endpoint.targets
            ]
            self._methods = [open_methods(channel) for channel in self._channels]
        return self._methods[next(self._turn) % len(self._methods)]
