"""The asyncio client, the mirror of `_client.py`; what a call sends and reads is in `_calls.py`."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from tokenwire import _calls, _local
from tokenwire._artifact import DEFAULT_MAX_ARTIFACT_BYTES, Download
from tokenwire._async_connections import AsyncConnections
from tokenwire._channels import DEFAULT_MAX_MESSAGE_BYTES, Tls, resolve
from tokenwire._options import CountDetailsOptions, CountOptions, EncodeOptions, Text, TruncateOptions
from tokenwire._results import Artifact, Encoding, TokenCount, TokenizerInfo, Truncation
from tokenwire._retry import DEFAULT_RETRY, Retry
from tokenwire.errors import TokenwireError

if TYPE_CHECKING:
    from tokenwire_core import Encoder

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
        max_artifact_bytes: int = DEFAULT_MAX_ARTIFACT_BYTES,
        retry: Retry = DEFAULT_RETRY,
    ) -> None:
        endpoint = resolve(
            address, tls=tls, token=token, connections=connections, max_message_bytes=max_message_bytes
        )
        self._timeout_s = timeout_s
        self._max_message_bytes = max_message_bytes
        self._max_artifact_bytes = max_artifact_bytes
        self._connections = AsyncConnections(endpoint, retry)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; calls in flight in other tasks end with a `TransportError` (CANCELLED)."""
        await self._connections.close()

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
        reference: bool = False,
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
        reference: bool = False,
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
        reference: bool = False,
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
            reference=reference,
            language=language,
            expect_digest=expect_digest,
        )
        return await self._run(call, timeout_s)

    async def list_tokenizers(self, *, timeout_s: float | None = None) -> list[TokenizerInfo]:
        """The tokenizers the service is configured to serve, in the order of its manifest."""
        return await self._run_single(_calls.list_tokenizers(), timeout_s)

    async def get_tokenizer(
        self, name: str, *, expect_digest: str = "", timeout_s: float | None = None
    ) -> TokenizerInfo:
        """One tokenizer by its name, an alias, or a model that uses it."""
        return await self._run_single(_calls.get_tokenizer(name, expect_digest=expect_digest), timeout_s)

    async def get_artifact(
        self, tokenizer: str, *, expect_digest: str = "", timeout_s: float | None = None
    ) -> Artifact:
        """The pinned bytes of a tokenizer, checked against their sha256: `Client.get_artifact`."""
        return await self._fetch(tokenizer, expect_digest, b"", self._deadline_s(timeout_s))

    async def local_encoder(
        self,
        tokenizer: str,
        *,
        expect_digest: str = "",
        cache_dir: str | os.PathLike[str] | None = None,
        timeout_s: float | None = None,
    ) -> Encoder:
        """The service's tokenizer as an encoder in this process: `Client.local_encoder`.

        Files, hashes and the load are worked off in a thread, so the event loop goes on meanwhile.
        """
        _local.core()  # Before anything is fetched.
        deadline_s = self._deadline_s(timeout_s)
        if cache_dir is None:
            artifact = await self._fetch(tokenizer, expect_digest, b"", deadline_s)
            return await asyncio.to_thread(_local.encoder, artifact)
        info = (await self._send(_calls.get_tokenizer(tokenizer), deadline_s)).tokenizer
        have = await asyncio.to_thread(_local.kept, cache_dir, info.sha256, self._max_artifact_bytes)
        artifact = await self._fetch(tokenizer, expect_digest or info.digest, have or b"", deadline_s)
        if have is None:
            await asyncio.to_thread(_local.keep, cache_dir, artifact)
        return await asyncio.to_thread(_local.encoder, artifact)

    async def _fetch(self, tokenizer: str, expect_digest: str, have: bytes, deadline_s: float) -> Artifact:
        download = Download(tokenizer, expect_digest, self._max_artifact_bytes, have)
        await self._connections.fetch(download, deadline_s)
        return await asyncio.to_thread(download.artifact)

    async def _run(self, call: _calls.Call[T], timeout_s: float | None) -> T | list[T | TokenwireError]:
        deadline_s = self._deadline_s(timeout_s)
        return call.answer(None if call.has_nothing_to_send else await self._send(call, deadline_s))

    async def _run_single(self, call: _calls.Call[T], timeout_s: float | None) -> T:
        return call.single_answer(await self._send(call, self._deadline_s(timeout_s)))

    async def _send(self, call: _calls.Call[Any], deadline_s: float) -> Any:
        return await self._connections.ask(call.method, call.payload(self._max_message_bytes), deadline_s)

    def _deadline_s(self, timeout_s: float | None) -> float:
        return time.monotonic() + (self._timeout_s if timeout_s is None else timeout_s)
