"""Reads which modules each file imports: `import` in .py, `import` and `cimport` in .pyx and .pxd."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CYTHON_IMPORT = re.compile(r"^(?P<indent>[ \t]*)c?import +(?P<names>[\w., ]+)", re.M)
CYTHON_FROM = re.compile(
    r"^(?P<indent>[ \t]*)from +(?P<module>[\w.]+) +c?import +(?:\((?P<many>[^)]*)\)|(?P<few>[^\n]*))", re.M
)


@dataclass(frozen=True, slots=True)
class Import:
    """`module` is imported by `importer`, when it is itself imported (`eager`) or later."""

    importer: str
    module: str
    eager: bool


def module_name(path: Path, root: Path) -> str:
    """The dotted name of a file below an import root."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, root: Path) -> list[Import]:
    """Every import in the file; those for type checkers alone are left out. Names of submodules are resolved."""
    importer = module_name(path, root)
    text = path.read_text()
    found = _python(text) if path.suffix == ".py" else _cython(text)
    return [
        Import(importer, _submodule(root, base, name), eager)
        for base, name, eager in found
        if base != importer  # a .pyx and its .pxd are one module
    ]


def _submodule(root: Path, base: str, name: str) -> str:
    """`from base import name` means the module base.name where there is such a one below the root, or in Python."""
    folder = root.joinpath(*base.split("."))
    own = any(folder.glob(f"{name}.py*")) or (folder / name / "__init__.py").is_file()
    return f"{base}.{name}" if name and (own or _is_python_module(base, name)) else base


@cache
def _is_python_module(base: str, name: str) -> bool:
    """Whether Python's own library has the module base.name, as `from http import client`; nothing of it is run."""
    if base.split(".")[0] not in sys.stdlib_module_names:
        return False
    try:
        return importlib.util.find_spec(f"{base}.{name}") is not None
    except ModuleNotFoundError:  # `base` has no modules within.
        return False


def _python(text: str) -> Iterator[tuple[str, str, bool]]:
    def walk(node: ast.AST, eager: bool) -> Iterator[tuple[str, str, bool]]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            yield from ((alias.name, "", eager) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            if node.level:
                raise ValueError(f"relative import in line {node.lineno}; this project writes them in full")
            yield from ((node.module or "", alias.name, eager) for alias in node.names)
        later = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, eager and not later)

    return walk(ast.parse(text), True)


def _cython(text: str) -> Iterator[tuple[str, str, bool]]:
    for match in CYTHON_IMPORT.finditer(text):
        for name in match["names"].split(","):
            yield name.split()[0], "", not match["indent"]
    for match in CYTHON_FROM.finditer(text):
        for name in re.sub(r"#.*", "", match["many"] or match["few"]).split(","):
            if name.strip():
                yield match["module"], name.split()[0], not match["indent"]
