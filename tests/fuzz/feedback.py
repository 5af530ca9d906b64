"""What the instrumented core reports: edges of compiled code, see `feedback.c`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import builds


class Edges:
    """The edges that have run. To be made before the core is imported, which calls into the library at each edge."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._library.feedback_take.restype = ctypes.c_size_t
        self._n_new = ctypes.c_size_t()
        self.n_edges = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Count the edges that run in this block."""
        self._library.feedback_switch(1)
        try:
            yield
        finally:
            self._library.feedback_switch(0)

    def take(self) -> int:
        """How many of the edges counted since the last call were never seen so often."""
        n_news = self._library.feedback_take(ctypes.byref(self._n_new))
        self.n_edges += self._n_new.value
        return int(n_news)


def built_feedback() -> Path:
    """The library that the instrumented core calls into."""
    source, library = Path(__file__).parent / "feedback.c", builds.CACHE / "feedback.so"
    command = ["gcc", "-O2", "-fPIC", "-shared", "-o", str(library), str(source)]
    builds.if_changed(library, source.read_bytes(), command)
    return library
