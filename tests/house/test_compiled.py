"""Compiled modules: Cython has nothing to say about them, and their stubs tell the truth."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "fastcore" / "tokenwire_core"
MODULES = sorted(path.stem for path in CORE.glob("*.pyx"))
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
COMPLAINT = re.compile(r"^(performance hint|warning):.*", re.M)

STUBTEST_ALLOWED = r"""
# Cython puts these into every module and extension type; they are no part of its interface.
.*\.__test__
.*\.__pyx_capi__
.*\.__reduce_cython__
.*\.__setstate_cython__
.*\.__pyx_vtable__
# Python 3.11 has buffers, and no method by this name.
.*\.__buffer__
"""


def compile_to_c(source: Path, into: Path) -> str:
    """Translate a module as the build does, and return all that Cython says."""
    directives = CONFIGURATION["distutils"]["build_ext"]["cython_directives"]
    options = [argument for name, value in directives.items() for argument in ("-X", f"{name}={value}")]
    answer = subprocess.run(
        [sys.executable, "-m", "cython", *options, "-o", into / f"{source.stem}.c", source],
        cwd=ROOT / "fastcore",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout + answer.stderr


def test_every_module_is_built() -> None:
    """Each .pyx has its extension in pyproject.toml, and no other is named there."""
    built = [entry["name"].rpartition(".")[2] for entry in CONFIGURATION["setuptools"]["ext-modules"]]
    assert sorted(built) == MODULES


@pytest.mark.parametrize("module", MODULES)
def test_cython_has_nothing_to_say(module: str, tmp_path: Path) -> None:
    """No warning and no performance hint, so no hidden GIL and no hidden Python object in a hot loop."""
    assert COMPLAINT.findall(compile_to_c(CORE / f"{module}.pyx", tmp_path)) == []


def test_a_planted_hint_is_seen(tmp_path: Path) -> None:
    """A function that takes the GIL after each call is reported."""
    source = tmp_path / "planted.pyx"
    source.write_text("cdef void work() nogil:\n    pass\n\ncpdef run():\n    with nogil:\n        work()\n")
    assert COMPLAINT.search(compile_to_c(source, tmp_path))


def test_each_compiled_module_has_its_stub_or_is_private() -> None:
    """A module that Python code imports tells type checkers what it holds."""
    importers = [*(ROOT / "server").rglob("*.py"), *CORE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    text = "\n".join(path.read_text() for path in importers if path != Path(__file__))
    used = {name for name in MODULES if re.search(rf"\btokenwire_core(\.| import [^\n]*\b){name}\b", text)}
    assert sorted(name for name in used if not (CORE / f"{name}.pyi").exists()) == []


def test_stubs_tell_the_truth(tmp_path: Path) -> None:
    """stubtest finds no difference between each stub and the module as it runs."""
    modules = sorted(f"tokenwire_core.{path.stem}" for path in CORE.glob("*.pyi"))
    assert modules
    allowed = tmp_path / "allowed"
    allowed.write_text(STUBTEST_ALLOWED)
    command = [sys.executable, "-m", "mypy.stubtest", "--mypy-config-file", str(ROOT / "pyproject.toml")]
    command += ["--allowlist", str(allowed), "--ignore-unused-allowlist", *modules]
    roots = {"PYTHONPATH": os.pathsep.join(("fastcore", "server", "clients/python"))}
    answer = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **roots}, capture_output=True, text=True, timeout=300
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
