"""Artifacts: from a file on disk to an encoder that has proven itself.

The order is law: read the bytes once, hash them, compare with the pin, and only then parse those same
bytes; then the tokenizer's digest and its golden vectors must hold. Nothing is read twice, so a file that
changes during a load cannot be hashed as one thing and parsed as another. Each mistake has a named reason;
such a tokenizer is not served.
"""

from __future__ import annotations

import contextlib
import hashlib
import lzma
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import tokenwire_core
from tokenwire_core import Encoder, TokenizerSpec
from tokenwire_core.errors import ArtifactError, TokenizerError
from tokenwire_core.formats.tokenizer_config_json import MAX_CONFIG_BYTES

from tokenwire_server import golden, logs
from tokenwire_server.embedded import embedded
from tokenwire_server.folders import open_regular
from tokenwire_server.golden import Golden
from tokenwire_server.limits import Limits
from tokenwire_server.lockfile import LockedTokenizer
from tokenwire_server.manifest import TokenizerConfig

_PIECE_BYTES = 1 << 20
_XZ_MEMORY_BYTES = 128 << 20  # The strongest preset asks for 65 MiB.


class ProofError(Exception):
    """A tokenizer could not be proven. `reason` is one of the core's `ArtifactError` reasons, or of these:

    `NOT_LOCKED`, `LOCK_MISMATCH`, `FILE_UNREADABLE`, `FILE_OUTSIDE_FOLDER`, `FILE_TOO_LARGE`, `SHA256_MISMATCH`,
    `BAD_COMPRESSION`, `BAD_OPTION`, `DIGEST_MISMATCH`, `BAD_GOLDEN`, `GOLDEN_MISMATCH`; and where golden vectors are
    made, `LOSSY_PATTERN`, `REFERENCE_FAILED`, `REFERENCE_MISSING`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def prove(config: TokenizerConfig, max_bytes: int) -> Encoder:
    """The encoder for `config`, proven. Takes the CPU time of one load (0.1 to 0.3 s for 200,000 tokens).

    `max_bytes` bounds the artifact, before and after decompression. Raises `ProofError`.
    """
    check_lock(config)
    encoder = load(config, read_pinned(config, max_bytes))
    check_digest(config, encoder)
    vectors = read_golden(config)
    if vectors is not None and (accepted := check_golden(config, vectors, encoder)):
        logs.info("changed_ids_accepted", tokenizer=config.name, accept_ids=accepted)
    return encoder


def load(config: TokenizerConfig, data: bytes) -> Encoder:
    """The encoder of an artifact's bytes with the options of `config`, not yet proven. Raises `ProofError`."""
    spec = read_spec(config, data)
    try:
        return Encoder(spec)
    except ArtifactError as error:
        raise ProofError(error.reason, str(error)) from None


def read_spec(config: TokenizerConfig, data: bytes) -> TokenizerSpec:
    """What an artifact's bytes and the options of `config` say, not yet compiled. Raises `ProofError`.

    A tokenizer_config.json is read here, and must be the one that the lock pins.
    """
    tokenizer_config = read_tokenizer_config(config)
    try:
        return tokenwire_core.read_spec(
            data,
            format=config.format,
            pattern=config.pattern,
            special_tokens=None if config.special_tokens is None else dict(config.special_tokens),
            control_tokens=None if config.control_tokens is None else list(config.control_tokens),
            tokenizer_config=tokenizer_config,
        )
    except ArtifactError as error:
        raise ProofError(error.reason, str(error)) from None
    except TokenizerError as error:
        raise ProofError("BAD_OPTION", str(error)) from None


def embedded_encoder(name: str) -> Encoder:
    """The proven encoder of an embedded tokenizer, for use without a service. Raises `ConfigError`, `ProofError`."""
    (config,) = embedded([name])
    return prove(config, Limits().artifact_bytes)


def read_pinned(config: TokenizerConfig, max_bytes: int) -> bytes:
    """The uncompressed bytes of the artifact, equal to their pin. Raises `ProofError`."""
    pull = ", or run `tokenwire artifacts pull`" if config.source else ""
    data = read_bounded(config.folder, config.file, max_bytes, f"restore it{pull}")
    remedy = f"get the right file{pull}, or pin this one if it is the one you mean"
    if config.xz_sha256 is not None:
        _compare(data, config.xz_sha256, "compressed file", remedy)
        data = decompress_xz(data, max_bytes)
    _compare(data, config.sha256, "artifact", remedy)
    return data


def check_lock(config: TokenizerConfig) -> None:
    """Raises `ProofError` where the lock does not have the tokenizer and should, or has another."""
    if config.is_unlocked:
        raise ProofError(
            "NOT_LOCKED",
            "the lock does not have it, so nothing tells what it was proven to be; restore "
            f"{config.lock_path.name}, or run `tokenwire artifacts pull`",
        )
    if config.lock_fault:
        raise ProofError(
            "LOCK_MISMATCH",
            f"manifest and lock disagree on {config.lock_fault}; run `tokenwire artifacts pull` if the manifest "
            "is right, and look at what changed before you commit the lock",
        )


def check_digest(config: TokenizerConfig, encoder: Encoder) -> None:
    """Raises `ProofError` where the encoder has not the digest of the manifest and its lock."""
    for said, where in ((config.digest, "manifest"), (config.locked_digest, "lock")):
        if said and encoder.digest != said:
            raise ProofError(
                "DIGEST_MISMATCH",
                f"the digest is {encoder.digest}, the {where} says {said}; check the pattern, special tokens and "
                "control tokens, and run `tokenwire artifacts pull` if a change of these is meant",
            )


