"""Verifying: re-proves offline what a deployment serves, and goes deeper than a load does.

A load holds a tokenizer to its pin, its digest and its golden vectors. Here also the lock is held to the manifest,
offsets must tile each golden text (lie within it, where the format is no rank file), the slow twin must give the same
ids on a sample, and on request the reference library encodes all golden texts anew. Nothing is written, and nothing
touches the network. All faults are collected, each with a reason: those of `artifacts.ProofError` and of `REASONS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tokenwire_core import Encoder
from tokenwire_core.errors import TokenizerError
from tokenwire_core.spec import RankFileSpec

from tokenwire_server import artifacts, golden, lockfile
from tokenwire_server.artifacts import ProofError
from tokenwire_server.golden import Golden, Vector
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.tools import golden_texts, proving, reference_library
from tokenwire_server.tools.reference_library import Reference, ReferenceFailedError

REASONS = MappingProxyType(
    {
        "BAD_CONFIG": "the manifest or its lock cannot be read",
        "NOT_LOCKED": "the lock does not have the tokenizer, or not all of what it should say of it",
        "STALE_LOCK": "the lock has a tokenizer that the manifest has not",
        "SIZE_MISMATCH": "the file has another size than the lock says",
        "PROOF_MISMATCH": "the lock names another reference library than the golden vectors do",
        "TWIN_MISMATCH": "the slow twin gives other ids",
        "LOSSY_PATTERN": "the pattern leaves out a part of a text",
        "OFFSETS_MISMATCH": "the offsets do not tile a text, or do not lie within it",
        "REFERENCE_MISSING": "the reference library of the format is not installed",
        "REFERENCE_FAILED": "the reference library cannot read the artifact, or not encode a text",
        "REFERENCE_MISMATCH": "the reference library gives other ids",
        "UNPROVEN": "no reference library stands behind the ids, and proof is required",
    }
)
"""Each reason that is found here and not by a load, with its meaning."""

PROVEN, UNPROVEN, ACCEPTED = "proven", "unproven", "accepted"

_REFUSED = [-1]
"""Ids of a text that an encoder refuses: those of no text."""
_TWIN_TEXTS = 64
_TWIN_TEXT_BYTES = 2048
"""The twin is quadratic in the longest piece."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: its reason, and what came, the bound and what to do."""

    reason: str
    message: str


@dataclass(slots=True)
class Verdict:
    """What was found of one tokenizer.

    `proof` is `proven` (golden vectors made by `proven_by` hold), `unproven` (there are none, or they were made
    without a reference library), `accepted` (the ids changed, and the manifest accepts the new ones), or empty where
    the golden vectors could not be held against it. `reference` is the installed library that encoded the golden
    texts anew.
    """

    name: str
    format: str
    digest: str = ""
    proof: str = ""
    proven_by: str = ""
    n_vectors: int = 0
    reference: str = ""
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    encoder: Encoder | None = None

    @property
    def ok(self) -> bool:
        return not self.findings

    def add(self, reason: str, message: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(reason, message))

    def fields(self) -> dict[str, Any]:
        """Everything but the encoder, for JSON."""
        return {
            "name": self.name,
            "ok": self.ok,
            "format": self.format,
            "digest": self.digest,
            "proof": self.proof,
            "proven_by": self.proven_by,
            "n_vectors": self.n_vectors,
            "reference": self.reference,
            "findings": [{"reason": item.reason, "message": item.message} for item in self.findings],
            "notes": list(self.notes),
        }


def verify(
    config: TokenizerConfig, max_bytes: int, *, with_reference: bool = False, require_proof: bool = False
) -> Verdict:
    """Prove one tokenizer, with what its lock says of it (`lockfile.apply`).

    `max_bytes` bounds the artifact. Takes the time of one load and some hundred texts of the slow twin.
    """
    verdict = Verdict(config.name, config.format)
    lock = lockfile.read(config.lock_path)
    locked = None if lock is None else lock.tokenizers.get(config.name)
    if locked is None:
        verdict.add("NOT_LOCKED", f"{config.lock_path.name} does not have it; run `tokenwire artifacts pull`")
    with _noting(verdict):
        if config.lock_fault:
            artifacts.check_lock(config)
        data = artifacts.read_pinned(config, max_bytes)
        _check_size(verdict, config)
        verdict.encoder = artifacts.load(config, data)
        verdict.digest = verdict.encoder.digest
        if locked is not None and not locked.digest:
            verdict.add("NOT_LOCKED", "the lock has no digest of it; run `tokenwire artifacts pull`")
        texts = _check_ids(verdict, config, verdict.encoder)
        if with_reference:
            _check_reference(verdict, config, data, verdict.encoder, texts)
    if require_proof and not verdict.findings and verdict.proof != PROVEN:
        verdict.add(
            "UNPROVEN",
            f"the ids are {verdict.proof}, not proven, and --require-proof asks for it; make golden vectors with the "
            "reference library: `pip install tiktoken tokenizers sentencepiece`, then run "
            f"`tokenwire artifacts prove --renew {config.name}`",
        )
    return verdict


