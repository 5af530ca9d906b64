"""Which lines of the readers run: for the figure, and as feedback of what is written in Python."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

Line = tuple[str, int]
"""Name of a module's file, and number."""


class Lines:
    """The lines of functions in these modules, and those of them that have run. What runs at import does not count.

    Args:
        others: names of classes in the modules that have another purpose.
    """

    def __init__(self, modules: list[ModuleType], others: frozenset[str] = frozenset()) -> None:
        self._names = {str(module.__file__): Path(str(module.__file__)).name for module in modules}
        self.all: set[Line] = set()
        for file, name in self._names.items():
            code = compile(Path(file).read_text(encoding="utf-8"), file, "exec")
            self.all |= {(name, line) for line in _lines(code, others)}
        self._run: set[Line] = set()
        self._steps: set[tuple[str, int, int]] = set()
        self._before = 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note the lines that run in this block."""
        self._before = 0
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(None)

    @property
    def n_steps(self) -> int:
        """How many pairs of lines that ran one after the other there have been: of this, more is news."""
        return len(self._steps)

    @property
    def missed(self) -> dict[str, list[int]]:
        """The lines that have not run, by file."""
        missed: dict[str, list[int]] = {}
        for name, line in sorted(self.all - self._run):
            missed.setdefault(name, []).append(line)
        return missed

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> Any:
        name = self._names.get(frame.f_code.co_filename)
        if name is None:
            return None
        run, steps = self._run, self._steps

        def step(frame: FrameType, event: str, _argument: object) -> Any:
            if event == "line":
                line = frame.f_lineno
                steps.add((name, self._before, line))
                run.add((name, line))
                self._before = line
            return step

        return step


def _lines(code: CodeType, others: frozenset[str]) -> Iterator[int]:
    """The lines of all functions in a module."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and constant.co_name not in others:
            if constant.co_flags & inspect.CO_NEWLOCALS:  # a function, not the body of a class
                # A `def` prepares the call on its own line; only what has no `def` runs there.
                has_def = not constant.co_name.startswith("<")
                lines = {line for _, _, line in constant.co_lines() if line}
                yield from lines - ({constant.co_firstlineno} if has_def else set())
            yield from _lines(constant, others)
