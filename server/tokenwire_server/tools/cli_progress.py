"""The progress of a pull, or through the texts of a corpus, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tokenwire_server import sources
from tokenwire_server.cli_render import one_line, well_formed

_EVERY_S = 0.2


class Placed(Protocol):
    """What is in a file: at a line from 1 on, or with line 0 all of it."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...


PlacedT = TypeVar("PlacedT", bound=Placed)


def place(item: Placed) -> str:
    """Where something is, as a person reads it."""
    name = one_line(well_formed(item.file))
    return f"{name}:{item.line}" if item.line else name


def with_progress(texts: Iterable[PlacedT]) -> Iterator[PlacedT]:
    """The same texts; on a terminal a line on stderr says how far they have come, and is removed at their end."""
    if not sys.stderr.isatty():
        yield from texts
        return
    shown_s = time.monotonic()
    try:
        for number, text in enumerate(texts):
            if time.monotonic() - shown_s >= _EVERY_S:
                shown_s = time.monotonic()
                print(f"\r\x1b[K{number} texts, {place(text)}"[:200], end="", file=sys.stderr, flush=True)
            yield text
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


@dataclass(slots=True)
class Progress:
    """A line on stderr that is written over, on a terminal; elsewhere one line for each source."""

    terminal: bool = field(default_factory=lambda: sys.stderr.isatty())
    shown_s: float = 0.0
    told: set[str] = field(default_factory=set)

    def show(self, source: str, here_bytes: int, all_bytes: int | None) -> None:
        source = one_line(sources.shown(source))
        if not self.terminal:
            if source not in self.told:
                self.told.add(source)
                print(f"fetching {source}", file=sys.stderr)
            return
        now_s = time.monotonic()
        if now_s - self.shown_s >= _EVERY_S or here_bytes == all_bytes:
            self.shown_s = now_s
            total = f" of {all_bytes / 2**20:.1f}" if all_bytes is not None else ""
            sys.stderr.write(f"\r\x1b[K{here_bytes / 2**20:.1f}{total} MiB  {source}"[:200])
            sys.stderr.flush()

    def clear(self) -> None:
        if self.terminal and self.shown_s:
            sys.stderr.write("\r\x1b[K")
