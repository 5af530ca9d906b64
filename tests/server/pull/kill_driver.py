"""Pulls in the current folder again and again, each time killed some steps later: START STRIDE.

A step is a file opened, renamed or removed, a folder made or removed, or a connection made. After each kill the
folder must hold no wrong file, and one undisturbed pull must make it whole. Prints the first step that was never
reached.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import signal
import sys
from pathlib import Path

from tokenwire_server import cli, lockfile

from tests.server.pull.packages import ARTIFACT, SHA256

STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "socket.connect", "shutil.rmtree"}
MOST_STEPS = 1000


def pull() -> int:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return cli.main(["artifacts", "pull"])


def pull_in_child(die_at: int) -> int:
    """Pull in a fork that kills itself at a step, 0 for never; gives what waitpid says."""
    child = os.fork()
    if child == 0:
        n_steps = 0

        def count(event: str, _arguments: object) -> None:
            nonlocal n_steps
            if event in STEPS:
                n_steps += 1
                if n_steps == die_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        os._exit(pull())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(folder: Path, n_files: int | None) -> None:
    """Raises where a file has a name it does not deserve, or, with `n_files`, where not all is there and no more."""
    files = list((folder / "artifacts").glob("*.tiktoken"))
    assert all(path.read_bytes() == ARTIFACT for path in files)
    lockfile.read(folder / "tokenwire.lock")
    if n_files is not None:
        assert len(files) == n_files
        assert {path.name for path in folder.iterdir()} == {
            "artifacts",
            "given",
            "tokenwire.lock",
            "tokenwire.toml",
        }
        assert len(list((folder / "artifacts").iterdir())) == n_files


def main(start: int, stride: int) -> None:
    assert hashlib.sha256(ARTIFACT).hexdigest() == SHA256
    folder = Path.cwd()
    # Here first, so that the forks import nothing.
    assert pull() == 0
    n_files = len(list((folder / "artifacts").iterdir()))
    for step in range(start, MOST_STEPS, stride):
        shutil.rmtree(folder / "artifacts")
        (folder / "tokenwire.lock").unlink(missing_ok=True)
        ended = pull_in_child(step)
        if ended == 0:
            check(folder, n_files)
            print(step)
            return
        assert ended == -signal.SIGKILL, ended
        check(folder, None)
        assert pull_in_child(0) == 0, f"after a kill at step {step}"
        check(folder, n_files)
    raise AssertionError("a pull without end")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
