"""Connect: from a host's name to a socket that was checked, in bounded time.

    resolve (once) -> is the address allowed? -> TCP to exactly that address -> CONNECT, through a proxy -> TLS

Every send and receive is bound by one moment, `Wire.until`: a peer that trickles header lines byte by byte gets no
more time than one that says nothing. (A socket's own timeout starts anew with every byte.)
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import queue
import socket
import ssl
import threading
import time
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Access
from tokenwire_server.pull.urls import Address, read_address

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PIECE_BYTES = 1 << 18
RETRIED = frozenset({429, 502, 503, 504})
"""Statuses that pass by themselves."""
_DOCUMENTATION = tuple(map(ipaddress.IPv4Network, ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")))
"""Set aside for examples: not global, but no private network either, so there is nothing to guard."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class Interrupted(PullError):  # noqa: N818  it is a state more than an error
    """A fault of the way, not of the bytes: what is there already is kept, and another try may do better.

    The next try is worth while after `retry_after_s` at the earliest; None: not in this run.
    """

    def __init__(self, reason: str, message: str, retry_after_s: float | None = 0.0) -> None:
        super().__init__(reason, message)
        self.retry_after_s = retry_after_s


class Wire:
    """A connected socket as `http.client.HTTPResponse` wants it; nothing on it lasts beyond `until`.

    `until` is a moment of `time.monotonic()`. Raises `TimeoutError` when it has come.
    """

    def __init__(self, sock: socket.socket, until: float) -> None:
        self.until = until
        self._sock = sock

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._left_s())
        self._sock.sendall(data)

    def receive(self, buffer: WriteableBuffer) -> int:
        self._sock.settimeout(self._left_s())
        return self._sock.recv_into(buffer)

    def makefile(self, _mode: str = "rb") -> io.BufferedReader:
        return io.BufferedReader(_Receiver(self), PIECE_BYTES)

    def encrypt(self, context: ssl.SSLContext, host: str) -> None:
        self._sock.settimeout(self._left_s())
        # A stream that ends without TLS saying so was cut off, by whomever.
        self._sock = context.wrap_socket(self._sock, server_hostname=host, suppress_ragged_eofs=False)

    def close(self) -> None:
        self._sock.close()

    def _left_s(self) -> float:
        left_s = self.until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s


class _Receiver(io.RawIOBase):
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._wire.receive(buffer)


@dataclass(frozen=True, slots=True)
class Route:
    """How a host is reached: straight, or by a proxy."""

    wire: Wire
    proxy: Address | None
    """A proxy that wants whole URLs in the request; None where it is not seen after CONNECT."""


class Resolver:
    """Names to addresses, each name asked for once: what was checked is what is connected to."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], list[str]] = {}

    def resolve(self, address: Address, until: float) -> list[str]:
        """The IP addresses of a host, in the system's order. Raises `Interrupted`."""
        key = (address.host, address.port)
        if key not in self._known:
            self._known[key] = self._ask(address, until)
        return self._known[key]

    def _ask(self, address: Address, until: float) -> list[str]:
        answer: queue.SimpleQueue[list[str] | str] = queue.SimpleQueue()

        def ask() -> None:
            try:
                found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
                answer.put(list(dict.fromkeys(str(entry[4][0]) for entry in found)))
            except (OSError, UnicodeError) as error:
                answer.put(getattr(error, "strerror", None) or "no such name")

        # The system's resolver cannot be interrupted; a daemon thread is left to it.
        threading.Thread(target=ask, name="resolve", daemon=True).start()
        try:
            found = answer.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            found = "no answer in time"
        if isinstance(found, str):
            raise Interrupted(
                "UNREACHABLE",
                f"the name {address.host} does not resolve: {found}; check the name, the network or the proxy",
                retry_after_s=None,
            )
        return found


def is_public(ip: str) -> bool:
    """Whether an IP address is one of the open internet, also what IPv6 wraps around IPv4."""
    address = ipaddress.ip_address(ip)
    if isinstance(address, ipaddress.IPv6Address):
        wrapped = address.ipv4_mapped or address.sixtofour
        if wrapped is None and address in _NAT64:
            wrapped = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if wrapped is not None:
            return is_public(str(wrapped))
        if address.is_site_local:
            return False
    elif any(address in network for network in _DOCUMENTATION):
        return True
    return address.is_global and not (address.is_multicast or address.is_reserved)


def proxy_of(address: Address, access: Access) -> Address | None:
    """The proxy for a host: the access' own (an empty one is none), else the environment's. Raises BAD_SETTING."""
    text = access.proxy
    if text is None:
        if urllib.request.proxy_bypass(address.host) or urllib.request.proxy_bypass(address.authority):
            return None
        proxies = urllib.request.getproxies()
        text = proxies.get(address.scheme, proxies.get("all", ""))
    if not text:
        return None
    proxy = read_address(text if "://" in text else f"http://{text}")
    if proxy is None or proxy.scheme != "http":
        raise PullError(
            "BAD_SETTING",
            f"the proxy for {address.host} is not written http://HOST:PORT; no other kind is known",
        )
    return proxy


