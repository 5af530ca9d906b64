"""Archives: one member of a wheel or tarball to a file, whatever the archive says.

Nothing of an archive is run, no name of it is opened, and nothing is written but the target. All names are looked at:
an archive that has one leading outside is not trusted for the others either.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tokenwire_server.errors import shorten
from tokenwire_server.folders import open_regular
from tokenwire_server.pull.disk import open_new, sync, write_all
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Archive, Bounds
from tokenwire_server.pull.tarball import PLAIN, read_tarball

MAX_MEMBERS = 100_000
MAX_DIRECTORY_BYTES = 16 << 20
"""Of a zip file's table of contents, which `zipfile` reads whole."""
MOST_NEAR = 5
"""Names of other members that a message gives."""
MAX_RATIO = 200
"""Of a zip member's size to its size compressed; vocabularies have less than 10, zeros have 1,000."""

_PIECE_BYTES = 1 << 16
_DRIVE = re.compile(r"[A-Za-z]:")
_MALFORMED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,  # and NotImplementedError
    ValueError,  # and UnicodeDecodeError
    OverflowError,
)
"""What `zipfile` raises for a file that is none."""


def extract_member(path: Path, archive: Archive, member: str, target: Path, bounds: Bounds) -> None:
    """Write the bytes of a member to `target`, which is on disk afterwards, or absent after an error.

    At most `bounds.artifact_bytes` are written; memory is the names of a zip, one piece of a tarball, which is read
    to its end. Raises `PullError`: FILE_UNREADABLE, STORE_UNWRITABLE, and the reasons of archives.
    """
    done = False
    try:
        with open_regular(path) as file, open_new(target) as copy:
            pieces = _zip if archive == "zip" else _tarball
            for piece in pieces(file, path.name, member, bounds):
                write_all(copy, piece, target)
            sync(copy, target)
        done = True
    except OSError as error:
        raise PullError("FILE_UNREADABLE", f"{path} cannot be read: {error.strerror}") from None
    finally:
        if not done:
            target.unlink(missing_ok=True)


def _tarball(file: BinaryIO, archive: str, member: str, bounds: Bounds) -> Iterator[bytes]:
    found, near = False, _Near(member)
    for number, entry in enumerate(read_tarball(file, archive, bounds.unpacked_bytes)):
        _check_count(archive, number + 1)
        _check_name(archive, entry.name)
        if _plain_name(entry.name) != member:
            near.see(entry.name)
            continue
        _check_once(archive, member, found)
        found = True
        _check_kind(archive, member, entry.kind == PLAIN)
        _check_size(archive, member, entry.size_bytes, bounds)
        yield from entry.pieces
    if not found:
        raise _missing(archive, member, near)


def _zip(file: BinaryIO, archive: str, member: str, bounds: Bounds) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(_Guarded(file, archive)) as opened:
            info = _find(opened, archive, member, bounds)
            read_bytes = 0
            with opened.open(info) as content:
                while piece := content.read(_PIECE_BYTES):
                    read_bytes += len(piece)
                    yield piece
            if read_bytes != info.file_size:
                raise zipfile.BadZipFile("the member is shorter than its entry says")
    except _MALFORMED as error:
        why = shorten(str(error), 120)
        raise PullError(
            "BAD_ARCHIVE", f"{archive} is not a well-formed zip file: {why or 'cut short'}"
        ) from None


def _find(opened: zipfile.ZipFile, archive: str, member: str, bounds: Bounds) -> zipfile.ZipInfo:
    """The one entry of the member, once the whole directory is found harmless."""
    infos = opened.infolist()
    _check_count(archive, len(infos))
    _check_apart(opened, infos)
    wanted, near = None, _Near(member)
    for info in infos:
        _check_name(archive, info.orig_filename)
        _check_name(archive, info.filename)
        if _plain_name(info.filename) == member:
            _check_once(archive, member, wanted is not None)
            wanted = info
        near.see(info.filename)
    if wanted is None:
        raise _missing(archive, member, near)
    kind = stat.S_IFMT(wanted.external_attr >> 16)
    _check_kind(archive, member, kind in (0, stat.S_IFREG))
    if wanted.flag_bits & 1:
        raise zipfile.BadZipFile("the member is encrypted")
    if wanted.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Of these alone `zipfile` unpacks no more than it is asked for at a time.
        raise zipfile.BadZipFile("the member is neither stored nor deflated")
    if wanted.file_size > bounds.unpacked_bytes or (
        wanted.file_size > _PIECE_BYTES and wanted.file_size > MAX_RATIO * wanted.compress_size
    ):
        raise PullError(
            "ARCHIVE_BOMB",
            f"{archive}: {member} would unpack from {wanted.compress_size} to {wanted.file_size} bytes; at most "
            f"{MAX_RATIO} times as many and {bounds.unpacked_bytes} are unpacked",
        )
    _check_size(archive, member, wanted.file_size, bounds)
    return wanted


