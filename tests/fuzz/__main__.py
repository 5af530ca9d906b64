"""`python -m tests.fuzz LOADER --seconds N --seed S`: fuzz one loader, and print what was reached and found.

Executions, edges of the compiled code, lines of the loader's Python modules, and for each finding a file with the least
artifact that shows it. Exits with 1 if there is a finding. `--core` says what the core is built with: `edges` (feedback
of compiled code), `asan` (the same with AddressSanitizer and UBSan), `plain` (as it is in the tree).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.builds import ROOT
from tests.fuzz.artifact import LOADERS
from tests.fuzz.driver import CORES, Report, fuzz, replay


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("loader", choices=LOADERS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--core", choices=CORES, default="edges")
    parser.add_argument("--replay", type=Path, help="run one artifact, and say what is wrong with it")
    arguments = parser.parse_args()
    if arguments.replay:
        return replay(arguments.loader, arguments.replay, arguments.core)
    report = fuzz(arguments.loader, arguments.seconds, arguments.seed, arguments.core)
    print(f"{arguments.loader}, core {arguments.core}, {arguments.seconds:.0f} s, seed {arguments.seed}:")
    print_report(report)
    return int(bool(report.findings))


def print_report(report: Report) -> None:
    print(f"  executions: {report.n_runs}, of which {report.n_kept} reached something new")
    print(f"  edges of compiled code: {report.n_edges}")
    print(f"  lines of the loader: {report.n_lines_run} of {report.n_lines}, {report.line_coverage:.1%}")
    print("  not run:", *(f"{file} {numbers}" for file, numbers in report.missed.items()))
    print("  outcomes:", *(f"{name} {n}" for name, n in report.outcomes.items()))
    for finding in report.findings:
        print(f"  FOUND: {finding.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
