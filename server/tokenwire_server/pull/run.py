"""Pulls a deployment: every tokenizer's file on disk equal to its pin, and the lock that says so."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from tokenwire_server import artifacts, lockfile
from tokenwire_server.artifacts import ProofError
from tokenwire_server.lockfile import Lock, LockedFile, LockedTokenizer
from tokenwire_server.manifest import ARTIFACTS_FOLDER, TokenizerConfig
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.store import Store


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one tokenizer: `reason` and `message` where it failed, else its lock entry."""

    name: str
    state: Literal["pulled", "present", "failed"]
    locked: LockedTokenizer | None = None
    note: str = ""
    """What changed in its lock entry that somebody should know of."""
    reason: str = ""
    message: str = ""


class LockWouldChangeError(Exception):
    """The lock would say something else of these tokenizers; with `frozen` nothing is written."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(f"the lock would change for {', '.join(names)}")


def pull(
    configs: Iterable[TokenizerConfig],
    wanted: Collection[TokenizerConfig],
    lock_path: Path,
    store: Store,
    max_bytes: int,
    frozen: bool,
) -> list[Outcome]:
    """Pull what is missing of `wanted`, and lock what is there; one that fails leaves the others alone.

    A file that is there and equals its pin is left alone, and a lock that says the same already is not written:
    a second pull does nothing. `configs` is the whole manifest: what is none of it leaves the lock at `lock_path`.
    `max_bytes` bounds an artifact. Raises `LockWouldChangeError` where `frozen`
    forbids the new lock, `ConfigError` for a lock that cannot be read, and `PullError` where it cannot be written.
    """
    before = lockfile.read(lock_path)
    known = before.tokenizers if before is not None else {}
    outcomes, entries = [], {}
    for config in configs:
        entry = known.get(config.name)
        if config in wanted:
            outcome = _pull_one(config, entry, store, max_bytes)
            outcomes.append(outcome)
            # What failed keeps its entry: the next pull needs it, and verify compares with it.
            entry = outcome.locked or entry
        if entry is not None:
            entries[config.name] = entry
    if frozen and entries != known:
        names = [*entries, *known]
        raise LockWouldChangeError(
            [name for name in dict.fromkeys(names) if entries.get(name) != known.get(name)] or names
        )
    try:
        if before is not None or entries:
            lockfile.write(lock_path, Lock(entries))
    except OSError as error:
        raise PullError("STORE_UNWRITABLE", f"the lock cannot be written: {error.strerror}") from None
    return outcomes


def _pull_one(
    config: TokenizerConfig, known: LockedTokenizer | None, store: Store, max_bytes: int
) -> Outcome:
    # The size that is known is that of the file that was locked.
    is_same = known is not None and known.file.sha256 == config.file_sha256
    try:
        state, size_bytes = _file(
            config, known.file.size_bytes if known is not None and is_same else None, store, max_bytes
        )
        # Its pin is that of the file as it was; what lies there now is what is locked.
        locked = _locked(replace(config, tokenizer_config_sha256=None), size_bytes, known, max_bytes)
        return Outcome(config.name, state, locked, _note(known, locked, state))
    except (PullError, ProofError) as error:
        return Outcome(config.name, "failed", reason=error.reason, message=str(error))


def _file(
    config: TokenizerConfig, size_bytes: int | None, store: Store, max_bytes: int
) -> tuple[Literal["pulled", "present"], int]:
    """See to it that the file is there and equals its pin; gives its size. `size_bytes` is known of it."""
    found, found_bytes = None, 0
    if os.path.lexists(config.folder / config.file):
        found, found_bytes = artifacts.hash_bounded(config.folder, config.file, max_bytes)
    if found == config.file_sha256:
        return "present", found_bytes
    if not config.source:
        what = "is not there" if found is None else f"has sha256 {found}, its pin is {config.file_sha256}"
        raise PullError(
            "FILE_UNREADABLE" if found is None else "SHA256_MISMATCH",
            f"{config.file} {what}, and the manifest names no `source` to pull it from",
        )
    if found is not None and not config.file.startswith(f"{ARTIFACTS_FOLDER}/"):
        raise PullError(
            "SHA256_MISMATCH",
            f"{config.file} has sha256 {found}, its pin is {config.file_sha256}; remove the file to pull it anew",
        )
    arrived = store.bring(config.source, config.file_sha256, size_bytes)
    store.keep(arrived, config.file)
    return "pulled", arrived.size_bytes


def _locked(
    config: TokenizerConfig, size_bytes: int, before: LockedTokenizer | None, max_bytes: int
) -> LockedTokenizer:
    """The lock entry of a file that equals its pin. Golden vectors are kept where the digest is what it was."""
    now = datetime.now(UTC).replace(microsecond=0)
    file = LockedFile(config.file, config.source, config.file_sha256, size_bytes, now)
    if before is not None and before.file == replace(file, pulled_at=before.file.pulled_at):
        file = before.file
    digest = _digest(config, max_bytes)
    locked = LockedTokenizer(config.name, config.format, file, digest)
    if before is not None and before.digest == digest:
        locked = replace(before, format=config.format, file=file)
    return artifacts.with_tokenizer_config(locked, config)


def _note(before: LockedTokenizer | None, after: LockedTokenizer, state: str) -> str:
    """What changed with the entry that somebody should know of, as sentences."""
    notes = []
    if before is not None and before.digest not in ("", after.digest):
        notes.append(f"the digest was {before.digest}")
    if before is not None and before.file.source != after.file.source and state == "present":
        notes.append("its source is another and was not tried, for the file is there")
    pin = "" if before is None else before.tokenizer_config_sha256
    if pin and after.tokenizer_config_sha256 not in ("", pin):
        notes.append(f"{after.tokenizer_config} is another than it was")
    if (
        after.digest
        and not after.golden
        and (before is None or before.golden or before.digest != after.digest)
    ):
        notes.append("nothing proves its ids yet; `tokenwire artifacts prove` does")
    return "; ".join(notes)


def _digest(config: TokenizerConfig, max_bytes: int) -> str:
    """The digest. Raises `ProofError`."""
    digest = artifacts.read_spec(config, artifacts.read_pinned(config, max_bytes)).digest
    if config.digest not in (None, digest):
        raise ProofError(
            "DIGEST_MISMATCH",
            f"the digest is {digest}, the manifest says {config.digest}; "
            "check the pattern, special tokens and control tokens",
        )
    return digest
