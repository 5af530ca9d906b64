"""Exchange: one GET with its redirects, and the answer's body in pieces, within bounds."""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import math
import netrc
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Self
from urllib.parse import urljoin, urlsplit

from tokenwire_server.pull.connect import (
    PIECE_BYTES,
    RETRIED,
    Interrupted,
    Resolver,
    Route,
    Wire,
    check_public,
    connect,
)
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Access, Bounds, Remote
from tokenwire_server.pull.urls import Address, basic, read_address

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Exchange:
    """Everything that one file's requests share: where it is, its deadline, and the addresses that were looked up."""

    def __init__(self, remote: Remote, bounds: Bounds) -> None:
        """Raises `PullError`: INSECURE_URL, BAD_SETTING."""
        origin = read_address(remote.url)
        if origin is None:
            raise PullError("BAD_SETTING", "the address of a file is not an http(s) URL")
        if origin.scheme != "https" and not remote.access.allow_plain_http:
            raise PullError("INSECURE_URL", f"{origin.shown} is not https; write the https address")
        self.origin = origin
        self.until = time.monotonic() + bounds.timeout_s
        self._bounds = bounds
        self._accept = remote.accept
        self._access = remote.access
        self._given = remote.given_by_registry
        if remote.access.authorization is None:
            self._access = replace(remote.access, authorization=origin.authorization or _netrc(origin.host))
        self._resolver = Resolver()

    def get(self, headers: Mapping[str, str]) -> Answer:
        """The answer of status 200, or also 206 and 416 if `headers` ask for a range. Raises `PullError`."""
        address, access = self.origin, self._access
        if self._given and not access.allow_private_redirects:
            check_public(address, access, self._resolver, self._hop_until())
        for _ in range(self._bounds.redirects + 1):
            answer = self._ask(address, access, headers)
            if answer.status not in _REDIRECTS:
                try:
                    answer.check_status(ranged="Range" in headers)
                except BaseException:
                    answer.close()
                    raise
                return answer
            with answer:
                address, access = self._redirect(address, answer.header("Location"), access)
        raise PullError(
            "TOO_MANY_REDIRECTS",
            f"{self.origin.authority} redirects more than {self._bounds.redirects} times; write the address "
            "where the file is",
        )

    def _redirect(self, address: Address, location: str, access: Access) -> tuple[Address, Access]:
        """Where to ask next, and what of the access goes along."""
        # Header values come as Latin-1; what is meant is bytes.
        target = None
        with contextlib.suppress(ValueError):
            location = location.encode("latin-1").decode("utf-8", "replace")
            target = read_address(urljoin(address.url, location)) if location else None
            if target is None and urlsplit(location).scheme not in ("", "http", "https"):
                raise PullError(
                    "REDIRECT_SCHEME", f"{address.authority} redirects to something other than http(s)"
                )
        if target is None:
            raise PullError("HTTP_STATUS", f"{address.authority} redirects to an address that cannot be read")
        if target.scheme != address.scheme:
            raise PullError(
                "REDIRECT_SCHEME",
                f"{address.authority} redirects from {address.scheme} to {target.scheme}; write the address where "
                "the file is",
            )
        if target.scheme == "http" and target.host != self.origin.host:
            raise PullError(
                "INSECURE_URL",
                f"{address.authority} redirects to {target.authority}, which is not trusted without TLS",
            )
        if target.origin != self.origin.origin and not access.allow_private_redirects:
            check_public(target, access, self._resolver, self._hop_until())
        if target.origin != address.origin:
            access = replace(access, authorization=None, client_cert=None)
        return target, access

    def _ask(self, address: Address, access: Access, headers: Mapping[str, str]) -> Answer:
        route = connect(address, access, self._resolver, self._hop_until())
        try:
            with _talking(address, self._bounds):
                route.wire.sendall(self._request(address, access, route, headers))
                response = http.client.HTTPResponse(route.wire, method="GET")  # type: ignore[arg-type]  # see Wire
                response.begin()
        except BaseException:
            route.wire.close()
            raise
        return Answer(address, response, route.wire, self._bounds, self.until)

    def _request(self, address: Address, access: Access, route: Route, headers: Mapping[str, str]) -> bytes:
        parts = urlsplit(address.url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        lines = {
            "Host": address.authority,
            "User-Agent": f"tokenwire/{_version()}",
            "Accept": self._accept,
            "Accept-Encoding": "identity",
            "Connection": "close",
            **headers,
        }
        if access.authorization:
            lines["Authorization"] = access.authorization
        if route.proxy is not None:
            target = address.url
            if route.proxy.authorization:
                lines["Proxy-Authorization"] = route.proxy.authorization
        head = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items())]
        if any(not line.isprintable() or not line.isascii() for line in head):
            raise PullError(
                "BAD_SETTING", f"a header for {address.authority} has characters that no header takes"
            )
        return "\r\n".join((*head, "", "")).encode("ascii")

    def _hop_until(self) -> float:
        return min(self.until, time.monotonic() + self._bounds.grace_s)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host answered: status and headers, and a body that is read once. Close it, or use it as a context."""

    address: Address
    _response: http.client.HTTPResponse
    _wire: Wire
    _bounds: Bounds
    _until: float

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._response.close()
        self._wire.close()

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def length(self) -> int | None:
        """The bytes of the body, where they were announced."""
        return self._response.length

    def header(self, name: str) -> str:
        """A header's value, empty where there is none."""
        return self._response.headers.get(name, "").strip()

    def check_status(self, ranged: bool) -> None:
        """Raises `PullError` unless the body is the file, or a range of it."""
        host = self.address.authority
        status = self.status
        if status == 200 or (ranged and status in (206, 416)):
            coding = self.header("Content-Encoding").lower()
            if coding not in ("", "identity"):
                raise PullError(
                    "HTTP_STATUS", f"{host} sends the file compressed as nobody asked; have it sent as it is"
                )
            return
        if status in (404, 410):
            raise PullError("NOT_FOUND", f"{host} answered {status}: no such file, package or version there")
        if status in (401, 403):
            raise PullError(
                "HTTP_STATUS",
                f"{host} answered {status}: check the credentials for it in ~/.netrc or in the settings of the "
                "client (pip, npm, HF_TOKEN)",
            )
        if status in RETRIED:
            raise Interrupted(
                "HTTP_STATUS", f"{host} answered {status}: try again later", self._retry_after_s()
            )
        raise PullError("HTTP_STATUS", f"{host} answered {status}, where 200 and the file were expected")

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes. Raises CONNECTION_LOST as `Interrupted` if it ends early, and TOO_SLOW.

        The next byte is due before the least rate would be missed: both are one deadline.
        """
        start = time.monotonic()
        length = self.length
        received = 0
        while length is None or received < length:
            rate = self._bounds.min_bytes_per_s
            allowed_s = max(self._bounds.grace_s, received / rate if rate else math.inf)
            self._wire.until = min(self._until, time.monotonic() + self._bounds.grace_s, start + allowed_s)
            with _talking(self.address, self._bounds):
                piece = self._response.read1(
                    PIECE_BYTES if length is None else min(PIECE_BYTES, length - received)
                )
            if not piece:
                if length is None:
                    return
                raise lost(self.address)
            received += len(piece)
            yield piece

    def _retry_after_s(self) -> float:
        """Retry-After in seconds, which is a number of them or a date; 0 where there is none that can be read."""
        text = self.header("Retry-After")
        if text.isascii() and text.isdigit() and len(text) < 10:
            return float(text)
        try:
            return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
        except (ValueError, OverflowError):
            return 0.0


@contextlib.contextmanager
def _talking(address: Address, bounds: Bounds) -> Iterator[None]:
    """What goes wrong between request and last byte, in the words of the table."""
    try:
        yield
    except TimeoutError:
        raise PullError(
            "TOO_SLOW",
            f"{address.authority} is too slow: at most {bounds.grace_s:g} s of silence, at least "
            f"{bounds.min_bytes_per_s} bytes/s and all within {bounds.timeout_s:g} s are allowed; try again later",
        ) from None
    except (OSError, http.client.IncompleteRead):
        raise lost(address) from None
    except (http.client.HTTPException, ValueError):
        raise PullError("HTTP_STATUS", f"what {address.authority} answers is not HTTP") from None


def lost(address: Address) -> Interrupted:
    """The fault of a transfer that ended too early."""
    return Interrupted(
        "CONNECTION_LOST", f"{address.authority} broke off before the end; pull again to go on from there"
    )


def _netrc(host: str) -> str | None:
    """Basic credentials for a host that ~/.netrc (or the file NETRC names) lists; its `default` entry is not sent."""
    path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
    try:
        entry = netrc.netrc(path).hosts.get(host)
    except FileNotFoundError:
        return None
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None)
        raise PullError(
            "BAD_SETTING",
            f"{path} cannot be read{f', line {line}' if line else ''}; mend it, or name another in NETRC",
        ) from None
    return basic(entry[0], entry[2]) if entry else None


def _version() -> str:
    try:
        return version("tokenwire-server")
    except PackageNotFoundError:  # run from a checkout
        return "0"
