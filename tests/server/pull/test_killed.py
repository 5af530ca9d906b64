"""A pull killed at any step leaves no wrong file, and the next pull makes everything whole."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.pull import packages
from tests.server.pull.packages import ARTIFACT
from tests.service import ROOT, environment

MOST_S = 240


@pytest.mark.parametrize(
    ("start", "stride"),
    [(random.randint(1, 8), 8), pytest.param(1, 1, marks=pytest.mark.long)],
    ids=["some", "every"],
)
def test_a_pull_may_be_killed_at_any_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int, stride: int
) -> None:
    """A file, a URL, the hub and a package's member: killed at a step, and then one undisturbed pull."""
    print("killed from step", start, "on, every", stride)
    folder = tmp_path / "deployment"
    (folder / "given").mkdir(parents=True)
    (folder / "given" / "tiny.tiktoken").write_bytes(ARTIFACT)
    with packages.registries(tmp_path, monkeypatch) as found:
        monkeypatch.setenv(
            "PATH", str(tmp_path)
        )  # without npm, whose settings then come from the environment
        sources = found.sources()
        packages.manifest(
            folder, {name: sources[name] for name in ("from-file", "from-https", "from-hub", "from-npm")}
        )
        told = subprocess.run(
            [sys.executable, "-m", "tests.server.pull.kill_driver", str(start), str(stride)],
            cwd=folder,
            env={**environment(), **os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            capture_output=True,
            text=True,
            timeout=MOST_S,
            check=False,
        )
    assert told.returncode == 0, told.stderr
    assert int(told.stdout) >= 30  # There was something to kill at.
