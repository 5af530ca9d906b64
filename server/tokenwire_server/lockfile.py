"""The lock: what was pulled and proven, file by file, beside the manifest: `tokenwire.lock` for `tokenwire.toml`.

The artifacts commands write it, people commit it with the manifest and the folder `golden/`, and serving holds
to it: a tokenizer whose manifest and lock disagree is not served. Written anew for the same state it has the
same bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from tokenwire_server import folders, manifest
from tokenwire_server.errors import ConfigError, shorten
from tokenwire_server.manifest import TokenizerConfig, read_toml
from tokenwire_server.toml_text import assignment

LOCK_VERSION = 1
_HEADER = (
    "# Written by `tokenwire artifacts`; commit it with the manifest and golden/. Edits are overwritten.\n"
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TIMES = (datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC))
"""Between these a time has four digits of a year in UTC."""
_OPTIONAL = (
    *("digest", "golden", "golden_sha256", "proven_by"),
    *("tokenizer_config", "tokenizer_config_sha256"),
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A file as it lies on disk. `path` is relative to the lock's folder; `pulled_at` is when it was first had."""

    path: str
    source: str
    sha256: str
    size_bytes: int
    pulled_at: datetime


@dataclass(frozen=True, slots=True)
class LockedTokenizer:
    """One tokenizer: its file, its identity, and what it was proven by.

    `golden` (a path) and `golden_sha256` are empty before `tokenwire artifacts add` or `prove` made golden vectors;
    `proven_by` names the reference library and its version, and is empty where the slow twin made them.
    `tokenizer_config` (a path) and its sha256 are empty where the manifest names none.
    """

    name: str
    format: str
    file: LockedFile
    digest: str = ""
    golden: str = ""
    golden_sha256: str = ""
    proven_by: str = ""
    tokenizer_config: str = ""
    tokenizer_config_sha256: str = ""


@dataclass(frozen=True, slots=True)
class Lock:
    """The tokenizers of a lock, by name, in the order of the manifest."""

    tokenizers: Mapping[str, LockedTokenizer]


EMPTY = Lock({})


def path_of(manifest_path: Path) -> Path:
    """The lock of a manifest: `tokenwire.lock` for `tokenwire.toml`, so that two in one folder have each their own."""
    return manifest_path.with_name(manifest.lock_name(manifest_path.name))


def read(path: Path) -> Lock | None:
    """The lock at `path`; None where there is none. Raises `ConfigError` for one that cannot be used."""
    if not os.path.lexists(path):
        return None
    try:
        document = read_toml(path)
    except ConfigError as error:
        raise ConfigError(f"{error}; restore it, or remove it and run `tokenwire artifacts pull`") from None
    try:
        if (found := _typed(document, "lock_version", int)) != LOCK_VERSION:
            raise ConfigError(
                f"{path} is of lock_version {found!r:.20}, this version writes {LOCK_VERSION}; "
                "use the version of tokenwire that wrote it, or remove it and run `tokenwire artifacts pull`"
            )
        _check_keys(document, ("lock_version",), ("tokenizer",))
        locked = {}
        tables: list[object] = _typed(document, "tokenizer", list) if "tokenizer" in document else []
        for table in tables:
            item = _tokenizer(table)
            if item.name in locked:
                raise _BadLockError(f"it has {item.name} twice")
            locked[item.name] = item
    except _BadLockError as error:
        raise ConfigError(
            f"{path} is not a lock: {shorten(str(error), 120)}; restore it, or remove it and pull anew"
        ) from None
    return Lock(locked)


def write(path: Path, lock: Lock) -> bool:
    """Write the lock, whole or not at all; False where it says the same already. Raises `OSError`."""
    data = text(lock).encode()
    if path.is_file():
        with folders.open_regular(path) as file:
            if file.read(len(data) + 1) == data:
                return False
    folders.write_whole(path.parent, path.name, data)
    return True


def text(lock: Lock) -> str:
    """The lock as TOML."""
    parts = [_HEADER, assignment("lock_version", LOCK_VERSION)]
    for item in lock.tokenizers.values():
        parts += ["\n[[tokenizer]]\n", assignment("name", item.name), assignment("format", item.format)]
        for key in _OPTIONAL:
            if value := getattr(item, key):
                parts.append(assignment(key, value))
        parts.append("[tokenizer.file]\n")
        for key in ("path", "source", "sha256", "size_bytes", "pulled_at"):
            parts.append(assignment(key, getattr(item.file, key)))
    return "".join(parts)


