"""A service on a real socket that answers each call from a script, so that a test decides every failure."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import tokenwire
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from tokenwire.v1 import tokenizer_pb2 as pb

Step = Callable[[Any, grpc.ServicerContext], Any]
SERVICE = "tokenwire.v1.TokenizerService"


def rich_status(
    reason: str,
    code: grpc.StatusCode,
    message: str = "a message",
    *,
    retry_after_s: float | None = None,
    domain: str = "tokenwire.dev",
    metadata: Mapping[str, str] | None = None,
) -> status_pb2.Status:
    """A status with the details the service sends."""
    details = [error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata)]
    status = status_pb2.Status(code=code.value[0], message=message)
    if retry_after_s is not None:
        retry_info = error_details_pb2.RetryInfo()
        retry_info.retry_delay.FromNanoseconds(int(retry_after_s * 1e9))
        details.append(retry_info)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


def fail(code: grpc.StatusCode, details: str = "no reason") -> Step:
    """A failure without details, as a proxy or the transport makes it."""

    def step(_request: Any, context: grpc.ServicerContext) -> Any:
        context.abort(code, details)

    return step


def refuse(status: status_pb2.Status) -> Step:
    """A failure with details, as the service makes it."""
    code = next(code for code in grpc.StatusCode if code.value[0] == status.code)

    def step(_request: Any, context: grpc.ServicerContext) -> Any:
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, status.message)

    return step


def count_bytes(request: pb.CountRequest, _context: grpc.ServicerContext) -> pb.CountResponse:
    """Answers with the number of bytes of each text as its count."""
    sizes = [len(item.utf8 or item.text.encode()) for item in request.inputs]
    return pb.CountResponse(
        digest="d", results=[pb.CountResult(count=pb.TokenCount(n_tokens=size)) for size in sizes]
    )


@dataclass
class FakeService:
    """`script` is consumed one step a call; after it, `default` answers. Records what came.

    The step of a GetArtifact is a generator.
    """

    address: str
    script: list[Step] = field(default_factory=list)
    default: Step = count_bytes
    requests: list[Any] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    peers: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Any, context: grpc.ServicerContext) -> Any:
        with self._lock:
            step = self.script.pop(0) if self.script else self.default
            self.requests.append(request)
            self.metadata.append(dict(context.invocation_metadata()))
            self.peers.add(context.peer())
        return step(request, context)


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # it takes none when it runs
    def __init__(self, service: FakeService) -> None:
        self._service = service

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        method = details.method.rsplit("/", 1)[1]
        make = (
            grpc.unary_stream_rpc_method_handler
            if method == "GetArtifact"
            else grpc.unary_unary_rpc_method_handler
        )
        return make(
            self._service.answer,
            request_deserializer=getattr(pb, f"{method}Request").FromString,
            response_serializer=lambda reply: reply.SerializeToString(),
        )


@contextmanager
def serving(address: str = "127.0.0.1:0") -> Iterator[FakeService]:
    """A running fake at `address`, by default on a free port."""
    server = grpc.server(
        futures.ThreadPoolExecutor(8),
        options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)],
    )
    port = server.add_insecure_port(address)
    service = FakeService(address if address.startswith("unix:") else f"127.0.0.1:{port}")
    server.add_generic_rpc_handlers((_Handlers(service),))
    server.start()
    try:
        yield service
    finally:
        server.stop(None).wait()


FAST = tokenwire.Retry(max_attempts=4, initial_backoff_s=0.001, max_backoff_s=0.002)
"""Back-off too short to be felt in a test."""

Ask = Callable[..., Any]


def ask_blocking(
    address: str, method: str, *args: Any, client: Mapping[str, Any] | None = None, **kwargs: Any
) -> Any:
    """One call through a `Client` of its own."""
    with tokenwire.Client(address, **{"retry": FAST, **(client or {})}) as opened:
        return getattr(opened, method)(*args, **kwargs)


def ask_async(
    address: str, method: str, *args: Any, client: Mapping[str, Any] | None = None, **kwargs: Any
) -> Any:
    """The same through an `AsyncClient`."""

    async def run() -> Any:
        async with tokenwire.AsyncClient(address, **{"retry": FAST, **(client or {})}) as opened:
            result = getattr(opened, method)(*args, **kwargs)
            assert inspect.isawaitable(result)
            return await result

    return asyncio.run(run())
