"""What tests of transfers share: remotes of a mirror, refusals by reason, names that resolve, waits that do not."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Bounds, Remote

from tests.server.pull.mirror import Answer, Mirror

BODY = bytes(range(256)) * 3
TAG = '"one"'
PLAIN = Answer(BODY, etag=TAG)
QUICK = Bounds(timeout_s=30, grace_s=0.3, min_bytes_per_s=10_000)
"""For what is slow on purpose, and to be refused soon."""
BOUNDS = Bounds(timeout_s=60)


class Waits(list[float]):
    """Notes how long was to be waited, and does not."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def remote(mirror: Mirror, path: str = "/file", **access: Any) -> Remote:
    """A file of the mirror; `access` is changed in these fields."""
    return Remote(mirror.url + path, replace(mirror.access, **access))


def refused(work: Callable[[], object], reason: str, *words: str) -> PullError:
    """The error of `work`, which has this reason and these words in its message."""
    with pytest.raises(PullError) as caught:
        work()
    assert caught.value.reason == reason, str(caught.value)
    for word in words:
        assert word in str(caught.value)
    return caught.value


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def names(monkeypatch: pytest.MonkeyPatch, known: dict[str, list[str]]) -> list[str]:
    """Lets these names, and numbers, resolve and no others; gives the list of names that are asked for."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def resolve(host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        try:
            return real(host, port, *args, **{**options, "flags": socket.AI_NUMERICHOST})
        except OSError:
            asked.append(host)
            if host not in known:
                raise socket.gaierror(-2, "unknown here") from None
            return [entry for ip in known[host] for entry in real(ip, port, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return asked