def apply(configs: Iterable[TokenizerConfig], lock: Lock | None) -> tuple[TokenizerConfig, ...]:
    """The configurations with what the lock knows of each; a disagreement becomes its `lock_fault`.

    Without a lock, only what has a source, and so was pulled, is `is_unlocked`; with one, whatever it does not have.
    """
    if lock is None:
        return tuple(replace(config, is_unlocked=bool(config.source)) for config in configs)
    return tuple(_applied(config, lock.tokenizers.get(config.name)) for config in configs)


def disagreement(config: TokenizerConfig, locked: LockedTokenizer) -> str:
    """What the manifest says of a tokenizer otherwise than its lock entry; empty where they agree."""
    pairs = {
        "format": (config.format, locked.format),
        "source": (config.source, locked.file.source),
        "file": (config.file, locked.file.path),
        "sha256": (config.file_sha256, locked.file.sha256),
        "digest": (config.digest or locked.digest, locked.digest),
        "tokenizer_config": (config.tokenizer_config or "", locked.tokenizer_config),
    }
    return ", ".join(f"`{key}`" for key, (said, known) in pairs.items() if said != known)


def _applied(config: TokenizerConfig, locked: LockedTokenizer | None) -> TokenizerConfig:
    if locked is None:
        return replace(config, is_unlocked=True)
    if keys := disagreement(config, locked):
        return replace(config, lock_fault=keys)
    return replace(
        config,
        golden=locked.golden or None,
        golden_sha256=locked.golden_sha256 or None,
        proven_by=locked.proven_by,
        locked_digest=locked.digest,
        size_bytes=locked.file.size_bytes,
        tokenizer_config_sha256=locked.tokenizer_config_sha256 or None,
    )


class _BadLockError(Exception):
    """What a lock says is nothing that a lock says."""


def _tokenizer(table: object) -> LockedTokenizer:
    if not isinstance(table, dict):
        raise _BadLockError("`tokenizer` is no list of tables")
    _check_keys(table, ("name", "format", "file"), _OPTIONAL)
    file: dict[str, Any] = _typed(table, "file", dict)
    _check_keys(file, tuple(LockedFile.__dataclass_fields__), ())
    locked = LockedTokenizer(
        name=_typed(table, "name", str),
        format=_typed(table, "format", str),
        file=LockedFile(
            path=_typed(file, "path", str),
            source=_typed(file, "source", str),
            sha256=_typed(file, "sha256", str),
            size_bytes=_typed(file, "size_bytes", int),
            pulled_at=_typed(file, "pulled_at", datetime),
        ),
        **{key: _typed(table, key, str) for key in _OPTIONAL if key in table},
    )
    for key, value in (
        ("sha256", locked.file.sha256),
        ("digest", locked.digest),
        ("golden_sha256", locked.golden_sha256),
        ("tokenizer_config_sha256", locked.tokenizer_config_sha256),
    ):
        if (key == "sha256" or key in table) and not _SHA256.fullmatch(value):
            raise _BadLockError(f"`{key}` is not 64 lower-case hex digits")
    if bool(locked.golden) != bool(locked.golden_sha256) or (locked.proven_by and not locked.golden):
        raise _BadLockError("`golden`, `golden_sha256` and who proved them belong together")
    if bool(locked.tokenizer_config) != bool(locked.tokenizer_config_sha256):
        raise _BadLockError("`tokenizer_config` and `tokenizer_config_sha256` belong together")
    if locked.file.size_bytes < 0:
        raise _BadLockError("`size_bytes` is negative")
    if locked.file.pulled_at.tzinfo is None or not _TIMES[0] <= locked.file.pulled_at < _TIMES[1]:
        raise _BadLockError("`pulled_at` is no time of a pull in UTC")
    return locked


def _check_keys(table: Mapping[str, Any], needed: tuple[str, ...], optional: tuple[str, ...]) -> None:
    for key in table:
        if key not in needed and key not in optional:
            raise _BadLockError(f"unknown key {shorten(key, 40)!r}")
    for key in needed:
        if key not in table:
            raise _BadLockError(f"`{key}` is missing")


def _typed(table: Mapping[str, Any], key: str, kind: Callable[..., T]) -> T:
    value: Any = table.get(key)
    if type(value) is not kind:
        raise _BadLockError(f"`{key}` is missing or of the wrong type")
    return cast(T, value)