def stale_entries(lock_names: Iterable[str], tokenizers: Iterable[TokenizerConfig]) -> list[Finding]:
    """A finding for each tokenizer of a lock that the manifest no longer has."""
    known = {item.name for item in tokenizers}
    return [
        Finding(
            "STALE_LOCK",
            f"the lock has {name}, the manifest has not; run `tokenwire artifacts pull`, which removes it, "
            "or put its table back",
        )
        for name in lock_names
        if name not in known
    ]


@contextmanager
def _noting(verdict: Verdict) -> Iterator[None]:
    """A `ProofError` within becomes a finding."""
    try:
        yield
    except ProofError as error:
        verdict.add(error.reason, str(error))


def _check_size(verdict: Verdict, config: TokenizerConfig) -> None:
    """After the hash held: the sizes can differ only where somebody wrote into the lock."""
    try:
        size_bytes = (config.folder / config.file).stat().st_size
    except OSError as error:
        raise ProofError("FILE_UNREADABLE", f"{config.file} cannot be read: {error.strerror}") from None
    if config.size_bytes is not None and size_bytes != config.size_bytes:
        verdict.add(
            "SIZE_MISMATCH",
            f"{config.file} has {size_bytes} bytes, the lock says {config.size_bytes}; restore the lock, "
            "or run `tokenwire artifacts pull`",
        )


def _check_ids(verdict: Verdict, config: TokenizerConfig, encoder: Encoder) -> Sequence[Vector]:
    """The digest, and everything the golden vectors can tell; gives these, or texts alone where there are none."""
    vectors = None
    with _noting(verdict):
        artifacts.check_digest(config, encoder)
    with _noting(verdict):
        vectors = artifacts.read_golden(config)
        if vectors is None:
            verdict.proof = UNPROVEN
            verdict.notes.append("there are no golden vectors; `tokenwire artifacts prove` makes them")
        else:
            _check_golden(verdict, config, vectors, encoder)
    texts = vectors.vectors if vectors else [Vector(text, ()) for text in golden_texts.TEXTS]
    _check_twin(verdict, encoder, texts)
    if not isinstance(encoder.spec, RankFileSpec) or _check_lossless(verdict, encoder, texts):
        _check_offsets(verdict, encoder, texts)
    return texts


def _check_golden(verdict: Verdict, config: TokenizerConfig, vectors: Golden, encoder: Encoder) -> None:
    verdict.n_vectors = len(vectors.vectors)
    verdict.proven_by = vectors.made_by
    if vectors.made_by != config.proven_by:
        verdict.add(
            "PROOF_MISMATCH",
            f"the golden vectors were made by {vectors.made_by or 'the slow twin'}, the lock says "
            f"{config.proven_by or 'the slow twin'}; run `tokenwire artifacts prove`",
        )
    if artifacts.check_golden(config, vectors, encoder):
        verdict.proof = ACCEPTED
        verdict.notes.append("the ids are not those of the golden vectors; accept_ids accepts them")
        return
    verdict.proof = PROVEN if vectors.made_by else UNPROVEN
    if config.accept_ids is not None:
        verdict.notes.append("the golden vectors hold: accept_ids is not needed any more")


