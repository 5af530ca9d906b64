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
    return manifest.parse_tokenizers(manifest.read_toml(path)["tokenizer"], path)[0]


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
    lock = Lock({"tiny": LOCKED, "other": replace(LOCKED, name="other", digest="")})
    assert lockfile.read(tmp_path / "tokenwire.lock") is None
    assert lockfile.write(tmp_path / "tokenwire.lock", lock)
    assert lockfile.read(tmp_path / "tokenwire.lock") == lock
    inode = (tmp_path / "tokenwire.lock").stat().st_ino
    assert not lockfile.write(tmp_path / "tokenwire.lock", lock)
    assert (tmp_path / "tokenwire.lock").stat().st_ino == inode
    assert [path.name for path in tmp_path.iterdir()] == ["tokenwire.lock"]


TEXT_OF_LOCK = lockfile.text(Lock({"tiny": LOCKED}))


def changed(old: str, new: str) -> str:
    """The text of a good lock with one thing that is not."""
    assert old in TEXT_OF_LOCK
    return TEXT_OF_LOCK.replace(old, new)


def without(key: str) -> str:
    return "".join(line for line in TEXT_OF_LOCK.splitlines(True) if not line.startswith(f"{key} ="))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "lock_version"),
        ("lock_version = 2\n", "of lock_version 2"),
        ("lock_version = true\n", "`lock_version` is missing or of the wrong type"),
        ("lock_version = 1\ntokenizer = 3\n", "`tokenizer`"),
        ("lock_version = 1\ntokenizer = [3]\n", "`tokenizer`"),
        ("lock_version = 1\n[[tokenizer]]\nname = 'x'\n", "`format` is missing"),
        ("lock_version = 1\n[[tokenizer]]\nname = 1\nformat = ''\nfile = {}\n", "missing"),
        (changed("17", "'17'"), "`size_bytes`"),
        (changed("17", "true"), "`size_bytes`"),
        (changed("17", "-1"), "negative"),
        (changed("2026-01-02T03:04:05Z", "3"), "`pulled_at`"),
        (changed("2026-01-02T03:04:05Z", "2026-01-02T03:04:05"), "`pulled_at`"),
        (changed("2026-01-02T03:04:05Z", "0001-01-01T00:00:00+14:00"), "`pulled_at`"),
        (changed("2026-01-02T03:04:05Z", "9999-12-31T23:59:59-14:00"), "`pulled_at`"),
        (changed("a" * 64, "a" * 63), "`sha256`"),
        (changed("a" * 64, "A" * 64), "`sha256`"),
        (changed("d" * 64, ""), "`digest`"),
        (changed("e" * 64, "e" * 65), "`golden_sha256`"),
        (changed("lock_version = 1\n", "lock_version = 1\nnew = 1\n"), "unknown key 'new'"),
        (changed('digest = "', 'digset = "'), "unknown key 'digset'"),
        (changed('path = "', 'mode = 1\npath = "'), "unknown key 'mode'"),
        (without("golden"), "belong together"),
        (without("golden_sha256"), "belong together"),
        (lockfile.text(Lock({"x": replace(LOCKED, golden="", golden_sha256="")})), "belong together"),
        (TEXT_OF_LOCK + TEXT_OF_LOCK.partition("lock_version = 1\n")[2], "tiny twice"),
        ("=", "not TOML"),
        ("\xff", "not TOML"),
    ],
)
def test_what_is_no_lock_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    """Another version, a key missing, unknown or of a wrong kind: an error that says what to do, never ignored."""
    (tmp_path / "tokenwire.lock").write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"tokenwire\.lock.* (restore it|remove it)") as caught:
        lockfile.read(tmp_path / "tokenwire.lock")
    assert fault in str(caught.value)


@pytest.mark.parametrize("name", ["tokenwire.lock", "tokenwire.toml"])
def test_no_more_is_read_than_a_lock_can_have(tmp_path: Path, name: str) -> None:
    """A lock or manifest without end is refused by its size, at the bound it is read."""
    with open(tmp_path / name, "wb") as file:
        file.truncate(manifest.MAX_BYTES + 1)
    with pytest.raises(ConfigError, match="is over"):
        manifest.read_toml(tmp_path / name)
    (tmp_path / name).write_bytes(b"#" * manifest.MAX_BYTES)
    assert manifest.read_toml(tmp_path / name) == {}


def test_a_link_in_place_of_a_lock_is_replaced(tmp_path: Path) -> None:
    """What a link leads to stays as it is, be it the lock or what a killed command left of one."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    victim.chmod(0o600)
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("tokenwire.lock", ".tokenwire.lock.new"):
        (folder / name).symlink_to(victim)
    lock = Lock({"tiny": LOCKED})
    assert lockfile.write(folder / "tokenwire.lock", lock)
    assert [path.name for path in folder.iterdir()] == ["tokenwire.lock"]
    assert (victim.read_bytes(), victim.stat().st_mode & 0o777) == (b"precious", 0o600)


def test_each_manifest_has_its_own_lock() -> None:
    """The lock is called as its manifest, and never is its manifest."""
    names = ["tokenwire.toml", "b.toml", "b.conf", "b.lock", "x"]
    found = [lockfile.path_of(Path("folder") / name) for name in names]
    assert [path.name for path in found] == [
        "tokenwire.lock",
        "b.lock",
        "b.conf.lock",
        "b.lock.lock",
        "x.lock",
    ]
    assert {path.parent for path in found} == {Path("folder")}


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
