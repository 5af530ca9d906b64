"""What may be committed: source text, and data that is listed with its origin and licence; nothing else."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ALLOWLIST = tomllib.loads((ROOT / "tests" / "data" / "ALLOWLIST.toml").read_text())
SOURCE_SUFFIXES = {
    ".c",
    ".cfg",
    ".css",
    ".h",
    ".in",
    ".lock",
    ".md",
    ".proto",
    ".pxd",
    ".py",
    ".pyi",
    ".pyx",
    ".service",
    ".sh",
    ".svg",
    ".toml",
    ".txt",
    ".typed",
    ".yaml",
    ".yml",
}
SOURCE_NAMES = {"LICENSE", "NOTICE", "Makefile", "Dockerfile", ".ci/run", ".gitignore", ".dockerignore"}
MAX_SOURCE_BYTES = 64 << 10
LICENCES = {"Apache-2.0", "MIT", "Unicode-3.0"}


def committed_files() -> list[Path]:
    """Every file that git tracks, relative to the root."""
    answer = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, timeout=60)
    return [
        path for name in answer.stdout.decode().split("\0") if name and (ROOT / (path := Path(name))).exists()
    ]


def data_faults(path: Path, content: bytes, allowlist: dict[str, Any]) -> list[str]:
    """What is wrong with one committed file, as sentences."""
    hashes = [hashlib.sha256(content).hexdigest()]
    if path.suffix == ".xz":
        content = lzma.decompress(content)
        hashes.append(hashlib.sha256(content).hexdigest())
    found = [
        f"{path} is {allowlist['forbidden'][sha256]}" for sha256 in hashes if sha256 in allowlist["forbidden"]
    ]
    entry = next((entry for entry in allowlist["file"] if entry["path"] == path.as_posix()), None)
    if entry is not None:
        if entry["sha256"] != hashes[0]:
            found.append(f"{path} is not the file of its entry in ALLOWLIST.toml")
        if entry["licence"] not in LICENCES or not entry["source"]:
            found.append(f"{path} has no known licence or no source")
        return found
    if (
        path.suffix not in SOURCE_SUFFIXES
        and path.name not in SOURCE_NAMES
        and path.as_posix() not in SOURCE_NAMES
    ):
        found.append(f"{path} is data and has no entry in ALLOWLIST.toml")
    elif len(content) > MAX_SOURCE_BYTES or b"\0" in content:
        found.append(f"{path} is too large for source text, or binary, and has no entry in ALLOWLIST.toml")
    return found


def faults(files: Iterable[Path]) -> list[str]:
    return [fault for path in files for fault in data_faults(path, (ROOT / path).read_bytes(), ALLOWLIST)]


def test_committed_data_is_listed() -> None:
    """Every committed file is source text or stands in the allow-list with sha256, source and licence."""
    files = committed_files()
    assert len(files) > 50
    assert faults(files) == []


def test_the_list_names_nothing_that_is_gone() -> None:
    """Each entry of the allow-list is a committed file."""
    files = {path.as_posix() for path in committed_files()}
    assert [entry["path"] for entry in ALLOWLIST["file"] if entry["path"] not in files] == []


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("tests/data/new.jsonl", b"{}\n", "has no entry"),
        ("docs/picture.png", b"\x89PNG", "has no entry"),
        ("docs/long.md", b"x" * (MAX_SOURCE_BYTES + 1), "too large"),
        ("docs/binary.md", b"a\0b", "binary"),
        ("proto/tokenwire.v1.binpb", b"changed", "is not the file"),
        ("notes.md", b"forbidden", "a forbidden vocabulary"),
        ("notes.md.xz", lzma.compress(b"forbidden"), "a forbidden vocabulary"),
    ],
)
def test_planted_data_is_found(name: str, content: bytes, fault: str) -> None:
    """Each kind of unlisted or forbidden file is reported, compressed or not."""
    forbidden = {hashlib.sha256(b"forbidden").hexdigest(): "a forbidden vocabulary"}
    allowlist = {"file": ALLOWLIST["file"], "forbidden": forbidden}
    assert [found for found in data_faults(Path(name), content, allowlist) if fault in found]


def test_golden_texts_come_from_no_corpus(reference_data: Path) -> None:
    """No golden text holds a longer line of the corpora, which are not ours to give."""
    corpora = [
        lzma.decompress(file.read_bytes()).decode() for file in (reference_data / "corpora").glob("*.xz")
    ]
    assert corpora
    lines = {line.strip() for corpus in corpora for line in corpus.splitlines() if len(line.strip()) > 30}
    found = []
    for path in sorted((ROOT / "tests/data/golden").rglob("*.jsonl.xz")):
        for row in map(json.loads, lzma.decompress(path.read_bytes()).splitlines()):
            found += [(path.name, row["id"]) for line in row["text"].splitlines() if line.strip() in lines]
    assert found == []


def test_no_file_speaks_of_where_it_was_written() -> None:
    """Committed text knows nothing of the machine of its author; `../shared` in .ci/run is the one outside folder."""
    words = re.compile(
        "|".join(("/wor" + "k/", r"/\.libr" + "ary", "sub" + "agent", "sand" + "box", "sha" + "red/"))
    )
    found = []
    for path in committed_files():
        content = (ROOT / path).read_bytes()
        text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8", "replace")
        if path.as_posix() == ".ci/run":
            text = text.replace("../sha" + "red", "")
        found += [f"{path}: {match[0]}" for match in words.finditer(text)]
    assert found == []
