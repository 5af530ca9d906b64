"""The store: brings the bytes of a source to disk and gives them a name once they are known to be right.

Under way a file lies in `artifacts/.partial/`; it is hashed, compared with its pin, and only then renamed. So a
name always holds the whole right bytes, wherever a pull is killed. What failed leaves nothing behind, except a
transfer that broke off: the next pull goes on from there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tokenwire_server.lockfile import sync_folder
from tokenwire_server.manifest import ARTIFACTS_FOLDER
from tokenwire_server.pull import archives, fetch, hub, npm, npm_settings, pip_settings, pypi
from tokenwire_server.pull.connect import Interrupted
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.npm_settings import NpmSettings
from tokenwire_server.pull.pip_settings import PipSettings
from tokenwire_server.pull.remote import Bounds, Located, Remote
from tokenwire_server.sources import FileSource, HttpsSource, HubSource, NpmSource, Source, parse_source

Report = Callable[[str, int, int | None], None]
"""Told now and then: the source, the bytes that are here, and all there will be where that is known."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """Bytes that are here but have no name yet."""

    path: Path
    sha256: str
    size_bytes: int


class Store:
    """The files of one manifest. As a context: one pull at a time works on a folder, in any process."""

    def __init__(
        self,
        folder: Path,
        bounds: Bounds,
        *,
        allow_private_redirects: bool = False,
        report: Report = lambda _source, _here, _all: None,
    ) -> None:
        """`folder` is the manifest's own."""
        self._folder = folder.resolve()
        self._bounds = bounds
        self._allow_private_redirects = allow_private_redirects
        self._report = report
        self._partial = self._folder / ARTIFACTS_FOLDER / ".partial"
        self._archives: set[Path] = set()
        self._resumable: set[str] = set()
        self._npm: NpmSettings | None = None
        self._pip: PipSettings | None = None
        self._lock = -1

    def __enter__(self) -> Self:
        """Raises `PullError`: STORE_BUSY, STORE_UNWRITABLE."""
        with _unwritable(self._folder):
            self._lock = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._lock)
                raise PullError(
                    "STORE_BUSY", f"another pull works on {self._folder}; let it end, then try again"
                ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            # What an interrupt leaves is for the next pull to go on from.
            if kind is None or issubclass(kind, Exception):
                self._clean()
        finally:
            os.close(self._lock)

    def bring(self, source_text: str, sha256: str | None = None, size_bytes: int | None = None) -> Arrived:
        """The bytes of a source, equal to the pin `sha256` where one is given. The first use of an address fetches.

        `size_bytes` is the size they are known to have. Raises `PullError`, and `ConfigError` for the spelling.
        """
        source = parse_source(source_text)
        with _unwritable(self._partial):
            self._partial.mkdir(parents=True, exist_ok=True)
            key = hashlib.sha256(f"{source_text} {sha256}".encode()).hexdigest()[:32]
            path = self._partial / f"{key}.artifact"
            try:
                self._bring(source, source_text, path, size_bytes if sha256 else None)
                arrived = self._arrived(path)
                if sha256 is not None and arrived.sha256 != sha256:
                    raise PullError(
                        "SHA256_MISMATCH",
                        f"{source_text} gave {arrived.size_bytes} bytes with sha256 {arrived.sha256}, the pin is "
                        f"{sha256}; nothing was kept. Find out why it changed before you pin it anew",
                    )
            except PullError:
                if path.name not in self._resumable:
                    path.unlink(missing_ok=True)
                raise
            return arrived

    def keep(self, arrived: Arrived, name: str) -> None:
        """Give what arrived its name, a path inside the folder. Raises `PullError`."""
        target = self._folder / name
        with _unwritable(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.parent.resolve().is_relative_to(self._folder):
                raise PullError("STORE_UNWRITABLE", f"{name} leads outside the folder of the manifest")
            os.chmod(arrived.path, 0o644)
            os.replace(arrived.path, target)
            sync_folder(target.parent)

    def _bring(self, source: Source, source_text: str, path: Path, size_bytes: int | None) -> None:
        located = self._locate(source)
        origin = located.path
        if located.remote is not None:
            remote = located.remote
            if size_bytes is not None and not located.archive:
                remote = replace(remote, size_bytes=size_bytes)
            origin = self._fetched(source_text, remote, None if located.archive else path)
        if origin is None:
            raise ValueError("a source is located at a path or a remote")
        if located.archive:
            archives.extract_member(origin, located.archive, located.member, path, self._bounds)
        elif origin != path:
            self._copy(origin, path)

    def _locate(self, source: Source) -> Located:
        if isinstance(source, FileSource):
            return Located(path=self._folder / source.path)
        if isinstance(source, HttpsSource):
            located = Located(remote=Remote(source.url))
        elif isinstance(source, HubSource):
            located = hub.locate(source)
        elif isinstance(source, NpmSource):
            # Asking npm and pip how they are set up takes up to a second, so it is done once.
            self._npm = self._npm or npm_settings.read()
            located = npm.locate(source, self._bounds, self._fetch_page, self._npm)
        else:
            self._pip = self._pip or pip_settings.read()
            located = pypi.locate(source, self._bounds, self._fetch_page, self._pip)
        return replace(located, remote=self._allowed(located.remote)) if located.remote else located

    def _fetch_page(self, remote: Remote, bounds: Bounds, max_bytes: int) -> bytes:
        return fetch.fetch_small(self._allowed(remote), bounds, max_bytes)

    def _allowed(self, remote: Remote) -> Remote:
        """The remote with this pull's own leave for private networks."""
        access = replace(remote.access, allow_private_redirects=self._allow_private_redirects)
        return replace(remote, access=access)

    def _fetched(self, source_text: str, remote: Remote, path: Path | None) -> Path:
        """The fetched file: `path`, or without one an archive that is kept until the end of this pull."""
        bounds = self._bounds
        if path is None:
            key = hashlib.sha256(remote.url.encode()).hexdigest()[:16]
            file = re.sub(r"[^A-Za-z0-9._+-]", "_", urlsplit(remote.url).path.rpartition("/")[2])[-100:]
            path = self._partial / f"{key}-{file}"
            if path in self._archives:
                return path
            self._archives.add(path)
        else:
            bounds = replace(bounds, download_bytes=bounds.artifact_bytes)
        try:
            fetch.fetch(remote, path, bounds, lambda here, total: self._report(source_text, here, total))
        except PullError as fault:
            self._archives.discard(path)
            if isinstance(fault, Interrupted):
                self._resumable |= {path.name, f"{path.name}.resume"}
            raise
        return path

    def _copy(self, origin: Path, path: Path) -> None:
        """A local file's bytes, within the bound."""
        limit = self._bounds.artifact_bytes
        try:
            # Without waiting for the writer of a fifo.
            with open(os.open(origin, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise PullError("FILE_UNREADABLE", f"{origin} is not a regular file")
                data = file.read(limit + 1)
        except OSError as error:
            raise PullError("FILE_UNREADABLE", f"{origin} cannot be read: {error.strerror}") from None
        if len(data) > limit:
            raise PullError("TOO_LARGE", f"{origin} is over the limit of {limit} bytes")
        with open(path, "wb") as copy:
            copy.write(data)
            copy.flush()
            os.fsync(copy.fileno())

    def _arrived(self, path: Path) -> Arrived:
        with open(path, "rb") as file:
            return Arrived(path, hashlib.file_digest(file, "sha256").hexdigest(), file.tell())

    def _clean(self) -> None:
        """Remove what is under way, but for transfers that can go on; and folders that are empty then."""
        if not self._partial.is_dir():
            return
        for item in self._partial.iterdir():
            if item.name not in self._resumable:
                shutil.rmtree(item) if item.is_dir() else item.unlink()
        for folder in (self._partial, self._partial.parent):
            with contextlib.suppress(OSError):  # Not empty.
                folder.rmdir()


@contextlib.contextmanager
def _unwritable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PullError("STORE_UNWRITABLE", f"{path} cannot be written: {error.strerror}") from None
