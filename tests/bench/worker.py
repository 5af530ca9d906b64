"""One library with one vocabulary in a process of its own, which encodes when it is its turn: seen from the parent.

The parent starts one for each library, and gives turns to one after the other. So libraries share neither heap nor
caches nor threads, each can be fresh, and one that dies or never ends costs its own rows alone. The child is
`tests.bench.child`; parent and child send each other the dataclasses below.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from pathlib import Path

from tests.bench.peers import CallName, Peer, Vocabulary

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    "RAYON_NUM_THREADS": "1",
    "RAYON_RS_NUM_CPUS": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # A copy that tiktoken keeps of a rank file would be found by its path alone.
    "TIKTOKEN_CACHE_DIR": "",
}
EXCEPTION = re.compile(r"^[\w.]+(?:Error|Exception)\b.*", re.M)
LIMIT_S = 120.0
"""No library needs as long for what has no limit of its own, even while the machine is busy otherwise."""

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
    limit_s: float = LIMIT_S
    """Wall time after which the library is given up."""


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
    resident_bytes: int | None
    """Of the process; None where the system does not tell."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The library does not take the vocabulary."""

    reason: str


class LostError(Exception):
    """The library is out of the race; the message says why."""


class Worker:
    """The process of one library. LostError if it does not take the vocabulary, or fails."""

    def __init__(self, peer: Peer, vocabulary: Vocabulary) -> None:
        self._connection, theirs = Pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.child", str(theirs.fileno())],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT},
            pass_fds=[theirs.fileno()],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        answer = self._ask((peer, vocabulary), LIMIT_S)
        if isinstance(answer, Refused):
            self.close()
            raise LostError(answer.reason)
        assert isinstance(answer, Ready)
        self.ready = answer

    def turn(self, turn: Turn) -> Timed:
        """What the turn cost; LostError if the library died or took longer than it may."""
        answer = self._ask(turn, turn.limit_s)
        assert isinstance(answer, Timed)
        return answer

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def _ask(self, message: object, limit_s: float) -> object:
        try:
            self._connection.send(message)
            if self._connection.poll(limit_s):
                return self._connection.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            reason = f"failed: {self._last_words()}"
        else:
            reason = f"over {limit_s:g} s"
        self.close()
        raise LostError(reason)

    def _last_words(self) -> str:
        """What the process died of: the first line of its last exception, or else its exit status."""
        assert self._process.stderr is not None
        errors = self._process.stderr.read().decode(errors="replace")
        exceptions = EXCEPTION.findall(errors)
        return exceptions[-1][:160] if exceptions else f"exit status {self._process.wait()}"
