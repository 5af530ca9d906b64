"""Builds the core a second time, with instruments: edges are reported, or with `asan` also faults of memory.

    python -m tests.fuzz.build edges|asan

The result is a package of its own under .cache/fuzz, the tree is not touched. A module is built again only if a source
that it could depend on has changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = ROOT / "fastcore" / "tokenwire_core"
CACHE: Final = ROOT / ".cache" / "fuzz"
FEEDBACK: Final = CACHE / "feedback.so"

Kind = Literal["edges", "asan"]
KINDS: Final[tuple[Kind, ...]] = ("edges", "asan")

_COMPILER: Final = ("gcc", "-O1", "-fPIC", "-shared", "-fno-strict-aliasing", "-fwrapv", "-w")
_INSTRUMENTS: Final[dict[Kind, tuple[str, ...]]] = {
    "edges": ("-fsanitize-coverage=trace-pc",),
    # Words are read at any place of a text, on machines where they may.
    "asan": (
        "-fsanitize-coverage=trace-pc",
        "-fsanitize=address,undefined",
        "-fno-sanitize=alignment",
        "-fno-sanitize-recover=undefined",
        "-g1",
    ),
}
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
    feedback = Path(__file__).parent / "feedback.c"
    command = ["gcc", "-O2", "-fPIC", "-shared", "-o", str(FEEDBACK), str(feedback)]
    _if_changed(FEEDBACK, feedback.read_bytes(), command)


def _build_module(source: Path, kind: Kind) -> None:
    inputs = b"".join(path.read_bytes() for path in sorted(_sources(source)))
    c_file = CACHE / "c" / f"{source.stem}.c"
    c_file.parent.mkdir(parents=True, exist_ok=True)
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["distutils"]["build_ext"]
    options = [part for item in tables["cython_directives"].items() for part in ("-X", "{}={}".format(*item))]
    cython = [sys.executable, "-m", "cython", *options, "-o", str(c_file), f"tokenwire_core/{source.name}"]
    _if_changed(c_file, inputs, cython, source.parents[1])
    built = source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))
    folders = [f"-I{sysconfig.get_paths()['include']}", f"-I{source.parent}"]
    _if_changed(built, inputs, [*_COMPILER, *_INSTRUMENTS[kind], *folders, str(c_file), "-o", str(built)])


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


def _if_changed(result: Path, inputs: bytes, command: list[str], folder: Path = ROOT) -> None:
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


if __name__ == "__main__":
    print(build(sys.argv[1]))  # type: ignore[arg-type]  # a word of Kind
