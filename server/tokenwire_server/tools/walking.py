"""Walking: the files of a folder and of those in it, in order, however deep they lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator


def files_below(folder: str, fault: Callable[[OSError], None], *, with_hidden: bool = True) -> Iterator[str]:
    """The paths of all that is no folder, by name; a folder's own first, then those of each folder in it.

    Links to folders are not followed. `fault` is called with what keeps a folder from being read. (`os.walk` calls
    itself for each level before Python 3.12.)
    """
    waiting = [folder]
    while waiting:
        parent = waiting.pop()
        try:
            names = sorted(os.listdir(parent))
        except OSError as error:
            fault(error)
            continue
        folders = []
        for name in names:
            path = os.path.join(parent, name)
            if name.startswith(".") and not with_hidden:
                continue
            if not os.path.isdir(path):
                yield path
            elif not os.path.islink(path):
                folders.append(path)
        waiting += reversed(folders)