def _check_twin(verdict: Verdict, encoder: Encoder, texts: Sequence[Vector]) -> None:
    twin = reference_library.twin(encoder.spec)
    short = [(index, item) for index, item in enumerate(texts) if len(item.text.encode()) <= _TWIN_TEXT_BYTES]
    sample = short[:: -(-len(short) // _TWIN_TEXTS) or 1]
    wrong = [index for index, item in sample if _disagrees(encoder, twin, item)]
    if wrong:
        verdict.add(
            "TWIN_MISMATCH",
            f"the slow twin gives other ids for {len(wrong)} of {len(sample)} golden texts, the first is number "
            f"{wrong[0] + 1}: this version is broken on this machine; do not serve with it",
        )


def _check_lossless(verdict: Verdict, encoder: Encoder, texts: Sequence[Vector]) -> bool:
    lossy = [index for index, item in enumerate(texts) if _is_cut(encoder, item)]
    if lossy:
        verdict.add(
            "LOSSY_PATTERN",
            f"the pattern leaves out a part of {len(lossy)} of {len(texts)} golden texts, the first is number "
            f"{lossy[0] + 1}; add an alternative that matches what is left, as \\s or [\\s\\S]",
        )
    return not lossy


def _check_offsets(verdict: Verdict, encoder: Encoder, texts: Sequence[Vector]) -> None:
    wrong = [index for index, item in enumerate(texts) if not _has_sound_offsets(encoder, item)]
    if wrong:
        verdict.add(
            "OFFSETS_MISMATCH",
            f"the byte offsets are wrong for {len(wrong)} of {len(texts)} golden texts, the first is number "
            f"{wrong[0] + 1}: this version is broken on this machine; do not serve with it",
        )


def _check_reference(
    verdict: Verdict, config: TokenizerConfig, data: bytes, encoder: Encoder, texts: Sequence[Vector]
) -> None:
    """Encode the golden texts anew with the library that is installed, whatever its version."""
    try:
        library = reference_library.of_spec(data, encoder.spec)
        if library is None:
            name = reference_library.LIBRARIES[config.format]
            verdict.add("REFERENCE_MISSING", f"{name} is not installed; `pip install {name}`")
            return
        verdict.reference = library.name
        wrong = [index for index, item in enumerate(texts) if _disagrees(encoder, library, item)]
    except ReferenceFailedError as error:
        verdict.add("REFERENCE_FAILED", str(error))
        return
    if wrong:
        verdict.add(
            "REFERENCE_MISMATCH",
            f"{library.name} gives other ids for {len(wrong)} of {len(texts)} golden texts, the first is number "
            f"{wrong[0] + 1}; the golden vectors were made by {verdict.proven_by or 'no reference library'}. Find out "
            "which of them changed before you serve",
        )


def _ids(encoder: Encoder, item: Vector) -> Sequence[int]:
    try:
        return golden.encode(encoder, item)
    except TokenizerError:
        return _REFUSED


def _disagrees(encoder: Encoder, reference: Reference, item: Vector) -> bool:
    """Whether the reference gives other ids, and has a say in it."""
    theirs = reference.encode(item.text, item.special, item.add_special, item.pair)
    has_say = not item.is_own and not proving.is_own(encoder, reference, item, theirs)
    return has_say and theirs != _ids(encoder, item)


def _is_cut(encoder: Encoder, item: Vector) -> bool:
    ids = _ids(encoder, item)
    return ids != _REFUSED and encoder.decode_bytes(ids) != item.text.encode()


def _has_sound_offsets(encoder: Encoder, item: Vector) -> bool:
    return (_tiles if isinstance(encoder.spec, RankFileSpec) else _lies_within)(encoder, item)


def _tiles(encoder: Encoder, item: Vector) -> bool:
    """Whether the tokens' spans lie edge to edge over the whole text, each over the token's own bytes."""
    policy: Any = "allow" if item.special else "text"
    try:
        encoding = encoder.encode(item.text, special=policy)
    except TokenizerError:
        return False
    utf8, at = item.text.encode(), 0
    for (start, end), piece in zip(encoding.offsets("byte"), encoding.token_bytes(), strict=True):
        if start != at or utf8[start:end] != piece:
            return False
        at = end
    return at == len(utf8)


def _lies_within(encoder: Encoder, item: Vector) -> bool:
    """Whether each token's span is one of the text, which a normalizer may have put into another order."""
    policy: Any = "allow" if item.special else "text"
    try:
        encoding = encoder.encode(item.text, special=policy)
    except TokenizerError:
        return False
    spans, n_bytes = encoding.offsets("byte"), len(item.text.encode())
    return len(spans) == len(encoding) and all(0 <= start <= end <= n_bytes for start, end in spans)
