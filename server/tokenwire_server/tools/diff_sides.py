"""The sides of a diff: from what A and B are called to tokenizers that encode, and what differs between these.

A side is a tokenizer of the manifest or an embedded one, `path/to/tokenwire.toml#NAME` for one of another deployment,
or the path of an artifact. It is encoded by the core; with `reference:` before it, by the reference library of its
format instead. No side is ever exchanged for another: what cannot be read is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import tokenwire_core
from tokenwire_core import Encoder, TokenizerSpec
from tokenwire_core.errors import ArtifactError, TokenizerError

from tokenwire_server import artifacts, embedded, known_rank_files
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.tools import deployment, detect, reference_library
from tokenwire_server.tools.deployment import Deployment
from tokenwire_server.tools.detect import DetectError
from tokenwire_server.tools.diffing import Refusal, Side
from tokenwire_server.tools.model_proto import CONTROL
from tokenwire_server.tools.reference_library import Reference, ReferenceFailedError

REFERENCE_PREFIX = "reference:"
_XZ_MAGIC = b"\xfd7zXZ\x00"

Special = Literal["text", "allow"]


class SideError(Exception):
    """A side cannot be had; `reason` is one of `ProofError`, `DetectError`, or `verifying.REASONS`."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Description:
    """What makes up a tokenizer, as far as its format tells.

    `parts` are its settings by name, such as the pattern; `entries` the ordinary tokens to their ids, spelled in
    bytes for rank files and as the format spells them for others.
    """

    name: str
    engine: str
    format: str
    sha256: str
    digest: str
    vocab_size: int
    parts: Mapping[str, str]
    special_tokens: Mapping[str, int]
    entries: Mapping[Any, int]

    def fields(self) -> dict[str, Any]:
        """What tells it from others, for JSON."""
        return {
            "name": self.name,
            "engine": self.engine,
            "format": self.format,
            "sha256": self.sha256,
            "digest": self.digest,
            "vocab_size": self.vocab_size,
        }


@dataclass(frozen=True, slots=True)
class Opened:
    """A side that is ready; `golden_texts` are those of its golden vectors, if it has any."""

    side: Side
    description: Description
    golden_texts: tuple[str, ...]


def open_side(spelling: str, found: Deployment, special: Special) -> Opened:
    """The tokenizer that `spelling` means, with names looked up in `found`.

    Raises `SideError`, and `ConfigError` for a name or a manifest that is none.
    """
    name = spelling.removeprefix(REFERENCE_PREFIX)
    is_reference = name != spelling
    max_bytes = found.limits.artifact_bytes
    with _refused(name, is_reference):
        config = _named(name, found)
        if config is None:
            data, config = _from_path(name, max_bytes)
        else:
            data = artifacts.read_pinned(config, max_bytes)
        golden = artifacts.read_golden(config)
        texts = () if golden is None else tuple(item.text for item in golden.vectors)
        if is_reference:
            library = _library(config, data)
            described = _description(config, data, library.name)
            return Opened(_Theirs(library, special), replace(described, name=spelling), texts)
        # Its golden vectors are not held against it: a diff is how one sees what a change of ids means.
        encoder = artifacts.load(config, data)
        artifacts.check_digest(config, encoder)
        described = _of_spec(config, encoder.spec, "tokenwire")
        return Opened(_Ours(encoder, special), replace(described, name=spelling), texts)


def differences(a: Description, b: Description) -> dict[str, Any]:
    """What differs between two tokenizers themselves; empty where nothing does that their formats tell.

    `entries` is None where the two spell their tokens in ways that cannot be compared.
    """
    found: dict[str, Any] = {}
    for key in ("format", "vocab_size", "digest", "sha256"):
        if (left := getattr(a, key)) != (right := getattr(b, key)) and left and right:
            found[key] = [left, right]
    if a.format != b.format:
        return {**found, "entries": None}
    if parts := [name for name in {**a.parts, **b.parts} if a.parts.get(name) != b.parts.get(name)]:
        found["parts"] = parts
    for key in ("special_tokens", "entries"):
        left, right = getattr(a, key), getattr(b, key)
        only_a, only_b = left.keys() - right.keys(), right.keys() - left.keys()
        moved = [token for token in left.keys() & right.keys() if left[token] != right[token]]
        if not (only_a or only_b or moved):
            continue
        found[key] = {"only_a": len(only_a), "only_b": len(only_b), "other_id": len(moved)}
        if key == "special_tokens":
            found[key]["spellings"] = sorted([*only_a, *only_b, *moved])[:20]
    return found


@contextmanager
def _refused(name: str, is_reference: bool) -> Iterator[None]:
    try:
        yield
    except (ProofError, DetectError) as error:
        message = f"{name}: {error}"
        if error.reason == "UNSUPPORTED_FORMAT" and not is_reference:
            message += f"; write {REFERENCE_PREFIX}{name} to have it encoded by its reference library"
        if error.reason == "MISSING_PATTERN":
            message += "; put it in a manifest, and write FOLDER/tokenwire.toml#NAME"
        raise SideError(error.reason, message) from None
    except ReferenceFailedError as error:
        raise SideError("REFERENCE_FAILED", f"{name}: {error}") from None


def _named(name: str, found: Deployment) -> TokenizerConfig | None:
    """The configuration of a tokenizer that is called so; None for the path of a file."""
    manifest_path, mark, inner = name.rpartition("#")
    if mark and manifest_path.endswith(".toml"):
        return deployment.read(manifest_path, allow_embedded=True).named([inner])[0]
    try:
        return found.named([name])[0]
    except ConfigError:
        if name in embedded.NAMES:
            return embedded.embedded([name])[0]
        if os.path.isfile(name):
            return None
        raise