class _Guarded:
    """A file for `zipfile`, which reads a directory of any size in one go, and seeks to wherever it is told."""

    def __init__(self, file: BinaryIO, archive: str) -> None:
        self._file = file
        self._archive = archive
        self.tell = file.tell
        self.seekable = file.seekable
        self.close = file.close

    def read(self, size: int = -1) -> bytes:
        if size > MAX_DIRECTORY_BYTES:
            raise PullError(
                "BAD_ARCHIVE",
                f"{self._archive} has a table of contents of {size} bytes; {MAX_DIRECTORY_BYTES} at most are read",
            )
        return self._file.read(size)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_SET and not 0 <= offset < 1 << 62:
            raise ValueError("an offset outside the file")
        return self._file.seek(offset, whence)


def _check_apart(opened: zipfile.ZipFile, infos: list[zipfile.ZipInfo]) -> None:
    """Raises where two members share bytes: the way to unpack far more than there is."""
    end = opened.start_dir
    for info in sorted(infos, key=lambda info: info.header_offset, reverse=True):
        if info.header_offset + zipfile.sizeFileHeader + info.compress_size > end:  # type: ignore[attr-defined]
            raise zipfile.BadZipFile("members overlap")
        end = info.header_offset


def _plain_name(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    return name


def _check_name(archive: str, name: str) -> None:
    """Raises for a name that some system would take to lead outside the archive."""
    if (
        name.startswith("/")
        or ".." in name.split("/")
        or "\\" in name
        or "\0" in name
        or _DRIVE.match(name) is not None
    ):
        raise PullError(
            "UNSAFE_MEMBER_NAME",
            f"{archive} has a member named {shorten(name, 80)!r}, which leads outside; nothing of it is read",
        )


def _check_count(archive: str, n_members: int) -> None:
    if n_members > MAX_MEMBERS:
        raise PullError("BAD_ARCHIVE", f"{archive} has over {MAX_MEMBERS} members; no more are looked at")


def _check_once(archive: str, member: str, found: bool) -> None:
    if found:
        raise PullError(
            "DUPLICATE_MEMBER", f"{archive} has {member} twice; which one is meant cannot be told"
        )


def _check_kind(archive: str, member: str, plain: bool) -> None:
    if not plain:
        raise PullError(
            "MEMBER_IS_LINK", f"{archive}: {member} is a link, a device or a sparse file; name a plain file"
        )


def _check_size(archive: str, member: str, size_bytes: int, bounds: Bounds) -> None:
    if size_bytes > bounds.artifact_bytes:
        raise PullError(
            "MEMBER_TOO_LARGE",
            f"{archive}: {member} has {size_bytes} bytes, {bounds.artifact_bytes} are allowed",
        )


class _Near:
    """Of the names in an archive those that may be meant: a file of that name elsewhere, else some of its kind."""

    def __init__(self, member: str) -> None:
        self._file = member.rpartition("/")[2]
        self._kind = self._file.rpartition(".")[2]
        self._same: list[str] = []
        self._alike: list[str] = []

    def see(self, name: str) -> None:
        file = name.rpartition("/")[2]
        found = self._same if file == self._file else self._alike
        if file.rpartition(".")[2] == self._kind and len(found) < MOST_NEAR:
            found.append(shorten(name, 160))

    def names(self) -> list[str]:
        return self._same or self._alike


def _missing(archive: str, member: str, near: _Near) -> PullError:
    names = near.names()
    remedy = f"write one that it has, as {', '.join(names)}" if names else "nothing in it has such a name"
    return PullError("MEMBER_NOT_FOUND", f"{archive} has no member {member}; {remedy}")
