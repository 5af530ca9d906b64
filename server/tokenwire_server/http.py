"""The HTTP port: `/metrics`, `/healthz` (the process lives) and `/readyz` (it can answer every request).

Readiness is the AND of named conditions; the page says which are false, and names what they wait for. A small
bounded server of the standard library: GET and HEAD, no bodies, long pages compressed for those who take it, a
timeout on every socket, at most so many requests at once and the rest closed.
"""

from __future__ import annotations

import gzip
import re
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tokenwire_server import logs
from tokenwire_server.config import split_address
from tokenwire_server.errors import ConfigError

TIMEOUT_S = 5.0
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_METHODS = "GET, HEAD"
_COMPRESSED_BYTES = 4096
_COMPRESSION_LEVEL = 1  # 20 times smaller in 4 ms a megabyte; higher levels take longer for the same.
_TEXT_TYPE = "text/plain; charset=utf-8"


class HttpPort:
    """The server of one process, on threads of its own."""

    def __init__(
        self,
        address: str,
        metrics: Callable[[], bytes],
        conditions: Mapping[str, Callable[[], bool]],
        causes: Callable[[], Sequence[str]],
        max_connections: int,
    ) -> None:
        """Listens at once. `conditions` are asked at each `/readyz`, and `causes` for further lines to show there.

        Raises `ConfigError`.
        """

        def pages(path: str) -> tuple[int, str, bytes]:
            match path:
                case "/metrics":
                    return 200, _METRICS_TYPE, metrics()
                case "/healthz":
                    return 200, _TEXT_TYPE, b"ok\n"
                case "/readyz":
                    held = {name: holds() for name, holds in conditions.items()}
                    lines = [
                        *(f"{name}: {'yes' if value else 'no'}" for name, value in held.items()),
                        *causes(),
                    ]
                    return (
                        (200 if all(held.values()) else 503),
                        _TEXT_TYPE,
                        ("\n".join(lines) + "\n").encode(),
                    )
                case _:
                    return 404, _TEXT_TYPE, b"try /metrics, /healthz or /readyz\n"

        host, port = split_address(address)
        try:
            self._server = _Server((host, port), _handler(pages), max_connections)
        except OSError as error:
            raise ConfigError(f"cannot listen on {address} for http: {error.strerror}") from None
        bound = self._server.server_address[1]
        self.address = f"[{host}]:{bound}" if ":" in host else f"{host}:{bound}"
        """`host:port` with the real port."""
        threading.Thread(target=self._server.serve_forever, name="http", daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 16

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], max_connections: int
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._places = threading.BoundedSemaphore(max_connections)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  the base class's signature
        error = sys.exception()
        if not isinstance(error, OSError):  # A peer that went away or was too slow is no event.
            logs.error("http_broke", exception=error)


def _handler(pages: Callable[[str], tuple[int, str, bytes]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = TIMEOUT_S
        server_version = "tokenwire"
        sys_version = ""

        def do_GET(self) -> None:
            self._answer(*pages(self.path.partition("?")[0]))

        def do_HEAD(self) -> None:
            self.do_GET()

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            """What the base class refuses: 501 is its word for a method without a handler."""
            if code == HTTPStatus.NOT_IMPLEMENTED:
                code, message = HTTPStatus.METHOD_NOT_ALLOWED, f"only {_METHODS}"
            self._answer(code, _TEXT_TYPE, f"{message or explain or HTTPStatus(code).phrase}\n".encode())

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Vary", "Accept-Encoding")
            if len(body) >= _COMPRESSED_BYTES and _takes_gzip(self.headers):
                body = gzip.compress(body, _COMPRESSION_LEVEL, mtime=0)
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            if status == HTTPStatus.METHOD_NOT_ALLOWED:
                self.send_header("Allow", _METHODS)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing of a request goes to the log."""

    return Handler


def _takes_gzip(headers: Message) -> bool:
    """Whether the client named gzip among the encodings that it takes."""
    for item in headers.get("Accept-Encoding", "").split(","):
        name, _, quality = item.replace(" ", "").partition(";")
        if name.lower() == "gzip":
            return not re.fullmatch(r"q=0(\.0*)?", quality)
    return False
