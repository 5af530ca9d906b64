"""The transport on `grpc.aio`: sockets, channel limits, and calls handed to the methods as raw bytes.

No call holds a thread while its message has not come: `grpc.aio` waits by event, so thousands of calls
whose body never arrives cost memory and nothing else. Requests below the inline limit are worked off on the
event loop, larger ones and those that may run long by a small pool of threads whose work releases the GIL.
A stream is worked off one message at a time, the next not before the last went into the socket, by one
further thread, so that no encoding waits for an artifact. A reader that is too slow loses its place; one that
does not even read the status it then gets keeps a message in C-core until its connection counts as idle.
C-core refuses messages somewhat over our limit by itself, with the same status code but no reason; the
margin lets the guard answer the honest mistakes.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import grpc
import grpc.aio

from tokenwire_server import security
from tokenwire_server.call import Call, CallCancelled, Method, StreamMethod
from tokenwire_server.config import Config, split_address
from tokenwire_server.errors import ConfigError, Fault
from tokenwire_server.guard import STREAM_RETRY_S, Guard, Ticket
from tokenwire_server.limits import MIB, Limits

SOCKET_NAME = "tokenwire.sock"
DETAILS_KEY = "grpc-status-details-bin"
_MARGIN_BYTES = MIB  # How far over the message limit a request still gets an answer with a reason.
_MAX_SOCKET_PATH_BYTES = 107
_STATUS_OF_CODE = {code.value[0]: code for code in grpc.StatusCode}

Context = grpc.aio.ServicerContext[Any, Any]
Handler = Callable[[bytes, Context], Awaitable[bytes]]
StreamHandler = Callable[[bytes, Context], Awaitable[None]]


class AioTransport:
    """One server on the event loop that makes it. `start`, then `stop` once."""

    def __init__(
        self,
        config: Config,
        guard: Guard,
        service_name: str,
        methods: Mapping[str, tuple[str, Method]],
        streams: Mapping[str, tuple[str, StreamMethod]],
        may_run_long: Callable[[bytes], bool],
        add_services: Callable[[grpc.aio.Server], None],
    ) -> None:
        self._config = config
        self._guard = guard
        self._may_run_long = may_run_long
        self._pool = ThreadPoolExecutor(config.limits.encoder_threads, thread_name_prefix="encode")
        self._stream_pool = ThreadPoolExecutor(1, thread_name_prefix="stream")
        self._server = grpc.aio.server(options=channel_options(config.limits))
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(self._handler(operation, method))
            for name, (operation, method) in methods.items()
        } | {
            name: grpc.unary_stream_rpc_method_handler(self._stream_handler(operation, method))
            for name, (operation, method) in streams.items()
        }
        self._server.add_generic_rpc_handlers((_Handlers(service_name, handlers),))
        add_services(self._server)
        self._socket: Path | None = None

    async def start(self) -> dict[str, str]:
        """Listen as configured; gives the addresses, `tcp` and `unix`, with their real ports.

        Raises `ConfigError` where an address cannot be had.
        """
        addresses = {}
        config = self._config
        if config.listen is not None:
            host, _ = split_address(config.listen)
            creds = security.credentials(config.tls) if config.tls is not None else None
            port = self._bind(config.listen, creds)
            addresses["tcp"] = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if config.unix is not None:
            self._socket = prepare_socket(config.unix)
            self._bind(f"unix:{self._socket}", None)
            addresses["unix"] = f"unix:{self._socket}"
        await self._server.start()
        return addresses

    async def stop(self, grace_s: float) -> None:
        """Close the listeners, give what is still being sent `grace_s`, then cut it off."""
        await self._server.stop(grace_s)
        for pool in (self._pool, self._stream_pool):
            pool.shutdown(wait=False, cancel_futures=True)
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)

    def _bind(self, address: str, creds: grpc.ServerCredentials | None) -> int:
        try:
            if creds is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, creds)
        except RuntimeError:
            what = "is taken, not on this machine or not permitted"
            if creds is not None:
                what += ", or the certificate and key do not belong together"
            raise ConfigError(f"cannot listen on {address}: it {what}") from None

    def _handler(self, operation: str, method: Method) -> Handler:
        guard = self._guard
        inline_bytes = self._config.limits.inline_bytes

        async def handle(request: bytes, context: Context) -> bytes:
            call = self._call(operation, context)
            inline = len(request) < inline_bytes and not self._may_run_long(request)
            try:
                ticket = guard.admit(operation, len(request), queued=not inline)
                if inline:
                    try:
                        return guard.run(method, request, call)
                    finally:
                        ticket.release()
                work = self._pool.submit(guard.run, method, request, call)
                # The ticket goes back when the work ends, which may be after the caller has gone.
                work.add_done_callback(lambda _: ticket.release())
                try:
                    return await asyncio.wrap_future(work)
                except asyncio.CancelledError:
                    call.cancelled = True
                    raise
            except Fault as fault:
                return await abort(context, fault)
            except CallCancelled:
                raise asyncio.CancelledError from None

        return handle

    def _stream_handler(self, operation: str, method: StreamMethod) -> StreamHandler:
        guard = self._guard
        limit_s = self._config.limits.artifact_stream_s

        async def handle(request: bytes, context: Context) -> None:
            call = self._call(operation, context)
            try:
                ticket = guard.admit(operation, len(request), queued=True, stream=True)
                call.hold = ticket.hold
                async with asyncio.timeout(limit_s):
                    await self._send(guard.stream(method, request, call), call, ticket, context)
            except TimeoutError:
                fault = guard.shed(
                    "artifact_stream_s",
                    f"the stream was not read within {limit_s:g} s and has lost its place; go on after the delay, "
                    "from the bytes that came",
                    STREAM_RETRY_S,
                )
                await abort(context, guard.refuse(fault))
            except Fault as fault:
                await abort(context, fault)
            except CallCancelled:
                raise asyncio.CancelledError from None

        return handle

    async def _send(self, parts: Generator[bytes], call: Call, ticket: Ticket, context: Context) -> None:
        """Write each of `parts` once the one before is on its way; give the ticket back when all work has ended."""
        work = self._stream_pool.submit(next, parts, None)
        try:
            while (part := await asyncio.wrap_future(work)) is not None:
                await context.write(part)
                work = self._stream_pool.submit(next, parts, None)
        finally:
            call.cancelled = True  # Whatever part is being made now is not wanted.
            work.add_done_callback(lambda _: _end(parts, ticket))

    def _call(self, operation: str, context: Context) -> Call:
        tls = self._config.tls
        return Call(
            operation,
            self._guard.deadline_s(context.time_remaining()),
            tuple(context.invocation_metadata() or ()),
            security.identity(context.auth_context())
            if tls is not None and tls.client_ca is not None
            else "",
        )


def _end(parts: Generator[bytes], ticket: Ticket) -> None:
    """Let go of what a stream holds, and only then of its place."""
    parts.close()
    ticket.release()


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # it takes none when it runs
    """Finds the handler of a method; an unknown method of our service is refused with a reason."""

    def __init__(self, service_name: str, handlers: Mapping[str, grpc.RpcMethodHandler[Any, Any]]) -> None:
        self._prefix = f"/{service_name}/"
        self._handlers = {self._prefix + name: handler for name, handler in handlers.items()}
        self._unknown = grpc.unary_unary_rpc_method_handler(_refuse_method)

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """The handler for a call, or None for a service that is not ours."""
        handler = self._handlers.get(details.method)
        return self._unknown if handler is None and details.method.startswith(self._prefix) else handler


async def _refuse_method(_request: bytes, context: Context) -> bytes:
    return await abort(
        context,
        Fault("NOT_SUPPORTED", "this version of the service has no such method; ask for its reflection"),
    )


async def abort(context: Context, fault: Fault) -> NoReturn:
    """End the call with the fault's status, its message in the clear and its details in the trailer."""
    await context.abort(
        _STATUS_OF_CODE[fault.code],
        fault.message,
        ((DETAILS_KEY, fault.status().SerializeToString()),),
    )


