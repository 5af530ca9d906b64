"""The worst texts cost in proportion to their length: twice the text, at most 2.2 times the instructions."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.system.growth_driver import OPERATIONS, TEXTS

ROOT = Path(__file__).parents[2]
MOST_PER_DOUBLING = 2.2
LARGEST_BYTES = 1 << 20


@functools.cache
def instructions(name: str) -> dict[str, dict[int, int]]:
    """Instructions by `text/operation` and size in bytes, for the named vocabulary; one process measures all."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "marks.so"
        source = ROOT / "tests" / "system" / "growth_marks.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True, timeout=60)
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        command += [sys.executable, "-m", "tests.system.growth_driver", name, library, str(LARGEST_BYTES)]
        path = os.pathsep.join(
            map(str, (ROOT, ROOT / "fastcore", ROOT / "server", ROOT / "clients" / "python"))
        )
        # One hash seed, or dictionaries would lie differently from run to run.
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        answer = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900
        )
        assert answer.returncode == 0, answer.stderr[-2000:]
        counted: dict[str, dict[int, int]] = {}
        for file in Path(folder).glob("out.*"):
            text = file.read_text()
            mark = re.search(r"^desc: Trigger: Client Request: (.*)/(\d+)$", text, re.M)
            total = re.search(r"^totals: (\d+)$", text, re.M)
            if mark and total:
                counted.setdefault(mark[1], {})[int(mark[2])] = int(total[1])
        return counted


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_cost_grows_with_length_and_no_faster(name: str, text: str, operation: str) -> None:
    """Up to 1 MB, each doubling of the text costs at most 2.2 times the instructions."""
    by_size = instructions(name)[f"{text}/{operation}"]
    sizes = sorted(by_size)
    assert sizes == [LARGEST_BYTES >> 2, LARGEST_BYTES >> 1, LARGEST_BYTES]
    assert min(by_size.values()) > 10_000, "nothing was counted"
    assert by_size[sizes[1]] <= MOST_PER_DOUBLING * by_size[sizes[0]], by_size
    assert by_size[sizes[2]] <= MOST_PER_DOUBLING * by_size[sizes[1]], by_size
