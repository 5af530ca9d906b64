"""Folders: files of a deployment read and written with no trust in what lies there.

The folder may come from somebody else: links in it lead anywhere, and a fifo or a device in place of a file never
ends. So what is read is a regular file of bounded size, and what is written goes through no link.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path, PurePosixPath

MODE = 0o644
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_regular(path: Path | str, *, follow: bool = True, dir_fd: int | None = None) -> BufferedReader:
    """A regular file to read, without waiting for the writer of a fifo. Raises `OSError`, for any other file too.

    Unless `follow`, the last part of the path is no link.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    number = os.open(path, flags, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "not a regular file")
    return open(number, "rb")


def is_ours(found: os.stat_result) -> bool:
    """Whether it can be a file that this user made under this one name: no link of either kind."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid == os.geteuid()


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[int]:
    """The descriptor of a folder; here alone links are followed. Raises `OSError`."""
    number = os.open(folder, _FOLDER)
    try:
        yield number
    finally:
        os.close(number)


@contextlib.contextmanager
def inner(root: int, name: str, *, make: bool = False) -> Iterator[int]:
    """The folder `name` below an open one, through no link; with `make` it is made. Raises `OSError`."""
    number = os.dup(root)
    try:
        for part in PurePosixPath(name).parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=number)
            try:
                found = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=number)
            except OSError as error:
                if error.errno in (errno.ENOTDIR, errno.ELOOP):
                    error.strerror = f"{part} is a link, or no folder"
                raise
            os.close(number)
            number = found
        yield number
    finally:
        os.close(number)


def write_whole(folder: Path, name: str, data: bytes) -> None:
    """Give `data` the name `name` below `folder`, whole or not at all, also where the machine stops meanwhile.

    Folders on the way are made; a link in place of one is refused, and in place of the file replaced. A file that is
    there keeps its permissions. What a killed process left is taken up by the next one. Raises `OSError`.
    """
    path = PurePosixPath(name)
    with opened(folder) as root, inner(root, str(path.parent), make=True) as parent:
        mode = _mode(path.name, parent)
        new = f".{path.name}.new"
        with open(create(new, mode, dir_fd=parent), "wb") as file:
            try:
                file.write(data)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
                os.replace(new, path.name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                os.unlink(new, dir_fd=parent)
                raise
        # A rename lasts, also where the machine stops right after it, once its folder is on disk.
        os.fsync(parent)


def create(path: Path | str, mode: int = MODE, *, dir_fd: int | None = None) -> int:
    """The descriptor of a file to write that is made now, in place of what has the name. Raises `OSError`."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path, dir_fd=dir_fd)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, mode, dir_fd=dir_fd)


def _mode(name: str, folder: int) -> int:
    """The permissions of a file that is there, else those of a new one."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return MODE
    return stat.S_IMODE(found) if stat.S_ISREG(found) else MODE
