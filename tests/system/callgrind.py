"""Counts instructions by a name: runs a driver under callgrind, which marks what is counted with growth_marks.c."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def instructions(driver: str, name: str, *arguments: str) -> dict[str, int]:
    """Instructions of each part that the module `driver` marks, by the name it gives.

    Its own arguments are `name`, the library with the marks, and the others.
    """
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "marks.so"
        source = ROOT / "tests" / "system" / "growth_marks.c"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source)], check=True, timeout=60
        )
        command = [
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--callgrind-out-file={folder}/out.%p",
        ]
        command += [sys.executable, "-m", driver, name, str(library), *arguments]
        path = os.pathsep.join(
            map(str, (ROOT, ROOT / "fastcore", ROOT / "server", ROOT / "clients" / "python"))
        )
        # One hash seed, or dictionaries would lie differently from run to run.
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        answer = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=3600
        )
        assert answer.returncode == 0, answer.stderr[-2000:]
        counted: dict[str, int] = {}
        for file in Path(folder).glob("out.*"):
            text = file.read_text()
            mark = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
            total = re.search(r"^totals: (\d+)$", text, re.M)
            if mark and total:
                counted[mark[1]] = int(total[1])
        return counted
