"""The progress of a pull, on stderr."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

from tokenwire_server import sources
from tokenwire_server.cli_render import one_line

_EVERY_S = 0.2


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
