"""The sides of a diff: from what A and B are called to tokenizers that encode, and what differs between these.

A side is a tokenizer of the manifest or an embedded one, `path/to/tokenwire.toml#NAME` for one of another deployment,
or the path of an artifact. It is encoded by the core; with `reference:` before it, by the reference library of its
format instead. No side is ever exchanged for another: what cannot be read is refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tokenwire_core import Encoder, TokenizerSpec
from tokenwire_core.describe import describe
from tokenwire_core.errors import TokenizerError
from tokenwire_core.pipeline import vocabulary_of
from tokenwire_core.spec import PipelineSpec, RankFileSpec, SentencePieceSpec

from tokenwire_server import artifacts, embedded, known_rank_files
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.tools import deployment, detect, reference_library
from tokenwire_server.tools.deployment import Deployment
from tokenwire_server.tools.detect import DetectError
from tokenwire_server.tools.diffing import Refusal, Side
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
    with _refused(name):
        config = _named(name, found)
        if config is None:
            data, config = _from_path(name, max_bytes)
        else:
            data = artifacts.read_pinned(config, max_bytes)
        golden = artifacts.read_golden(config)
        texts = () if golden is None else tuple(item.text for item in golden.vectors)
        if is_reference:
            spec = artifacts.read_spec(config, data)
            library = _library(config, data, spec)
            described = _of_spec(config, spec, library.name)
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
def _refused(name: str) -> Iterator[None]:
    try:
        yield
    except (ProofError, DetectError) as error:
        message = f"{name}: {error}"
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
        format=detect.detect(data),
        folder=path.parent,
        file=path.name,
        sha256=sha256,
        pattern=known.pattern if known else None,
        special_tokens=known.special_tokens if known else None,
    )


def _library(config: TokenizerConfig, data: bytes, spec: TokenizerSpec) -> Reference:
    library = reference_library.of_spec(data, spec)
    if library is None:
        name = reference_library.LIBRARIES[config.format]
        raise SideError(
            "REFERENCE_MISSING",
            f"{config.name}: {name} is not installed; `pip install {name}`",
        )
    return library


def _of_spec(config: TokenizerConfig, spec: TokenizerSpec, engine: str) -> Description:
    return Description(
        name=config.name,
        engine=engine,
        format=spec.format,
        sha256=config.sha256,
        digest=spec.digest,
        vocab_size=spec.vocab_size,
        parts=_parts(spec),
        special_tokens=spec.special_tokens,
        entries=_entries(spec),
    )


def _parts(spec: TokenizerSpec) -> dict[str, str]:
    """The settings by name. Large tables are compared by their sha256."""
    if isinstance(spec, RankFileSpec):
        return {"pattern": spec.pattern}
    described = describe(spec)
    parts = {
        name: "\n".join(getattr(described, name))
        for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")
    }
    if isinstance(spec, SentencePieceSpec):
        model = spec.sentencepiece
        parts |= {"model": model.algorithm, "byte_fallback": str(model.byte_fallback)}
        parts["scores"] = _hashed([(piece.text, piece.score) for piece in model.pieces])
        parts["types"] = _hashed([(piece.text, piece.type) for piece in model.pieces])
    elif isinstance(spec, PipelineSpec):
        stages = spec.pipeline
        parts["model"] = type(stages.model).__name__
        for field in dataclasses.fields(stages.model):
            if field.name != "vocab":
                parts[f"model.{field.name}"] = _hashed(getattr(stages.model, field.name))
        parts["added_tokens"] = _hashed([dataclasses.astuple(token) for token in stages.added_tokens])
    return parts


def _entries(spec: TokenizerSpec) -> dict[Any, int]:
    """The ordinary tokens, spelled as the format spells them."""
    if isinstance(spec, RankFileSpec):
        return dict(spec.ranks)
    if isinstance(spec, PipelineSpec):
        found = dict(vocabulary_of(spec.pipeline.model))
        found |= {token.content: token.id for token in spec.pipeline.added_tokens if not token.special}
        return found
    if isinstance(spec, SentencePieceSpec):
        return {piece.text: id_ for id_, piece in enumerate(spec.sentencepiece.pieces)}
    raise TypeError(f"no entries of {type(spec).__name__}")


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
