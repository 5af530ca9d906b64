"""URLs: web addresses without their secrets, spelled one way."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import re
import socket
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from tokenwire_server.errors import shorten
from tokenwire_server.pull.errors import PullError

_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?")
MAX_URL_BYTES = 8192
_PORTS = {"https": 443, "http": 80}
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_PUNCTUATION = "!#$%&'()*+,/:;=?@[]~"


@dataclass(frozen=True, slots=True)
class Address:
    """An absolute http(s) address; user, password and fragment are not in `url`."""

    url: str = field(repr=False)  # Its query may be a signature.
    scheme: str
    host: str
    """In lower case, an IPv6 address without brackets."""
    port: int
    path: str
    authorization: str | None = field(default=None, repr=False)
    """The header that user and password make, if there were any."""

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port: what credentials belong to."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The host, and the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """The address as messages have it: without the query, for that may be a signature."""
        return shorten(f"{self.scheme}://{self.authority}{self.path}", 160)


def read_address(text: str) -> Address | None:
    """The address that `text` spells, None where that is no http(s) address of a host, or over `MAX_URL_BYTES`."""
    if len(text) > MAX_URL_BYTES:
        return None
    try:
        parts = urlsplit(quote(text.strip(), safe=_PUNCTUATION, errors="replace"))
        port = parts.port
        host = parts.hostname or ""
        if ":" in host and "%" not in host:
            ipaddress.IPv6Address(host)
        elif not _HOST.fullmatch(host):
            return None
    except ValueError:
        return None
    if parts.scheme not in _PORTS or port == 0:
        return None
    authorization = None
    if parts.username is not None or parts.password is not None:
        authorization = basic(unquote(parts.username or ""), unquote(parts.password or ""))
    address = Address("", parts.scheme, host, port or _PORTS[parts.scheme], parts.path or "/", authorization)
    url = urlunsplit((address.scheme, address.authority, address.path, parts.query, ""))
    return Address(url, *address.origin, address.path, authorization)


def basic(user: str, password: str) -> str:
    """The Authorization header of a user and a password."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode("utf-8", "replace")).decode()


def header_value(scheme: str, secret: str, setting: str) -> str:
    """The Authorization header for a secret. Raises `BAD_SETTING` naming `setting` where it is none."""
    if not _HEADER_VALUE.fullmatch(secret):
        raise PullError("BAD_SETTING", f"{setting} has characters that no header takes; write it anew")
    return f"{scheme} {secret}"


def is_loopback(host: str) -> bool:
    """Whether the host by its spelling is this machine."""
    ip = _ip(host)
    return host == "localhost" if ip is None else ip.is_loopback


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is, IPv4 in any spelling the system takes (`127.1`, `0x7f000001`, `::ffff:7f00:1`)."""
    with contextlib.suppress(ValueError):
        ip = ipaddress.ip_address(host)
        return (ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None) or ip
    with contextlib.suppress(OSError):
        return ipaddress.IPv4Address(socket.inet_aton(host))
    return None


def check_encrypted(address: Address, what: str, trusted: Collection[str] = ()) -> None:
    """Raises `INSECURE_URL` for plain http beyond this machine and the hosts of `trusted`."""
    if address.scheme == "http" and not is_loopback(address.host) and not is_listed(address, trusted):
        raise PullError("INSECURE_URL", f"{what} is {address.shown}; only this machine is asked without TLS")


def is_listed(address: Address, hosts: Collection[str]) -> bool:
    """Whether the host, alone or with its port, is one of `hosts`."""
    return (
        address.host in hosts
        or f"{address.host}:{address.port}" in hosts
        or f"[{address.host}]:{address.port}" in hosts
    )