def _from_path(name: str, max_bytes: int) -> tuple[bytes, TokenizerConfig]:
    """The bytes of an artifact that no manifest has, and a configuration for them."""
    path = Path(name).resolve()
    data = artifacts.read_bounded(path.parent, path.name, max_bytes)
    if data.startswith(_XZ_MAGIC):
        data = artifacts.decompress_xz(data, max_bytes)
    sha256 = hashlib.sha256(data).hexdigest()
    known = known_rank_files.recognise(sha256)
    return data, TokenizerConfig(
        name=name,
        format=detect.detect(data).format,
        folder=path.parent,
        file=path.name,
        sha256=sha256,
        pattern=known.pattern if known else None,
        special_tokens=known.special_tokens if known else None,
    )


def _library(config: TokenizerConfig, data: bytes) -> Reference:
    library = reference_library.installed(
        data, config.format, pattern=config.pattern, special_tokens=config.special_tokens
    )
    if library is None:
        name = reference_library.LIBRARIES[config.format]
        raise SideError(
            "REFERENCE_MISSING",
            f"{config.name}: {name} is not installed; install tokenwire-server[reference]",
        )
    return library


def _description(config: TokenizerConfig, data: bytes, engine: str) -> Description:
    if config.format == "tiktoken":
        try:
            spec = tokenwire_core.read_spec(
                data, "tiktoken", pattern=config.pattern, special_tokens=config.special_tokens
            )
        except ArtifactError as error:
            raise ProofError(error.reason, str(error)) from None
        return _of_spec(config, spec, engine)
    detected = detect.detect(data)
    if detected.model is not None:
        pieces = {spelling: index for index, (spelling, _) in enumerate(detected.model.pieces)}
        return Description(
            name=config.name,
            engine=engine,
            format=config.format,
            sha256=config.sha256,
            digest="",
            vocab_size=len(detected.model.pieces),
            parts={
                "model": detected.model.model_type,
                "normalizer": detected.model.normalizer,
                "byte_fallback": str(detected.model.byte_fallback),
            },
            special_tokens={
                spelling: pieces[spelling] for spelling, kind in detected.model.pieces if kind == CONTROL
            },
            entries=pieces,
        )
    return _of_document(config, detected.document or {}, engine)


def _of_spec(config: TokenizerConfig, spec: TokenizerSpec, engine: str) -> Description:
    return Description(
        name=config.name,
        engine=engine,
        format=spec.format,
        sha256=config.sha256,
        digest=spec.digest,
        vocab_size=spec.vocab_size,
        parts={"pattern": spec.pattern},
        special_tokens=spec.special_tokens,
        entries=spec.ranks,
    )


def _of_document(config: TokenizerConfig, document: Mapping[str, Any], engine: str) -> Description:
    """A tokenizer.json. Its large parts are compared by their sha256."""
    model = document["model"]
    vocab = model["vocab"]
    entries: dict[Any, int] = (
        {**vocab} if isinstance(vocab, dict) else {entry[0]: index for index, entry in enumerate(vocab)}
    )
    added = [token for token in document.get("added_tokens") or () if isinstance(token, dict)]
    specials = {token["content"]: token["id"] for token in added if token.get("special")}
    others = {token["content"]: token["id"] for token in added if not token.get("special")}
    parts = {
        key: _hashed(value)
        for key, value in document.items()
        if key not in ("model", "added_tokens", "version", "truncation", "padding")
    }
    parts |= {f"model.{key}": _hashed(value) for key, value in model.items() if key != "vocab"}
    if not isinstance(vocab, dict):
        parts["model.vocab scores"] = _hashed(vocab)
    parts["added_tokens"] = _hashed(document.get("added_tokens"))
    # A setting that is not there, or is null or false, is not set.
    unset = {_hashed(None), _hashed(False)}
    parts = {key: value for key, value in parts.items() if value not in unset}
    all_ids = [*entries.values(), *specials.values(), *others.values()]
    return Description(
        name=config.name,
        engine=engine,
        format=config.format,
        sha256=config.sha256,
        digest="",
        vocab_size=max(all_ids, default=-1) + 1,
        parts=parts,
        special_tokens=specials,
        entries=entries | others,
    )


def _hashed(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


class _Ours:
    """The core's encoder."""

    def __init__(self, encoder: Encoder, special: Special) -> None:
        self._encoder = encoder
        self._special: Any = special

    def encode(self, texts: list[str]) -> list[memoryview | Refusal]:
        try:
            encodings = self._encoder.encode_batch(texts, special=self._special)
        except TokenizerError:
            return [self._encode_one(text) for text in texts]
        return [encoding.ids_u32 for encoding in encodings]

    def _encode_one(self, text: str) -> memoryview | Refusal:
        try:
            return self._encoder.encode(text, special=self._special).ids_u32
        except TokenizerError as error:
            return Refusal(error.reason, str(error))

    def byte_start(self, text: str, index: int) -> int:
        encoding = self._encoder.encode(text, special=self._special)
        return encoding.spans("byte")[0][index] if index < len(encoding) else encoding.n_bytes


class _Theirs:
    """A reference library."""

    def __init__(self, library: Reference, special: Special) -> None:
        self._library = library
        self._is_special = special == "allow"

    def encode(self, texts: list[str]) -> list[memoryview | Refusal]:
        return [self._encode_one(text) for text in texts]

    def _encode_one(self, text: str) -> memoryview | Refusal:
        try:
            return memoryview(array("I", self._library.encode(text, self._is_special)))
        except ReferenceFailedError as error:
            return Refusal("REFERENCE_FAILED", str(error))

    def byte_start(self, text: str, index: int) -> int:
        starts = self._library.byte_starts(text, self._is_special)
        return starts[index] if index < len(starts) else len(text.encode())
