"""From an address to channels: targets, TLS, channel options, and where a token may travel.

A channel is one connection and a server of several processes balances connections, not calls, so a client
opens several channels with a subchannel pool of their own and takes them in turn.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import grpc
from google.protobuf import message_factory

from tokenwire.v1 import tokenizer_pb2

DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""The largest request or reply, as on the server by default."""

_HOST_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})")
_TOKEN = re.compile(r"[!-~]+")
_SERVICE = tokenizer_pb2.DESCRIPTOR.services_by_name["TokenizerService"]


@dataclass(frozen=True, slots=True)
class Tls:
    """TLS towards the server. Each part is PEM as `bytes`, or the path of a PEM file.

    `ca`: the roots to trust; None: the ones gRPC ships. `cert` with `key`: this client's own, for mutual TLS.
    `server_name`: the name the server's certificate must have, where it differs from the address.
    """

    ca: bytes | str | os.PathLike[str] | None = None
    cert: bytes | str | os.PathLike[str] | None = None
    key: bytes | str | os.PathLike[str] | None = field(default=None, repr=False)
    server_name: str | None = None

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise ValueError("mutual TLS needs both cert and key; give both, or neither")

    def credentials(self) -> grpc.ChannelCredentials:
        """Raises OSError where a file cannot be read."""
        return grpc.ssl_channel_credentials(_read_pem(self.ca), _read_pem(self.key), _read_pem(self.cert))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how to connect: a target for each channel, their options, and the metadata of each call."""

    targets: tuple[str, ...]
    options: tuple[tuple[str, Any], ...]
    credentials: grpc.ChannelCredentials | None
    metadata: tuple[tuple[str, str], ...] = field(repr=False)


def resolve(
    address: str, *, tls: Tls | None, token: str | None, connections: int, max_message_bytes: int
) -> Endpoint:
    """`HOST:PORT`, `unix:/path/to.sock`, or `unix:/dir/` for every `*.sock` in it, at least one channel each.

    Raises ValueError for an address of another form, a directory without sockets, a malformed token, or a
    token that would travel in clear beyond this machine.
    """
    if connections < 1:
        raise ValueError(f"connections is {connections}; a client needs at least 1")
    if not 1 <= max_message_bytes < 2**31:
        raise ValueError(f"max_message_bytes is {max_message_bytes}; it must be at least 1 and below 2 GiB")
    is_local = address.startswith("unix:")
    if is_local:
        paths = _socket_paths(address.removeprefix("unix:"))
        targets = [f"unix:{path}" for path in paths]
    else:
        match = _HOST_PORT.fullmatch(address)
        if match is None or int(match["port"]) > 65_535:
            raise ValueError("the address is none of HOST:PORT, unix:/path/to.sock and unix:/directory/")
        is_local = _is_loopback(match["host"].strip("[]"))
        targets = [address]
    options: list[tuple[str, Any]] = [
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.enable_retries", 0),  # retries are ours: bounded, and inside the caller's deadline
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 5_000),
    ]
    if is_local:
        # A proxy from the environment would take the call, and a token with it, off this machine.
        options.append(("grpc.enable_http_proxy", 0))
    if tls is not None and tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
    return Endpoint(
        targets=tuple(targets[i % len(targets)] for i in range(max(connections, len(targets)))),
        options=tuple(options),
        credentials=None if tls is None else tls.credentials(),
        metadata=() if token is None else (_authorization(token, is_safe=is_local or tls is not None),),
    )


class Channel(Protocol):
    """What `grpc.Channel` and `grpc.aio.Channel` have in common here."""

    @property
    def unary_unary(self) -> Any: ...
    @property
    def unary_stream(self) -> Any: ...


def open_methods(channel: Channel) -> Mapping[str, Any]:
    """The callable of each RPC by its name, taken from the service's descriptor. It takes the request's bytes."""
    return {
        method.name: (channel.unary_stream if method.server_streaming else channel.unary_unary)(
            f"/{_SERVICE.full_name}/{method.name}",
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )
        for method in _SERVICE.methods
        if not method.client_streaming
    }


def _read_pem(source: bytes | str | os.PathLike[str] | None) -> bytes | None:
    return source if source is None or isinstance(source, bytes) else Path(source).read_bytes()


def _socket_paths(name: str) -> list[Path]:
    """A path that is no directory is one socket, which need not exist yet."""
    path = Path(name).absolute()
    if not name.endswith("/") and not path.is_dir():
        return [path]
    sockets = sorted(path.glob("*.sock"))
    if not sockets:
        raise ValueError(
            "the unix: directory holds no *.sock; is the server running, with --unix of this directory?"
        )
    return sockets


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _authorization(token: str, *, is_safe: bool) -> tuple[str, str]:
    """The messages never hold the token; gRPC's own complaint about malformed metadata would."""
    if not _TOKEN.fullmatch(token):
        raise ValueError("the token is empty or has a blank, a control or a non-ASCII character")
    if not is_safe:
        raise ValueError("a token is sent over TLS, a unix socket or loopback only; set up TLS")
    return ("authorization", f"Bearer {token}")
