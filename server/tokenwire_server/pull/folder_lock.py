"""The lock of a folder: one command at a time writes into a deployment's folder, in any process."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from tokenwire_server.folders import opened
from tokenwire_server.pull.disk import writing
from tokenwire_server.pull.errors import PullError


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[int]:
    """Keep the others out; gives the open folder. What is to be changed is read within.

    Raises `PullError`: STORE_BUSY, STORE_UNWRITABLE.
    """
    with contextlib.ExitStack() as stack:
        with writing(folder):
            number = stack.enter_context(opened(folder))
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PullError(
                    "STORE_BUSY", f"another command works on {folder}; let it end, then try again"
                ) from None
        yield number
