"""Disk: what goes wrong with files of the store, in the words of the table."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tokenwire_server import folders
from tokenwire_server.pull.errors import PullError


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises STORE_UNWRITABLE for what the system refuses within the block."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise PullError(
            "STORE_UNWRITABLE", f"{path} cannot be written: {why}; check the folder and the space left"
        ) from None


def open_new(path: Path) -> BinaryIO:
    """A file to write that is made now, in place of what has the name. Unbuffered. Raises STORE_UNWRITABLE."""
    with writing(path):
        return open(folders.create(path), "wb", 0)


def open_held(path: Path) -> BinaryIO:
    """A file of ours to write on, never through a link. Unbuffered. Raises STORE_UNWRITABLE."""
    with writing(path):
        number = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        if not folders.is_ours(os.fstat(number)):
            os.close(number)
            raise OSError(errno.EPERM, "somebody else made it")
        return open(number, "wb", 0)


def sync(file: BinaryIO, path: Path) -> None:
    """Bytes written are on disk afterwards. Raises STORE_UNWRITABLE."""
    with writing(path):
        os.fsync(file.fileno())


def write_all(file: BinaryIO, data: bytes, path: Path) -> None:
    """Write all of `data`. Raises STORE_UNWRITABLE."""
    view = memoryview(data)
    with writing(path):
        while view:
            view = view[file.write(view) :]