def channel_options(limits: Limits) -> list[tuple[str, int]]:
    """The channel arguments of the server: what a stranger may take, and when connections close."""
    # Calls that came but were not yet handed to the loop. By default C-core cancels some at random beyond 1,000 of
    # them, honest ones too; here the bounds on connections and streams are the bound.
    pending = limits.connections * limits.streams_per_connection
    return [
        ("grpc.server.max_pending_requests", pending),
        ("grpc.server.max_pending_requests_hard_limit", pending),
        ("grpc.max_receive_message_length", limits.message_bytes + _MARGIN_BYTES),
        ("grpc.max_send_message_length", limits.message_bytes + _MARGIN_BYTES),
        ("grpc.max_concurrent_streams", limits.streams_per_connection),
        ("grpc.max_metadata_size", limits.metadata_bytes // 2),
        ("grpc.absolute_max_metadata_size", limits.metadata_bytes),
        ("grpc.max_allowed_incoming_connections", limits.connections),
        ("grpc.max_connection_idle_ms", int(limits.connection_idle_s * 1000)),
        ("grpc.max_connection_age_ms", int(limits.connection_age_s * 1000)),
        ("grpc.max_connection_age_grace_ms", int(limits.connection_age_grace_s * 1000)),
        ("grpc.http2.max_ping_strikes", 2),
        ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
        ("grpc.so_reuseport", 0),
    ]


def prepare_socket(folder: Path) -> Path:
    """The path of the unix socket in `folder`, made where missing; a socket nobody listens on is removed.

    Raises `ConfigError` where another server listens there, or the place is not usable.
    """
    path = folder.resolve() / SOCKET_NAME
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH_BYTES:
        raise ConfigError(
            f"the path of a unix socket has at most {_MAX_SOCKET_PATH_BYTES} bytes; use a shorter folder"
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.path.lexists(path):
            if not stat.S_ISSOCK(os.lstat(path).st_mode):
                raise ConfigError(f"{path} is there and is no socket; remove it, or use another folder")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                if probe.connect_ex(str(path)) == 0:
                    raise ConfigError(f"another server listens on {path}; stop it, or use another folder")
            path.unlink()
    except OSError as error:
        raise ConfigError(f"cannot use {folder} for the unix socket: {error.strerror}") from None
    return path
