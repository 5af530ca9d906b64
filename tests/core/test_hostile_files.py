"""Files of the largest size that is read, made to fill the memory or to take for ever, are refused by name in time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.core import hostile_files
from tests.service import ROOT, environment

MAX_BYTES = 3 << 30
"""Of address space for the whole process; a file has up to 64 MiB."""
MAX_S = 240
"""Of CPU time for all files together."""


@pytest.mark.long
def test_hostile_files_are_refused_within_bounds() -> None:
    """One process with little memory and time refuses all of them, each by its reason."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.core.hostile_files", str(MAX_BYTES), str(MAX_S)],
        env=environment(PYTHONPATH=f"{environment()['PYTHONPATH']}:{ROOT}"),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    found = dict(json.loads(line) for line in run.stdout.splitlines())
    expected = {
        f"{format}: {name}": reason
        for format, files in (("hf_json", hostile_files.JSON_FILES), ("sentencepiece", hostile_files.MODELS))
        for name, (reason, _) in files.items()
    }
    assert found == expected, run.stderr[-2000:]
    assert run.returncode == 0