def check_public(address: Address, access: Access, resolver: Resolver, until: float) -> None:
    """Raises REDIRECT_PRIVATE where a redirect's host, or one that a registry named, is not of the open internet.

    Behind a proxy the names are the proxy's to resolve: there only IP addresses, in any spelling, and localhost can
    be told.
    """
    host = address.host.rstrip(".")  # A name or number written to its root is the same one.
    if proxy_of(address, access) is None:
        found = resolver.resolve(address, until)
    elif host == "localhost" or host.endswith(".localhost"):
        found = ["127.0.0.1"]
    else:
        try:
            entries = socket.getaddrinfo(host, address.port, flags=socket.AI_NUMERICHOST)
        except OSError:
            return
        found = [str(entry[4][0]) for entry in entries]
    for ip in found:
        if not is_public(ip):
            raise PullError(
                "REDIRECT_PRIVATE",
                f"a redirect or registry leads to {address.authority}, which has {ip}, an address of a private "
                "network; --allow-private-redirects follows it, if that is meant",
            )


def connect(address: Address, access: Access, resolver: Resolver, until: float) -> Route:
    """A way to a host that is ready for a request, by `until`.

    Raises `PullError`: UNREACHABLE, TOO_SLOW, BAD_SETTING, and HTTP_STATUS where a proxy refuses.
    """
    proxy = proxy_of(address, access)
    context = tls_context(access) if address.scheme == "https" else None
    wire = Wire(_dial(address, proxy, resolver, until), until)
    try:
        if proxy is not None and context is not None:
            _tunnel(wire, address, proxy)
        if context is not None:
            _encrypt(wire, context, address)
    except BaseException:
        wire.close()
        raise
    return Route(wire, proxy if context is None else None)


def tls_context(access: Access) -> ssl.SSLContext:
    """Certificates as the system, SSL_CERT_FILE or `access` name them; TLS 1.2 or later. Raises BAD_SETTING."""
    ca = access.ca
    try:
        if ca is None:
            context = ssl.create_default_context()
        else:
            folder = ca.is_dir()
            context = ssl.create_default_context(
                cafile=None if folder else str(ca), capath=str(ca) if folder else None
            )
    except (OSError, ValueError):
        raise PullError(
            "BAD_SETTING", f"the certificates to trust, {ca}, are not a PEM file or folder"
        ) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if access.client_cert is not None:
        try:
            # An empty password rather than a question on the terminal.
            context.load_cert_chain(access.client_cert, password=b"")
        except (OSError, ValueError):
            raise PullError(
                "BAD_SETTING",
                f"the client certificate {access.client_cert} is not a PEM file with its key, unencrypted",
            ) from None
    return context


def _dial(address: Address, proxy: Address | None, resolver: Resolver, until: float) -> socket.socket:
    """TCP to the first address of a host, or its proxy, that answers; the others share the time that is left."""
    host = proxy or address
    found = resolver.resolve(host, until)
    why = "no answer in time"
    for position, ip in enumerate(found):
        left_s = (until - time.monotonic()) / (len(found) - position)
        if left_s <= 0:
            break
        try:
            return socket.create_connection((ip, host.port), timeout=left_s)
        except TimeoutError:
            continue
        except OSError as error:
            why = error.strerror or type(error).__name__
    way = f" by its proxy {proxy.authority}" if proxy is not None else ""
    raise Interrupted("UNREACHABLE", f"{address.authority} cannot be reached{way}: {why}")


def _tunnel(wire: Wire, address: Address, proxy: Address) -> None:
    host = f"[{address.host}]" if ":" in address.host else address.host
    head = f"CONNECT {host}:{address.port} HTTP/1.1\r\nHost: {host}:{address.port}\r\n"
    if proxy.authorization:
        head += f"Proxy-Authorization: {proxy.authorization}\r\n"
    try:
        wire.sendall(f"{head}\r\n".encode("latin-1"))
        answer = http.client.HTTPResponse(wire, method="CONNECT")  # type: ignore[arg-type]  # all it uses is there
        answer.begin()
    except TimeoutError:
        raise PullError("TOO_SLOW", f"the proxy {proxy.authority} did not answer in time") from None
    except (OSError, http.client.HTTPException):
        raise Interrupted("UNREACHABLE", f"the proxy {proxy.authority} broke off") from None
    if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        raise PullError(
            "HTTP_STATUS", f"the proxy {proxy.authority} answered 407; check the proxy's user and password"
        )
    if answer.status != HTTPStatus.OK:
        raise Interrupted(
            "HTTP_STATUS",
            f"the proxy {proxy.authority} answered {answer.status} for {address.authority}",
            retry_after_s=0.0 if answer.status in RETRIED else None,
        )


def _encrypt(wire: Wire, context: ssl.SSLContext, address: Address) -> None:
    try:
        wire.encrypt(context, address.host)
    except TimeoutError:
        raise PullError("TOO_SLOW", f"{address.authority} did not answer in time") from None
    except ssl.SSLCertVerificationError as error:
        raise Interrupted(
            "UNREACHABLE",
            f"the certificate of {address.authority} is not trusted: {error.verify_message.rstrip('.')}; name the "
            "authority that signed it in the client's settings or in SSL_CERT_FILE",
            retry_after_s=None,
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or type(error).__name__
        raise Interrupted("UNREACHABLE", f"TLS with {address.authority} fails: {why}") from None
