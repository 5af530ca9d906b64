"""Reads which modules each file imports: `import` in .py, `import` and `cimport` in .pyx and .pxd."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
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
    """`from base import name` means the module base.name where there is such a file below the root."""
    folder = root.joinpath(*base.split("."))
    return f"{base}.{name}" if name and any(folder.glob(f"{name}.py*")) else base


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
