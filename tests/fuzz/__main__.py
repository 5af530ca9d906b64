"""`python -m tests.fuzz LOADER --seconds N --seed S`: fuzz one loader, and print what was reached and found.

Executions, edges of the compiled code, lines of the loader's Python modules, and for each finding a file with the least
artifact that shows it. Exits with 1 if there is a finding. `--core` says what the core is built with: `edges` (feedback
of compiled code), `asan` (the same with AddressSanitizer and UBSan), `plain` (as it is in the tree).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from tests.fuzz.artifact import LOADERS, Artifact, Loader
from tests.fuzz.build import CACHE, FEEDBACK, ROOT, build
from tests.fuzz.reduce import reduced
from tests.fuzz.seeds import seeds

MOST_CRASHES: Final = 5
MOST_TRIES: Final = 60
"""To make a crash smaller; each is a process of its own."""


_SANITIZER: Final = 99
"""How a worker exits that AddressSanitizer or UBSan has stopped."""
_CRASHES: Final = {_SANITIZER, *(-number for number in signal.valid_signals())}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("loader", choices=LOADERS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--core", choices=("edges", "asan", "plain"), default="edges")
    parser.add_argument(
        "--replay", type=Path, help="run one artifact that was found, and say what is wrong with it"
    )
    arguments = parser.parse_args()
    environment = _environment(arguments.core)
    if arguments.replay:
        return _replay(arguments.loader, arguments.replay, environment).returncode
    folder = CACHE / f"{arguments.loader}-{arguments.core}"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("corpus", "findings"):
        (folder / name).mkdir(parents=True)
    for number, artifact in enumerate(seeds(arguments.loader)):
        (folder / "corpus" / f"{number:06}").write_bytes(artifact.to_bytes())
    n_runs_before = _run(arguments.loader, folder, arguments.seconds, arguments.seed, environment)
    return _report(arguments, folder, n_runs_before)


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
    return subprocess.run(command, env=environment, cwd=ROOT, text=True, errors="replace")


def _cause(returncode: int) -> str:
    """In a word, how a process ended."""
    if returncode == _SANITIZER:
        return "sanitizer"
    return "too_slow" if returncode == -signal.SIGPROF else signal.Signals(-returncode).name


def _environment(core: str) -> dict[str, str]:
    """What a worker runs in: with the core that was asked for first on its path."""
    folder = ROOT / "fastcore" if core == "plain" else build(core)  # type: ignore[arg-type]  # a word of Kind
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))),
        "PYTHONHASHSEED": "0",
    }
    if core != "plain":
        environment["FUZZ_FEEDBACK"] = str(FEEDBACK)
    if core == "asan":
        library = subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        )
        environment |= {
            "LD_PRELOAD": library.stdout.strip(),
            "PYTHONMALLOC": "malloc",
            "ASAN_OPTIONS": f"exitcode={_SANITIZER}:detect_leaks=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": f"exitcode={_SANITIZER}:print_stacktrace=1",
        }
    else:
        environment["FUZZ_ADDRESS_SPACE"] = "1"
    return environment


def _report(arguments: Any, folder: Path, n_runs_before: int) -> int:
    result = json.loads((folder / "result.json").read_text())
    n_missed = sum(map(len, result["missed"].values()))
    n_run = result["n_lines"] - n_missed
    findings = sorted((folder / "findings").glob("*.artifact"))
    print(f"{arguments.loader}, {arguments.core}, {arguments.seconds:.0f} s, seed {arguments.seed}:")
    print(f"  executions: {result['n_runs'] + n_runs_before}, of which new: {result['n_kept']}")
    print(f"  edges of compiled code: {result['n_edges']}")
    print(f"  lines of the loader: {n_run} of {result['n_lines']}, {100 * n_run / result['n_lines']:.1f}%")
    print(f"  not run: {', '.join(f'{file} {numbers}' for file, numbers in result['missed'].items())}")
    print(f"  outcomes: {result['outcomes']}")
    for finding in findings:
        print(f"  FOUND: {finding.relative_to(ROOT)}")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
