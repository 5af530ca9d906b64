"""The lock: reading, writing, and what it says of a manifest."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server import lockfile, manifest
from tokenwire_server.errors import ConfigError
from tokenwire_server.lockfile import Lock, LockedFile, LockedTokenizer
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.toml_text import assignment

from tests.server import made_up

FILE = LockedFile("tiny.tiktoken", "", "a" * 64, 17, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
LOCKED = LockedTokenizer("tiny", "tiktoken", FILE, "d" * 64, "golden/tiny.json", "e" * 64, "tiktoken 0.14.0")
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


def configured(folder: Path) -> TokenizerConfig:
    path = made_up.manifest(folder, made_up.table(folder))
    return manifest.parse_tokenizers(manifest.read_toml(path)["tokenizer"], folder)[0]


@given(TEXT, TEXT, st.dictionaries(TEXT, st.integers(0, 2**31), max_size=4), st.lists(TEXT, max_size=4))
def test_what_is_written_is_read_back(key: str, text: str, table: dict[str, int], texts: list[str]) -> None:
    """Every key and value comes back from its line of TOML."""
    for value in (text, table, texts, len(text)):
        assert tomllib.loads(assignment(key, value)) == {key: value}


@pytest.mark.parametrize("pattern", [r"a\b", r"a\b'", r"'a\b", r"'''a\b", "a\\b\n", r"\'''", "\\\x7f", "'"])
def test_patterns_are_read_back(pattern: str) -> None:
    """Backslashes and quotes, in each way a TOML string can hold them."""
    assert tomllib.loads(assignment("pattern", pattern)) == {"pattern": pattern}


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Writing and reading give the same lock; writing the same again changes nothing."""
    lock = Lock({"tiny": LOCKED, "other": replace(LOCKED, name="other", golden="", digest="")})
    assert lockfile.read(tmp_path) is None
    assert lockfile.write(tmp_path, lock)
    assert lockfile.read(tmp_path) == lock
    inode = (tmp_path / lockfile.NAME).stat().st_ino
    assert not lockfile.write(tmp_path, lock)
    assert (tmp_path / lockfile.NAME).stat().st_ino == inode
    assert [path.name for path in tmp_path.iterdir()] == [lockfile.NAME]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lock_version = 2\n",
        "lock_version = 1\ntokenizer = 3\n",
        "lock_version = 1\n[[tokenizer]]\nname = 'x'\n",
        "lock_version = 1\n[[tokenizer]]\nname = 1\nformat = ''\nfile = {}\n",
        lockfile.text(Lock({"tiny": LOCKED})).replace("17", "'17'"),
        lockfile.text(Lock({"tiny": LOCKED})).replace("17", "true"),
        lockfile.text(Lock({"tiny": LOCKED})).replace("2026-01-02T03:04:05Z", "3"),
        "=",
        "\xff",
    ],
)
def test_what_is_no_lock_is_refused(tmp_path: Path, text: str) -> None:
    """A lock of another version, with a key missing or of a wrong type, is an error and never ignored."""
    (tmp_path / lockfile.NAME).write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=lockfile.NAME):
        lockfile.read(tmp_path)


def test_a_lock_that_agrees_adds_what_it_knows(tmp_path: Path) -> None:
    """Digest, golden vectors, proof and size come from the lock; a tokenizer it does not have stays as it is."""
    config = configured(tmp_path)
    locked = replace(LOCKED, file=replace(FILE, sha256=config.sha256))
    (applied,) = lockfile.apply([config], Lock({"tiny": locked}))
    assert (applied.known_digest, applied.golden, applied.proven_by) == (
        "d" * 64,
        "golden/tiny.json",
        "tiktoken 0.14.0",
    )
    assert applied.size_bytes == 17
    assert not applied.lock_fault
    assert lockfile.apply([config], None) == (config,)


def test_what_the_lock_should_have_and_has_not_is_unlocked(tmp_path: Path) -> None:
    """Whatever a lock does not have; without a lock, what has a source."""
    config = configured(tmp_path)
    sourced = replace(config, source="file:x")
    assert [item.is_unlocked for item in lockfile.apply([config, sourced], None)] == [False, True]
    assert [item.is_unlocked for item in lockfile.apply([config, sourced], lockfile.EMPTY)] == [True, True]


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("sha256", {"file": replace(FILE, sha256="b" * 64)}),
        ("file", {"file": replace(FILE, path="other")}),
        ("source", {"file": replace(FILE, source="file:x")}),
        ("format", {"format": "hf_json"}),
        ("digest", {"digest": "f" * 64}),
    ],
)
def test_a_disagreement_is_named(tmp_path: Path, key: str, change: dict[str, object]) -> None:
    """Each key in which manifest and lock can differ is the fault, and only that."""
    config = replace(configured(tmp_path), sha256="a" * 64, digest="d" * 64)
    assert lockfile.disagreement(config, LOCKED) == ""
    locked = replace(LOCKED, **change)  # type: ignore[arg-type]
    assert lockfile.disagreement(config, locked) == f"`{key}`"
    (applied,) = lockfile.apply([config], Lock({"tiny": locked}))
    assert applied.lock_fault == f"`{key}`"
