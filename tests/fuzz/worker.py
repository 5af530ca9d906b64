"""The process that fuzzes: it may die of what it finds, and says before each artifact which one that is.

    python -m tests.fuzz.worker LOADER FOLDER SECONDS SEED    fuzz from FOLDER/corpus, and keep what is new there
    python -m tests.fuzz.worker LOADER --replay FILE          one artifact; exits with 1 and a report if it is a finding

The environment says with what: FUZZ_FEEDBACK names the library of edges, if the core on the path reports them;
FUZZ_ADDRESS_SPACE is 1 if memory is to be limited (AddressSanitizer needs all there is).
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any, Final

from tests.fuzz.artifact import Artifact
from tests.fuzz.feedback import Edges

MAX_S: Final = 10.0
"""Of CPU time for one artifact; beyond, the process ends by SIGPROF."""
MAX_BYTES: Final = 1 << 30
"""Of address space beyond what the process has when it starts."""
MOST_TRIES: Final = 400
"""To make a finding smaller."""


def main(arguments: list[str]) -> int:
    faulthandler.enable()
    library = os.environ.get("FUZZ_FEEDBACK")
    # Before the core is imported, which needs what the library has.
    edges = Edges(Path(library)) if library else None
    from tests.fuzz.loop import find

    _limit()
    loader: Any = arguments[0]
    if arguments[1] == "--replay":
        _start_clock()
        found = find(Artifact.from_bytes(Path(arguments[2]).read_bytes()), loader)
        print(found.report if found else "nothing is wrong with it")
        return int(found is not None)
    folder, seconds, seed = Path(arguments[1]), float(arguments[2]), int(arguments[3])
    return _fuzz(loader, folder, seconds, seed, edges)


def _fuzz(loader: Any, folder: Path, seconds: float, seed: int, edges: Edges | None) -> int:
    from tests.fuzz.loop import Finding, Loop, find
    from tests.fuzz.reduce import reduced

    files = sorted((folder / "corpus").iterdir())
    corpus = [Artifact.from_bytes(file.read_bytes()) for file in files]
    n_kept = len(corpus)
    current = os.open(folder / "current", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    n_runs = 0

    def before_each(artifact: Artifact) -> None:
        nonlocal n_runs
        stored = artifact.to_bytes()
        os.pwrite(current, stored, 0)
        os.ftruncate(current, len(stored))
        n_runs += 1
        if n_runs % 64 == 0:
            (folder / "n_runs").write_text(str(n_runs))
        _start_clock()

    def keep(artifact: Artifact) -> None:
        nonlocal n_kept
        (folder / "corpus" / f"{n_kept:06}").write_bytes(artifact.to_bytes())
        n_kept += 1

    def write(found: Finding) -> None:
        name = "".join(character if character.isalnum() else "_" for character in found.key)[:80]
        (folder / "findings" / f"{name}.artifact").write_bytes(found.artifact.to_bytes())
        (folder / "findings" / f"{name}.txt").write_text(found.report)

    # Findings are written as they come, since a later one may end the process, and once more when they are least.
    loop = Loop(loader, corpus, seed, edges=edges, before_each=before_each, on_new=keep, on_finding=write)
    tally = loop.run(seconds)
    for key, found in tally.findings.items():

        def is_same(artifact: Artifact, key: str = key) -> bool:
            _start_clock()
            again = find(artifact, loader)
            return again is not None and again.key == key

        least = find(reduced(found.artifact, loader, is_same, MOST_TRIES), loader)
        write(least or found)
    result = {
        "n_runs": tally.n_runs,
        "n_kept": tally.n_kept,
        "outcomes": dict(tally.outcomes.most_common()),
        "n_edges": edges.n_edges if edges else None,
        "n_lines": len(loop.lines.all),
        "missed": loop.lines.missed,
    }
    (folder / "result.json").write_text(json.dumps(result))
    return 0


def _limit() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    if os.environ.get("FUZZ_ADDRESS_SPACE") == "1":
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MAX_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _start_clock() -> None:
    signal.setitimer(signal.ITIMER_PROF, MAX_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
