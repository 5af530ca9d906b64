"""HTTP/2 frames by hand, for what no well-behaved client sends: calls whose body never comes."""

from __future__ import annotations

import socket
import struct
from types import TracebackType

from tests.contract.process import PATIENCE_S

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS, _SETTINGS, _PING = 1, 4, 6
_ACK = 1
_END_HEADERS = 4


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
    """One connection that opens calls and sends nothing more."""

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
            head = self._file.read(9)
            assert len(head) == 9, "the server closed the connection"
            payload = self._file.read(int.from_bytes(head[:3], "big"))
            if (head[3], head[4] & _ACK, payload) == (_PING, _ACK, b"all sent"):
                return
