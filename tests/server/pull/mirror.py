"""A mirror for tests: a small HTTP or HTTPS server on loopback whose every misbehaviour is one field of an `Answer`.

    with Mirror({"/file": Answer(b"bytes", etag='"1"')}) as mirror:
        fetch(Remote(mirror.url + "/file", mirror.access), ...)
    assert mirror.requests[0].headers["range"] == "bytes=2-"

`routes` may be changed while it runs; a list of answers is given one after the other, the last one from then on.
A slow answer waits for `Mirror.released`, which the end of the block sets.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import trustme
from tokenwire_server.pull.remote import Access


@dataclass(frozen=True, slots=True)
class Answer:
    """What the mirror does when it is asked. The plain one sends `body` with its Content-Length."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    """More headers; they win over those that the fields below make."""
    etag: str = ""
    ranges: bool = True
    """Answer a Range whose If-Range is the `etag` (or that has none) with 206 or 416."""
    length: int | None = None
    """The Content-Length that is claimed, of the whole file, in place of the true one."""
    framing: str = "length"
    """`length`, `chunked`, or `close`: the end of the connection is the end of the body."""
    drop_after: int | None = None
    """Break the connection off after so many bytes of what would be sent of the body."""
    stall_after: int | None = None
    """After so many bytes of the body send nothing more until `Mirror.released`."""
    trickle: str = ""
    """Send byte after byte until `Mirror.released`, never silent for long and never done: in the `head`, the `body`,
    or in the line that gives the size of a `chunk`."""
    reset: bool = False
    """Break the connection off in place of an answer."""


def redirect(location: str, status: int = 302) -> Answer:
    """An answer that leads elsewhere."""
    return Answer(status=status, headers={"Location": location})


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came; header names are in lower case. `method` CONNECT: the mirror was used as a proxy."""

    method: str
    target: str
    headers: Mapping[str, str]


Routes = dict[str, Answer | Sequence[Answer]]


class Mirror:
    """The server, as a context. `requests` are those that came so far."""

    def __init__(
        self,
        routes: Routes | None = None,
        *,
        tls: Path | None = None,
        names: Sequence[str] = ("127.0.0.1", "localhost"),
    ) -> None:
        """`tls` is a folder for the certificate of its authority: with one the mirror speaks https as `names`."""
        self.routes: Routes = routes or {}
        self.requests: list[Request] = []
        self.released = threading.Event()
        self.ca: Path | None = None
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.mirror = self
        self.port = self._server.server_address[1]
        self.host = names[0]
        if tls is not None:
            authority = trustme.CA()
            self.ca = tls / f"ca-{self.port}.pem"
            authority.cert_pem.write_to_path(str(self.ca))
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert(*names).configure_cert(context)
            self._server.context = context
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return f"{'http' if self.ca is None else 'https'}://{self.host}:{self.port}"

    @property
    def access(self) -> Access:
        """What reaches this mirror, past any proxy of the environment."""
        return Access(ca=self.ca, proxy="", allow_plain_http=self.ca is None)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def next_answer(self, target: str) -> Answer:
        """The answer to a request for `target`; a route with a query comes before one without."""
        found = self.routes.get(target, self.routes.get(target.partition("?")[0], Answer(status=404)))
        if isinstance(found, Answer):
            return found
        if len(found) > 1:
            self.routes[target] = found[1:]
        return found[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    mirror: Mirror
    context: ssl.SSLContext | None = None

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), OSError):  # A client that hangs up, or trusts no such certificate.
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    protocol_version = "HTTP/1.1"
    timeout = 30
    cut = False

    def setup(self) -> None:
        if self.server.context is not None:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self) -> None:
        # A client that refuses what comes hangs up, and that is its right.
        with contextlib.suppress(OSError):
            super().handle()

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        if isinstance(self.connection, ssl.SSLSocket):  # The server knows the socket beneath it alone.
            with contextlib.suppress(OSError):
                if not self.cut:
                    self.connection.unwrap()
            self.connection.close()

    @property
    def mirror(self) -> Mirror:
        return self.server.mirror

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.mirror.requests.append(Request("GET", self.path, headers))
        path = re.sub(r"^http://[^/]*", "", self.path)  # as a proxy it is asked for whole URLs
        self._answer(self.mirror.next_answer(path), headers)

    def do_CONNECT(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.mirror.requests.append(Request("CONNECT", self.path, headers))
        answer = self.mirror.next_answer("CONNECT")
        if answer.status == 404:  # no route of that name: let it through
            self._tunnel()
        else:
            self._answer(answer, headers)

    def _tunnel(self) -> None:
        """To this machine at the port that was asked for, whatever the host's name: names are the proxy's."""
        port = int(self.path.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as other:
            self.send_response(200)
            self.end_headers()
            self.close_connection = True
            back = threading.Thread(target=_pump, args=(other, self.connection), daemon=True)
            back.start()
            _pump(self.connection, other)
            back.join()

    def _answer(self, answer: Answer, headers: Mapping[str, str]) -> None:
        self.close_connection = True
        if answer.reset:
            self._cut()
            return
        status, body, own = answer.status, answer.body, {}
        if answer.etag:
            own["ETag"] = answer.etag
        size = len(body) if answer.length is None else answer.length
        asked = re.fullmatch(r"bytes=(\d+)-", headers.get("range", ""))
        if asked and answer.ranges and status == 200 and headers.get("if-range", answer.etag) == answer.etag:
            start = int(asked[1])
            status = 206 if start < size else 416
            own["Content-Range"] = f"bytes {start}-{size - 1}/{size}" if status == 206 else f"bytes */{size}"
            body, size = (body[start:], size - start) if status == 206 else (b"", 0)
        if answer.framing == "length":
            own["Content-Length"] = str(size)
        elif answer.framing == "chunked":
            own["Transfer-Encoding"] = "chunked"
        self.send_response(status)
        for name, value in {**own, **answer.headers}.items():
            self.send_header(name, value)
        if answer.trickle == "head":
            self.flush_headers()
            self._trickle()
        self.end_headers()
        self._send(answer, body)

    def _trickle(self) -> None:
        while not self.mirror.released.wait(0.01):
            self.wfile.write(b"0")

    def _send(self, answer: Answer, body: bytes) -> None:
        stops = [at for at in (answer.drop_after, answer.stall_after) if at is not None]
        self._write(answer, body[: min(stops)] if stops else body)
        if answer.stall_after is not None:
            self.mirror.released.wait()
        if answer.trickle:
            self._trickle()
        if stops:
            self._cut()
        elif answer.framing == "chunked":
            self.wfile.write(b"0\r\n\r\n")

    def _write(self, answer: Answer, data: bytes) -> None:
        if answer.framing == "chunked" and data:
            half = (len(data) + 1) // 2
            for piece in filter(None, (data[:half], data[half:])):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        else:
            self.wfile.write(data)

    def _cut(self) -> None:
        self.cut = True
        # Of the socket alone: TLS must not say goodbye.
        socket.socket.shutdown(self.connection, socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
