"""The asyncio client, the mirror of `_client.py`; what a call sends and reads is in `_calls.py`."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar, Unpack, overload

import grpc
import grpc.aio

from tokenwire import _calls
from tokenwire._channels import DEFAULT_MAX_MESSAGE_BYTES, Tls, open_methods, resolve
from tokenwire._options import CountDetailsOptions, CountOptions, EncodeOptions, Text, TruncateOptions
from tokenwire._results import Encoding, TokenCount, TokenizerInfo, Truncation
from tokenwire._retry import DEFAULT_RETRY, Retry
from tokenwire.errors import TokenwireError, TransportError, error_from_rpc

T = TypeVar("T")

# `overload-overlap` below: a str is a Sequence[str] too, and the first overload is meant to take it.


class AsyncClient:
    """The asyncio `Client`: the same arguments, methods, results and errors, to be awaited.

    Connections open at the first call, in the event loop of that call, and belong to it. A cancelled task
    cancels its call, which is then not repeated.
    """

    def __init__(
        self,
        address: str,
        *,
        tls: Tls | None = None,
        token: str | None = None,
        timeout_s: float = 30.0,
        connections: int = 2,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        retry: Retry = DEFAULT_RETRY,
    ) -> None:
        self._endpoint = resolve(
            address, tls=tls, token=token, connections=connections, max_message_bytes=max_message_bytes
        )
        self._timeout_s = timeout_s
        self._max_message_bytes = max_message_bytes
        self._retry = retry
        self._channels: list[grpc.aio.Channel] = []
        self._methods: list[Mapping[str, Any]] = []
        self._turn = itertools.count()
        self._is_closed = False

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; calls in flight in other tasks end with a `TransportError` (CANCELLED)."""
        self._is_closed = True
        for channel in self._channels:
            await channel.close(grace=None)

    @overload
    async def encode(  # type: ignore[overload-overlap]
        self, tokenizer: str, text: Text, *, timeout_s: float | None = None, **options: Unpack[EncodeOptions]
    ) -> Encoding: ...
    @overload
    async def encode(
        self,
        tokenizer: str,
        text: Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[EncodeOptions],
    ) -> list[Encoding | TokenwireError]: ...
    async def encode(
        self,
        tokenizer: str,
        text: Text | Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[EncodeOptions],
    ) -> Encoding | list[Encoding | TokenwireError]:
        """Text to token ids. Options: `Client.encode`."""
        return await self._run(_calls.encode(tokenizer, text, **options), timeout_s)

    @overload
    async def count(  # type: ignore[overload-overlap]
        self, tokenizer: str, text: Text, *, timeout_s: float | None = None, **options: Unpack[CountOptions]
    ) -> int: ...
    @overload
    async def count(
        self,
        tokenizer: str,
        text: Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountOptions],
    ) -> list[int | TokenwireError]: ...
    async def count(
        self,
        tokenizer: str,
        text: Text | Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountOptions],
    ) -> int | list[int | TokenwireError]:
        """How many tokens a text has: len(encode(...).ids) of the same options. Options: `Client.count`."""
        return await self._run(_calls.count(tokenizer, text, **options), timeout_s)

    @overload
    async def count_details(  # type: ignore[overload-overlap]
        self,
        tokenizer: str,
        text: Text,
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountDetailsOptions],
    ) -> TokenCount: ...
    @overload
    async def count_details(
        self,
        tokenizer: str,
        text: Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountDetailsOptions],
    ) -> list[TokenCount | TokenwireError]: ...
    async def count_details(
        self,
        tokenizer: str,
        text: Text | Sequence[Text],
        *,
        timeout_s: float | None = None,
        **options: Unpack[CountDetailsOptions],
    ) -> TokenCount | list[TokenCount | TokenwireError]:
        """`count` with bytes, code points, whether it fits and whether it is NFC. Options: `Client.count_details`."""
        return await self._run(_calls.count_details(tokenizer, text, **options), timeout_s)

    @overload
    async def truncate(  # type: ignore[overload-overlap]
        self,
        tokenizer: str,
        text: Text,
        max_tokens: int,
        *,
        timeout_s: float | None = None,
        **options: Unpack[TruncateOptions],
    ) -> Truncation: ...
    @overload
    async def truncate(
        self,
        tokenizer: str,
        text: Sequence[Text],
        max_tokens: int,
        *,
        timeout_s: float | None = None,
        **options: Unpack[TruncateOptions],
    ) -> list[Truncation | TokenwireError]: ...
    async def truncate(
        self,
        tokenizer: str,
        text: Text | Sequence[Text],
        max_tokens: int,
        *,
        timeout_s: float | None = None,
        **options: Unpack[TruncateOptions],
    ) -> Truncation | list[Truncation | TokenwireError]:
        """The longest start or end of a text within a budget of tokens. Options: `Client.truncate`."""
        return await self._run(_calls.truncate(tokenizer, text, max_tokens, **options), timeout_s)

    @overload
    async def decode(
        self,
        tokenizer: str,
        ids: Sequence[int],
        *,
        as_bytes: Literal[False] = False,
        skip_special: bool = False,
        language: str = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> str: ...
    @overload
    async def decode(
        self,
        tokenizer: str,
        ids: Sequence[int],
        *,
        as_bytes: Literal[True],
        skip_special: bool = False,
        language: str = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> bytes: ...
    @overload
    async def decode(
        self,
        tokenizer: str,
        ids: Sequence[Sequence[int]],
        *,
        as_bytes: Literal[False] = False,
        skip_special: bool = False,
        language: str | Sequence[str] = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> list[str | TokenwireError]: ...
    @overload
    async def decode(
        self,
        tokenizer: str,
        ids: Sequence[Sequence[int]],
        *,
        as_bytes: Literal[True],
        skip_special: bool = False,
        language: str | Sequence[str] = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> list[bytes | TokenwireError]: ...
    async def decode(
        self,
        tokenizer: str,
        ids: Sequence[int] | Sequence[Sequence[int]],
        *,
        as_bytes: bool = False,
        skip_special: bool = False,
        language: str | Sequence[str] = "",
        expect_digest: str = "",
        timeout_s: float | None = None,
    ) -> Any:
        """Ids to text, or with `as_bytes` to the exact bytes. Options: `Client.decode`."""
        call = _calls.decode(
            tokenizer,
            ids,
            skip_special=skip_special,
            as_bytes=as_bytes,
            language=language,
            expect_digest=expect_digest,
        )
        return await self._run(call, timeout_s)

    async def list_tokenizers(self, *, timeout_s: float | None = None) -> list[TokenizerInfo]:
        """The tokenizers the service is configured to serve, in the order of its manifest."""
        return await self._run_single(_calls.list_tokenizers(), timeout_s)

    async def get_tokenizer(self, name: str, *, timeout_s: float | None = None) -> TokenizerInfo:
        """One tokenizer by its name, an alias, or a model that uses it."""
        return await self._run_single(_calls.get_tokenizer(name), timeout_s)

    async def _run(self, call: _calls.Call[T], timeout_s: float | None) -> T | list[T | TokenwireError]:
        return call.answer(None if call.has_nothing_to_send else await self._send(call, timeout_s))

    async def _run_single(self, call: _calls.Call[T], timeout_s: float | None) -> T:
        return call.single_answer(await self._send(call, timeout_s))

    async def _send(self, call: _calls.Call[Any], timeout_s: float | None) -> Any:
        """Attempts, each on the next connection, until a reply, a lasting error or the deadline."""
        deadline_s = time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
        payload = call.payload(self._max_message_bytes)
        n_attempts = 0
        while not self._is_closed:
            n_attempts += 1
            method = self._next_methods()[call.method]
            remaining_s = deadline_s - time.monotonic()
            try:
                return await method(
                    payload,
                    timeout=None if remaining_s == math.inf else max(0.0, remaining_s),
                    metadata=self._endpoint.metadata,
                )
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
