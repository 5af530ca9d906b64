"""One library with one vocabulary in a process of its own, which encodes when it is its turn: seen from the parent.

The parent starts one for each library, and gives turns to one after the other. So libraries share neither heap nor
caches nor threads, each can be fresh, and one that dies or never ends costs its own rows alone. The child is
`tests.bench.child`; parent and child send each other the dataclasses below.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from pathlib import Path

from tests.bench.peers import CallName, Peer, Vocabulary

ROOT = Path(__file__).parents[2]
ONE_THREAD = {
    "RAYON_NUM_THREADS": "1",
    "RAYON_RS_NUM_CPUS": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
Answer = tuple[int, bytes]
"""The number of ids of a text, and a digest of them, empty where they were only counted."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Encode the texts, again and again for at least `least_s` of CPU time, after one pass over `warm` unmeasured.

    Texts arrive as new objects, so none has UTF-8 that an earlier turn made. `one_by_one`: a call for each text.
    """

    call: CallName
    texts: Sequence[str]
    warm: Sequence[str] = ()
    least_s: float = 0.0
    one_by_one: bool = False


@dataclass(frozen=True, slots=True)
class Timed:
    """What a turn cost, and what it found."""

    cpu_ns: float
    """CPU time of one pass, of all threads of the process."""
    answers: list[Answer]


@dataclass(frozen=True, slots=True)
class Ready:
    """The vocabulary is loaded."""

    calls: frozenset[CallName]
    load_cpu_s: float
    """Of importing the library and loading the vocabulary."""
    resident_kb: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The library does not take the vocabulary."""

    reason: str


class LostError(Exception):
    """The library is out of the race; the message says why."""


class Worker:
    """The process of one library, seen from the parent. `limit_s` bounds the wall time of each turn."""

    def __init__(self, peer: Peer, vocabulary: Vocabulary, limit_s: float) -> None:
        self._limit_s = limit_s
        self._files = ExitStack()
        self._errors = self._files.enter_context(tempfile.TemporaryFile())
        self._connection, theirs = Pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.child", str(theirs.fileno())],
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD},
            pass_fds=[theirs.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )
        theirs.close()
        answer = self._ask((peer, vocabulary))
        if isinstance(answer, Refused):
            self.close()
            raise LostError(answer.reason)
        assert isinstance(answer, Ready)
        self.ready = answer

    def turn(self, turn: Turn) -> Timed:
        """What the turn cost; LostError if the library died or took longer than it may."""
        answer = self._ask(turn)
        assert isinstance(answer, Timed)
        return answer

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        self._files.close()

    def _ask(self, message: object) -> object:
        try:
            self._connection.send(message)
            if self._connection.poll(self._limit_s):
                return self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            reason = f"failed: {self._last_words()}"
        else:
            reason = f"over {self._limit_s:g} s"
        self.close()
        raise LostError(reason)

    def _last_words(self) -> str:
        status = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), f"exit status {status}")[:200]