def read_tokenizer_config(config: TokenizerConfig) -> bytes | None:
    """The file that the manifest names beside the artifact, equal to its pin if there is one. Raises `ProofError`."""
    if config.tokenizer_config is None:
        return None
    remedy = "restore it, or run `tokenwire artifacts pull` if a change of it is meant"
    data = read_bounded(config.folder, config.tokenizer_config, MAX_CONFIG_BYTES, remedy)
    if config.tokenizer_config_sha256 is not None:
        _compare(data, config.tokenizer_config_sha256, f"companion {config.tokenizer_config}", remedy)
    return data


def with_tokenizer_config(locked: LockedTokenizer, config: TokenizerConfig) -> LockedTokenizer:
    """A lock entry that pins the tokenizer_config.json as it lies there. Raises `ProofError`."""
    data = read_tokenizer_config(config)
    return replace(
        locked,
        tokenizer_config="" if data is None else str(config.tokenizer_config),
        tokenizer_config_sha256="" if data is None else hashlib.sha256(data).hexdigest(),
    )


def read_golden(config: TokenizerConfig) -> Golden | None:
    """The golden vectors of the lock, equal to their pin; None where there are none. Raises `ProofError`."""
    if config.golden is None:
        return None
    remedy = f"restore it, or run `tokenwire artifacts prove --renew {config.name}`"
    data = read_bounded(config.folder, config.golden, golden.MAX_BYTES, remedy)
    if config.golden_sha256 is not None:
        _compare(data, config.golden_sha256, f"file of golden vectors {config.golden}", remedy)
    try:
        return golden.read(data)
    except golden.BadGoldenError as error:
        raise ProofError("BAD_GOLDEN", str(error)) from None


def check_golden(config: TokenizerConfig, vectors: Golden, encoder: Encoder) -> str:
    """Hold the encoder to golden vectors: empty where they hold, else the sha256 of changed ids that are accepted.

    Raises `ProofError` for changed ids that are not.
    """
    indices, answers_sha256 = golden.changed(vectors, encoder)
    if not indices:
        return ""
    if config.accept_ids == answers_sha256:
        return answers_sha256
    raise ProofError(
        "GOLDEN_MISMATCH",
        f"{len(indices)} of {len(vectors.vectors)} golden vectors do not hold, the first is number {indices[0] + 1}: "
        "this version gives other ids than were proven. Serve with the version that gave them, or, if the new ids "
        f'are what you want, say so in the table of the tokenizer: accept_ids = "{answers_sha256}"',
    )


def read_bounded(folder: Path, name: str, max_bytes: int, remedy: str = "check the path") -> bytes:
    """The bytes of a regular file in `folder`, at most `max_bytes`. Raises `ProofError`; `remedy` is what to do."""
    with _reading(folder, name, remedy) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise _too_large(name, max_bytes)
    return data


def hash_bounded(folder: Path, name: str, max_bytes: int) -> tuple[str, int]:
    """sha256 and size of a regular file in `folder`, of at most `max_bytes`. Raises `ProofError`."""
    sha256, size_bytes = hashlib.sha256(), 0
    with _reading(folder, name, "remove it, then pull anew") as file:
        while piece := file.read(_PIECE_BYTES):
            size_bytes += len(piece)
            if size_bytes > max_bytes:
                raise _too_large(name, max_bytes)
            sha256.update(piece)
    return sha256.hexdigest(), size_bytes


@contextlib.contextmanager
def _reading(folder: Path, name: str, remedy: str) -> Iterator[BinaryIO]:
    try:
        root = folder.resolve(strict=True)
        path = (root / name).resolve(strict=True)
        if not path.is_relative_to(root):
            raise ProofError(
                "FILE_OUTSIDE_FOLDER",
                f"{name} leads outside the folder of the manifest; copy the file there",
            )
        with open_regular(path, follow=False) as file:
            yield file
    except (OSError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "a loop of links"
        raise ProofError("FILE_UNREADABLE", f"{name} cannot be read: {why}; {remedy}") from None


def _too_large(name: str, max_bytes: int) -> ProofError:
    return ProofError("FILE_TOO_LARGE", f"{name} is over the limit of {max_bytes} bytes")


def _compare(data: bytes, pin: str, what: str, remedy: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != pin:
        raise ProofError(
            "SHA256_MISMATCH",
            f"the {what} has {len(data)} bytes with sha256 {found}, the pin is {pin}; {remedy}",
        )


def decompress_xz(data: bytes, max_bytes: int) -> bytes:
    """What an xz file holds, at most `max_bytes`. Raises `ProofError`."""
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
    try:
        plain = decompressor.decompress(data, max_length=max_bytes + 1)
    except lzma.LZMAError:
        raise ProofError("BAD_COMPRESSION", "the file is not a well-formed xz file") from None
    if len(plain) > max_bytes:
        raise ProofError("FILE_TOO_LARGE", f"the artifact unpacks to over the limit of {max_bytes} bytes")
    if not decompressor.eof or decompressor.unused_data:
        raise ProofError("BAD_COMPRESSION", "the xz file is cut short or has data after its end")
    return plain
