"""Runs the worker: with the core it is to fuzz, again after each crash, and says what came of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from tests import builds
from tests.builds import ROOT, SANITIZER_STOPS
from tests.fuzz.artifact import Artifact, Loader
from tests.fuzz.feedback import built_feedback
from tests.fuzz.reduce import reduced
from tests.fuzz.seeds import seeds

Core = Literal["edges", "asan", "plain"]
CORES: Final[tuple[Core, ...]] = ("edges", "asan", "plain")
CACHE: Final = ROOT / ".cache" / "fuzz"

MOST_CRASHES: Final = 5
MOST_TRIES: Final = 60
"""To make a crash smaller; each is a process of its own."""

_CRASHES: Final = {SANITIZER_STOPS, *(-number for number in signal.valid_signals())}


@dataclass(frozen=True, slots=True)
class Report:
    """What a run reached, and the files of what it found. `missed` are lines by file."""

    n_runs: int
    n_kept: int
    n_edges: int | None
    n_lines: int
    missed: dict[str, list[int]]
    outcomes: dict[str, int]
    findings: list[Path]

    @property
    def n_lines_run(self) -> int:
        return self.n_lines - sum(map(len, self.missed.values()))

    @property
    def line_coverage(self) -> float:
        return self.n_lines_run / self.n_lines


def fuzz(loader: Loader, seconds: float, seed: int, core: Core) -> Report:
    """Fuzz a loader for so long, from its first artifacts on. The corpus and findings stay under .cache/fuzz."""
    environment = _environment(core)
    folder = CACHE / f"{loader}-{core}"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("corpus", "findings"):
        (folder / name).mkdir(parents=True)
    for number, artifact in enumerate(seeds(loader)):
        (folder / "corpus" / f"{number:06}").write_bytes(artifact.to_bytes())
    n_runs_before = _run(loader, folder, seconds, seed, environment)
    result = json.loads((folder / "result.json").read_text())
    result["n_runs"] += n_runs_before
    return Report(**result, findings=sorted((folder / "findings").glob("*.artifact")))


def replay(loader: Loader, file: Path, core: Core) -> int:
    """Run one artifact, and print what is wrong with it. Returns how the worker exits: 0 if nothing is."""
    run = _replay(loader, file, _environment(core))
    print(run.stdout, run.stderr)
    return run.returncode


def _run(loader: Loader, folder: Path, seconds: float, seed: int, environment: dict[str, str]) -> int:
    """Fuzz until the time is over, anew after each crash. Returns how many artifacts were run before the last."""
    until = time.monotonic() + seconds
    n_runs = 0
    for n_crashes in range(MOST_CRASHES + 1):
        left_s = max(until - time.monotonic(), 1.0)
        command = [
            sys.executable,
            "-m",
            "tests.fuzz.worker",
            loader,
            str(folder),
            str(left_s),
            str(seed + n_crashes),
        ]
        run = subprocess.run(
            command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True, errors="replace"
        )
        if run.returncode == 0:
            return n_runs
        if run.returncode not in _CRASHES:
            raise SystemExit(f"the worker failed:\n{run.stderr[-4000:]}")
        n_runs += int((folder / "n_runs").read_text()) if (folder / "n_runs").exists() else 0
        _keep_crash(loader, folder, n_crashes, run, environment)
    raise SystemExit(f"there were {MOST_CRASHES} crashes; see {folder / 'findings'}")


def _keep_crash(
    loader: Loader,
    folder: Path,
    number: int,
    run: subprocess.CompletedProcess[str],
    environment: dict[str, str],
) -> None:
    """Write down the artifact that ended a worker, made smaller, and what the worker said."""
    artifact = Artifact.from_bytes((folder / "current").read_bytes())
    candidate = folder / "candidate"

    def ends_as_well(smaller: Artifact) -> bool:
        candidate.write_bytes(smaller.to_bytes())
        return _replay(loader, candidate, environment).returncode == run.returncode

    name = _cause(run.returncode)
    least = reduced(artifact, loader, ends_as_well, MOST_TRIES) if ends_as_well(artifact) else artifact
    (folder / "findings" / f"{name}_{number}.artifact").write_bytes(least.to_bytes())
    (folder / "findings" / f"{name}_{number}.txt").write_text(run.stderr[-8000:])


def _replay(loader: Loader, file: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz.worker", loader, "--replay", str(file)]
    return subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, errors="replace"
    )


def _cause(returncode: int) -> str:
    """In a word, how a process ended."""
    if returncode == SANITIZER_STOPS:
        return "sanitizer"
    return "too_slow" if returncode == -signal.SIGPROF else signal.Signals(-returncode).name


def _environment(core: Core) -> dict[str, str]:
    """What a worker runs in: with the core that was asked for first on its path."""
    folder = ROOT / "fastcore" if core == "plain" else builds.build(core)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))),
        "PYTHONHASHSEED": "0",
    }
    if core != "plain":
        environment |= {"FUZZ_FEEDBACK": str(built_feedback()), **builds.environment(core)}
    if core != "asan":
        environment["FUZZ_ADDRESS_SPACE"] = "1"
    return environment
