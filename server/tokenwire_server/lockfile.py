"""The lock: what was pulled and proven, file by file, in the `tokenwire.lock` beside a manifest.

The artifacts commands write it, people commit it with the manifest and the folder `golden/`, and serving holds
to it: a tokenizer whose manifest and lock disagree is not served. Written anew for the same state it has the
same bytes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import TokenizerConfig, read_toml
from tokenwire_server.toml_text import assignment

NAME = "tokenwire.lock"
LOCK_VERSION = 1
_HEADER = (
    "# Written by `tokenwire artifacts`; commit it with the manifest and golden/. Edits are overwritten.\n"
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

    `digest` is empty where this version cannot read the format. `golden` (a path) and `golden_sha256` are empty
    before `tokenwire artifacts add` or `prove` made golden vectors; `proven_by` names the reference library and
    its version, and is empty where the slow twin made them.
    """

    name: str
    format: str
    file: LockedFile
    digest: str = ""
    golden: str = ""
    golden_sha256: str = ""
    proven_by: str = ""


@dataclass(frozen=True, slots=True)
class Lock:
    """The tokenizers of a lock, by name, in the order of the manifest."""

    tokenizers: Mapping[str, LockedTokenizer]


EMPTY = Lock({})


def read(folder: Path) -> Lock | None:
    """The lock in `folder`; None where there is none. Raises `ConfigError` for one that cannot be used."""
    path = folder / NAME
    if not os.path.lexists(path):
        return None
    try:
        document = read_toml(path)
    except ConfigError as error:
        raise ConfigError(f"{error}; restore it, or remove it and run `tokenwire artifacts pull`") from None
    try:
        if document["lock_version"] != LOCK_VERSION:
            raise ConfigError(
                f"{path} is of lock_version {document['lock_version']!r:.20}, this version writes {LOCK_VERSION}; "
                "use the version of tokenwire that wrote it, or remove it and run `tokenwire artifacts pull`"
            )
        locked = [_tokenizer(table) for table in document.get("tokenizer", [])]
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} is not a lock: {error.args[0] if error.args else 'malformed'!s:.80}; "
            "restore it, or remove it and pull anew"
        ) from None
    return Lock({item.name: item for item in locked})


def write(folder: Path, lock: Lock) -> bool:
    """Write the lock into `folder`, whole or not at all; False where it says the same already. Raises `OSError`."""
    data = text(lock).encode()
    path = folder / NAME
    if path.exists() and path.read_bytes() == data:
        return False
    write_whole(path, data)
    return True


def write_whole(path: Path, data: bytes) -> None:
    """Give `data` the name `path`, whole or not at all, also where the machine stops meanwhile. Raises `OSError`.

    A file that is there keeps its permissions. What a killed process left on the way is taken up by the next one.
    """
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    new = path.parent / f".{path.name}.new"
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
        try:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            os.replace(new, path)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` last, also where the machine stops right after it. Raises `OSError`."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def text(lock: Lock) -> str:
    """The lock as TOML."""
    parts = [_HEADER, assignment("lock_version", LOCK_VERSION)]
    for item in lock.tokenizers.values():
        parts += ["\n[[tokenizer]]\n", assignment("name", item.name), assignment("format", item.format)]
        for key in ("digest", "golden", "golden_sha256", "proven_by"):
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
    )


def _tokenizer(table: Mapping[str, Any]) -> LockedTokenizer:
    file = table["file"]
    return LockedTokenizer(
        name=_typed(table, "name", str),
        format=_typed(table, "format", str),
        file=LockedFile(
            path=_typed(file, "path", str),
            source=_typed(file, "source", str),
            sha256=_typed(file, "sha256", str),
            size_bytes=_typed(file, "size_bytes", int),
            pulled_at=_typed(file, "pulled_at", datetime),
        ),
        **{
            key: _typed(table, key, str)
            for key in ("digest", "golden", "golden_sha256", "proven_by")
            if key in table
        },
    )


def _typed(table: Mapping[str, Any], key: str, kind: Callable[..., T]) -> T:
    value = table[key]
    if type(value) is not kind:
        raise TypeError(f"`{key}` has the wrong type")
    return value  # type: ignore[no-any-return]
