"""The store: brings the bytes of a source to disk and gives them a name once they are known to be right.

Under way a file lies in `artifacts/.partial/`; it is hashed, compared with its pin, and only then renamed. So a
name always holds the whole right bytes, wherever a pull is killed. What failed leaves nothing behind, except a
transfer that broke off: the next pull goes on from there.

The folder may hold what somebody else planted. Nothing outside it is written, removed or given other permissions:
a link in place of a folder is refused, and what lies in `.partial` and is no plain file of ours is removed first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tokenwire_server import folders
from tokenwire_server.manifest import ARTIFACTS_FOLDER, PARTIAL_FOLDER
from tokenwire_server.pull import archives, fetch, hub, npm, npm_settings, pip_settings, pypi
from tokenwire_server.pull.connect import Interrupted
from tokenwire_server.pull.disk import open_new, sync, write_all, writing
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.folder_lock import hold
from tokenwire_server.pull.npm_settings import NpmSettings
from tokenwire_server.pull.pip_settings import PipSettings
from tokenwire_server.pull.remote import Bounds, Located, Remote
from tokenwire_server.sources import (
    FileSource,
    HttpsSource,
    HubSource,
    NpmSource,
    Source,
    parse_source,
    shown,
)

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
        self._partial = self._folder / PARTIAL_FOLDER
        self._is_swept = False
        self._archives: set[Path] = set()
        self._resumable: set[str] = set()
        self._npm: NpmSettings | None = None
        self._pip: PipSettings | None = None
        self._root = -1
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Raises `PullError`: STORE_BUSY, STORE_UNWRITABLE, also where a folder of the store is a link."""
        with contextlib.ExitStack() as stack:
            self._root = stack.enter_context(hold(self._folder))
            with (
                writing(self._partial),
                contextlib.suppress(FileNotFoundError),
                folders.inner(self._root, PARTIAL_FOLDER),
            ):
                pass
            self._open = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._open:
            # What an interrupt leaves is for the next pull to go on from.
            if kind is None or issubclass(kind, Exception):
                self._clean()

    def bring(self, source_text: str, sha256: str | None = None, size_bytes: int | None = None) -> Arrived:
        """The bytes of a source, equal to the pin `sha256` where one is given. The first use of an address fetches.

        `size_bytes` is the size they are known to have. Raises `PullError`, and `ConfigError` for the spelling.
        """
        source = parse_source(source_text)
        with writing(self._partial):
            self._sweep()
            key = hashlib.sha256(f"{source_text} {sha256}".encode()).hexdigest()[:32]
            path = self._partial / f"{key}.artifact"
            try:
                self._bring(source, source_text, path, size_bytes, is_pinned=sha256 is not None)
                arrived = self._arrived(path)
                if sha256 is not None and arrived.sha256 != sha256:
                    raise PullError(
                        "SHA256_MISMATCH",
                        f"{shown(source_text)} gave {arrived.size_bytes} bytes with sha256 {arrived.sha256}, the pin "
                        f"is {sha256}; nothing was kept. Find out why it changed before you pin it anew",
                    )
            except PullError:
                if path.name not in self._resumable:
                    path.unlink(missing_ok=True)
                raise
            return arrived

    def keep(self, arrived: Arrived, name: str) -> None:
        """Give what arrived its name, a path inside the folder, through no link. Raises `PullError`."""
        here, target = arrived.path.name, PurePosixPath(name)
        with (
            writing(self._folder / name),
            folders.inner(self._root, PARTIAL_FOLDER) as partial,
            folders.open_regular(here, follow=False, dir_fd=partial) as file,
            folders.inner(self._root, str(target.parent), make=True) as parent,
        ):
            if not folders.is_ours(os.fstat(file.fileno())):
                raise PullError("STORE_UNWRITABLE", f"somebody else made {arrived.path}; pull again")
            os.fchmod(file.fileno(), folders.MODE)
            os.replace(here, target.name, src_dir_fd=partial, dst_dir_fd=parent)
            os.fsync(parent)

    def _bring(
        self, source: Source, source_text: str, path: Path, size_bytes: int | None, *, is_pinned: bool
    ) -> None:
        located = self._locate(source)
        origin = located.path
        if located.remote is not None:
            remote = located.remote
            if is_pinned and size_bytes is not None and not located.archive:
                remote = replace(remote, size_bytes=size_bytes)
            is_known = is_pinned or remote.checksum is not None
            origin = self._fetched(source_text, remote, None if located.archive else path, is_known=is_known)
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

    def _fetched(self, source_text: str, remote: Remote, path: Path | None, *, is_known: bool) -> Path:
        """The fetched file: `path`, or without one an archive that is kept until the end of this pull.

        A transfer of an earlier pull is gone on from if the bytes `is_known`: a hash will tell whether they are right.
        """
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
        if not is_known:
            fetch.discard(path)
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
            with folders.open_regular(origin) as file:
                data = file.read(limit + 1)
        except OSError as error:
            raise PullError("FILE_UNREADABLE", f"{origin} cannot be read: {error.strerror}") from None
        if len(data) > limit:
            raise PullError("TOO_LARGE", f"{origin} is over the limit of {limit} bytes")
        with open_new(path) as copy:
            write_all(copy, data, path)
            sync(copy, path)

    def _arrived(self, path: Path) -> Arrived:
        with folders.open_regular(path, follow=False) as file:
            return Arrived(path, hashlib.file_digest(file, "sha256").hexdigest(), file.tell())

    def _sweep(self) -> None:
        """Make the folder of what is under way; before its first use remove what is no plain file of ours."""
        with folders.inner(self._root, PARTIAL_FOLDER, make=True) as partial:
            if not self._is_swept:
                _remove(partial, lambda _name, found: not folders.is_ours(found))
                self._is_swept = True

    def _clean(self) -> None:
        """Remove what is under way, but for transfers that can go on; and folders that are empty then."""
        with writing(self._partial), contextlib.suppress(FileNotFoundError):
            with folders.inner(self._root, PARTIAL_FOLDER) as partial:
                _remove(partial, lambda name, _found: name not in self._resumable)
            with folders.inner(self._root, ARTIFACTS_FOLDER) as parent, contextlib.suppress(OSError):
                os.rmdir(self._partial.name, dir_fd=parent)  # Not empty, perhaps.
                os.rmdir(ARTIFACTS_FOLDER, dir_fd=self._root)


def _remove(folder: int, is_meant: Callable[[str, os.stat_result], bool]) -> None:
    """Remove entries of an open folder as what they are: a link, not where it leads. Raises `OSError`."""
    for name in os.listdir(folder):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not is_meant(name, found):
            continue
        if stat.S_ISDIR(found.st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)
