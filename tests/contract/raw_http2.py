"""HTTP/2 frames by hand, for what no well-behaved client does: calls whose body never comes, replies never read."""

from __future__ import annotations

import socket
import struct
from types import TracebackType

from tests.contract.process import PATIENCE_S

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
_ACK = _END_STREAM = 1
_END_HEADERS = 4
WINDOW_BYTES = 65_535
"""What a server may send on a connection before it is allowed more."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header_block(path: str) -> bytes:
    """The headers of a gRPC call, each as a literal that is not indexed."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "x",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    block = b""
    for name, value in fields.items():
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return block


class Connection:
    """One connection that does what it is told and nothing more: it allows no more bytes and answers no ping."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self._file = self._socket.makefile("rb")
        self._socket.sendall(_PREFACE + frame(_SETTINGS, 0, 0) + frame(_SETTINGS, _ACK, 0))

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._socket.close()

    def open_calls(self, path: str, n_calls: int) -> None:
        """Send the headers of so many calls, and wait until the server has read them all."""
        block = header_block(path)
        opened = b"".join(frame(_HEADERS, _END_HEADERS, 1 + 2 * index, block) for index in range(n_calls))
        self._socket.sendall(opened + frame(_PING, 0, 0, b"all sent"))
        while True:
            kind, flags, payload = self._read_frame()
            if (kind, flags & _ACK, payload) == (_PING, _ACK, b"all sent"):
                return

    def call(self, path: str, message: bytes) -> None:
        """Make one whole call, the only one of this connection."""
        prefixed = b"\0" + struct.pack(">I", len(message)) + message
        self._socket.sendall(
            frame(_HEADERS, _END_HEADERS, 1, header_block(path)) + frame(_DATA, _END_STREAM, 1, prefixed)
        )

    def allow(self, n_bytes: int) -> None:
        """Let the server send so many bytes more."""
        increment = struct.pack(">I", n_bytes)
        self._socket.sendall(frame(_WINDOW_UPDATE, 0, 0, increment) + frame(_WINDOW_UPDATE, 0, 1, increment))

    def read(self, n_bytes: int) -> bytes:
        """At least so many bytes of the call's reply, messages with their prefixes."""
        data = b""
        while len(data) < n_bytes:
            kind, _, payload = self._read_frame()
            assert kind != _RESET, "the server reset the call"
            data += payload if kind == _DATA else b""
        return data

    def read_to_end(self) -> bytes:
        """The rest of the call's reply, up to its status."""
        data = b""
        while True:
            kind, flags, payload = self._read_frame()
            assert kind != _RESET, "the server reset the call"
            data += payload if kind == _DATA else b""
            if kind == _HEADERS and flags & _END_STREAM:
                return data

    def _read_frame(self) -> tuple[int, int, bytes]:
        head = self._file.read(9)
        assert len(head) == 9, "the server closed the connection"
        return head[3], head[4], self._file.read(int.from_bytes(head[:3], "big"))
