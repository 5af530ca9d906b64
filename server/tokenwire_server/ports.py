"""Ports: whether the addresses to listen on can be had, asked of all of them before any is used."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Mapping

from tokenwire_server.config import split_address
from tokenwire_server.errors import ConfigError

_REFUSALS = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)


def check(addresses: Mapping[str, str | None]) -> None:
    """Bind each of `addresses` (by its setting; None is off) for a moment. Raises `ConfigError` naming all refused.

    Whatever else an address may have is left to the one who listens: names, address families.
    """
    refused = [
        f"{address} ({setting}: {why})"
        for setting, address in addresses.items()
        if address is not None and (why := _refusal(address))
    ]
    if refused:
        raise ConfigError(
            f"cannot listen on {' and '.join(refused)}; choose another with --listen / --http; "
            "with make: SERVE_ARGS='--listen HOST:PORT --http HOST:PORT'"
        )


def _refusal(address: str) -> str:
    """Why the address is refused, or nothing."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            *split_address(address), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        return os.strerror(error.errno) if error.errno in _REFUSALS else ""
    return ""
