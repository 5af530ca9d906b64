"""Builds the core otherwise than it is installed: with instruments, without vector instructions, with caches off.

    python -m tests.builds KIND                 build, and print the folder of the package
    python -m tests.builds KIND ARGUMENT...     build, and run pytest with the arguments on what was built

`edges` and `asan` report to the fuzzer which edges are reached; `asan` and `sanitized` stop at faults of memory and at
undefined behaviour (AddressSanitizer, UBSan). `portable` is what a processor other than x86-64 runs, with the `char` of
ARM, which has no sign. `small_caches` has caches of two sets and `no_caches` none: no token may depend on them.
`aarch64` is compiled for ARM by a cross compiler, and runs there alone.

The result is a package of its own under .cache/builds, the tree is not touched. A module is built again only if a
source that it could depend on has changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = ROOT / "fastcore" / "tokenwire_core"
CACHE: Final = ROOT / ".cache" / "builds"

Kind = Literal["edges", "asan", "sanitized", "portable", "small_caches", "no_caches", "aarch64"]

_FLAGS: Final = ("-fPIC", "-shared", "-fno-strict-aliasing", "-fwrapv", "-w")
# Words are read at any place of a text, on machines where they may.
_SANITIZERS: Final = (
    "-fsanitize=address,undefined",
    "-fno-sanitize=alignment",
    "-fno-sanitize-recover=undefined",
    "-g1",
)
_EDGES: Final = "-fsanitize-coverage=trace-pc"
COMPILERS: Final[dict[Kind, tuple[str, ...]]] = {
    "edges": ("gcc", "-O1", _EDGES),
    "asan": ("gcc", "-O1", _EDGES, *_SANITIZERS),
    "sanitized": ("gcc", "-O1", *_SANITIZERS),
    "portable": ("gcc", "-O2", "-DTW_PORTABLE", "-funsigned-char"),
    "small_caches": (
        "gcc",
        "-O2",
        "-DTW_CACHE_BITS=1",
        "-DTW_LONG_PIECES_BITS=1",
        "-DTW_LONG_PIECES_BYTES=512",
    ),
    "no_caches": ("gcc", "-O2", "-DTW_NO_CACHES"),
    "aarch64": ("aarch64-linux-gnu-gcc", "-O3"),
}
SANITIZER_STOPS: Final = 99
"""How a process exits that AddressSanitizer or UBSan has stopped."""
_N_AT_ONCE: Final = 2
_CIMPORT: Final = re.compile(r"^ *from tokenwire_core\.(\w+) cimport", re.M)


def build(kind: Kind) -> Path:
    """The folder that holds the built package; put before all others on the path."""
    package = CACHE / kind / "tokenwire_core"
    package.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _build_package(package, kind)
    return package.parent


def _build_package(package: Path, kind: Kind) -> None:
    for stale in package.glob("*.p*"):
        stale.unlink()
    # What is built is a copy, so that a change of the tree meanwhile does not come in by halves.
    shutil.copytree(
        SOURCES, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"), dirs_exist_ok=True
    )
    with ThreadPoolExecutor(_N_AT_ONCE) as pool:
        list(pool.map(lambda source: _build_module(source, kind), sorted(package.glob("*.pyx"))))


def _build_module(source: Path, kind: Kind) -> None:
    inputs = b"".join(path.read_bytes() for path in sorted(_sources(source)))
    c_file = CACHE / "c" / f"{source.stem}.c"
    c_file.parent.mkdir(parents=True, exist_ok=True)
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["distutils"]["build_ext"]
    options = [part for item in tables["cython_directives"].items() for part in ("-X", "{}={}".format(*item))]
    cython = [sys.executable, "-m", "cython", *options, "-o", str(c_file), f"tokenwire_core/{source.name}"]
    if_changed(c_file, inputs, cython, source.parents[1])
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if kind == "aarch64":
        suffix = suffix.replace(platform.machine(), kind)
    built = source.with_suffix(suffix)
    folders = [f"-I{sysconfig.get_paths()['include']}", f"-I{source.parent}"]
    if_changed(built, inputs, [*COMPILERS[kind], *_FLAGS, *folders, str(c_file), "-o", str(built)])


def _sources(source: Path) -> set[Path]:
    """A module's file and what goes into it: the interfaces of others, and theirs; any header."""
    found = set(source.parent.glob("*.h"))
    waiting = [source, source.with_suffix(".pxd")]
    while waiting:
        path = waiting.pop()
        if path not in found and path.exists():
            found.add(path)
            waiting += [source.parent / f"{name}.pxd" for name in _CIMPORT.findall(path.read_text())]
    return found


def if_changed(result: Path, inputs: bytes, command: list[str], folder: Path = ROOT) -> None:
    """Run a command that makes `result`, unless it was made of these inputs by this command."""
    stamp = hashlib.sha256(inputs + repr(command).encode()).hexdigest()
    stamp_file = result.with_suffix(result.suffix + ".stamp")
    if result.exists() and stamp_file.exists() and stamp_file.read_text() == stamp:
        return
    # A process that runs what was built before keeps it.
    result.unlink(missing_ok=True)
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    stamp_file.write_text(stamp)


def environment(kind: Kind) -> dict[str, str]:
    """The variables that a process needs which imports the package."""
    if not any(flag.startswith("-fsanitize=") for flag in COMPILERS[kind]):
        return {}
    # The library of C++ comes with it: an exception of some other library would end the process otherwise.
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    return {
        "LD_PRELOAD": " ".join(run.stdout.strip() for run in libraries),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:exitcode={SANITIZER_STOPS}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:exitcode={SANITIZER_STOPS}",
    }


def main(kind: Kind, arguments: list[str]) -> int:
    folder = build(kind)
    if not arguments:
        print(folder)
        return 0
    path = " ".join([str(folder), "fastcore", "server", "clients/python", "."])
    pytest = [sys.executable, "-m", "pytest", "--override-ini", f"pythonpath={path}", *arguments]
    variables = {**environment(kind), "TOKENWIRE_CORE": str(folder)}
    return subprocess.run(pytest, cwd=ROOT, env={**os.environ, **variables}).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMPILERS:
        raise SystemExit(f"name a kind: {', '.join(COMPILERS)}")
    sys.exit(main(sys.argv[1], sys.argv[2:]))
