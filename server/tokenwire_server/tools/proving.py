"""Proving: makes the golden vectors of a tokenizer, with its reference library or else with the slow twin.

A tokenizer gets its vectors only where the core agrees on all of them. Golden file first, then the lock that names
it: between the two a killed command leaves a tokenizer that is refused or as it was, and can be run again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from urllib.parse import quote

from tokenwire_core import Encoder
from tokenwire_core.errors import TokenizerError
from tokenwire_core.spec import RankFileSpec

from tokenwire_server import artifacts, folders, golden, lockfile, manifest
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import shorten
from tokenwire_server.golden import Golden, Vector
from tokenwire_server.lockfile import Lock, LockedFile, LockedTokenizer
from tokenwire_server.manifest import TokenizerConfig, lock_name
from tokenwire_server.tools import golden_texts, reference_library
from tokenwire_server.tools.reference_library import Reference, ReferenceFailedError

_MOST_NAME_BYTES = 100
"""Of the name of a golden file; file systems allow 255, and some less."""


def golden_path(name: str, manifest_name: str = manifest.DEFAULT_NAME) -> str:
    """Where the golden vectors of a tokenizer lie in its folder; no two names share a file, and none leaves it.

    Those of a manifest that is not called tokenwire.toml lie in a folder of its name, in which a long name ends in
    its sha256, behind a character that no other has.
    """
    file = quote(name, safe="")
    if len(file) > _MOST_NAME_BYTES:
        file = f"{file[:32]}+{hashlib.sha256(name.encode()).hexdigest()}"
    stem = lock_name(manifest_name).removesuffix(".lock")
    own = "" if manifest_name == manifest.DEFAULT_NAME else f"{stem}/"
    return f"{manifest.GOLDEN_FOLDER}/{own}{file}.json"


REASONS = MappingProxyType(
    {
        "GOLDEN_MISMATCH": "the reference library, or else the slow twin, gives other ids or another text for them",
        "LOSSY_PATTERN": "the pattern leaves out a part of a text",
        "REFERENCE_FAILED": "the reference library cannot read the artifact, or not encode a text",
        "REFERENCE_MISSING": "golden vectors of a reference library cannot be renewed without it",
    }
)
"""Why no golden vectors are made, beside the reasons of a load: each with its meaning."""


@dataclass(frozen=True, slots=True)
class Change:
    """A golden text whose ids are not what they were."""

    text: str
    special: bool
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Proved:
    """Golden vectors that were made and locked.

    `changes` are the texts whose ids are others than in the golden file before; `note` says why that could not be
    compared.
    """

    locked: LockedTokenizer
    n_vectors: int
    changes: tuple[Change, ...] = ()
    note: str = ""


def prove(config: TokenizerConfig, max_bytes: int, order: Sequence[str]) -> Proved:
    """Make golden vectors of a tokenizer of a manifest, and lock them.

    `max_bytes` bounds the artifact, `order` is that of the manifest. Raises `ProofError`, also REFERENCE_MISSING where
    the vectors before had a reference library behind them and these would have none; and `OSError`.
    """
    if config.lock_fault:
        artifacts.check_lock(config)
    data = artifacts.read_pinned(config, max_bytes)
    encoder = artifacts.load(config, data)
    artifacts.check_digest(config, encoder)
    made = make_golden(encoder, data)
    if config.proven_by and not made.made_by:
        raise ProofError(
            "REFERENCE_MISSING",
            f"the golden vectors were made by {config.proven_by}, and no reference library is installed that could "
            "renew them: pip install tiktoken tokenizers sentencepiece",
        )
    size_bytes = (config.folder / config.file).stat().st_size
    changes: tuple[Change, ...] = ()
    note = ""
    try:
        if (before := artifacts.read_golden(config)) is not None:
            changes = _changes(before, made)
    except ProofError as error:
        note = f"the golden vectors before could not be compared: {error}"
    locked = write(config, size_bytes, encoder.digest, made, order)
    return Proved(locked, len(made.vectors), changes, note)


def _changes(before: Golden, after: Golden) -> tuple[Change, ...]:
    """The texts of both whose ids differ."""
    ids = {_question(item): item.ids for item in before.vectors}
    return tuple(
        Change(item.text, item.special, known, item.ids)
        for item in after.vectors
        if (known := ids.get(_question(item), item.ids)) != item.ids
    )


def _question(item: Vector) -> tuple[str, str | None, bool, bool]:
    return item.text, item.pair, item.special, item.add_special


def write(
    config: TokenizerConfig, size_bytes: int, digest: str, made: Golden, order: Sequence[str]
) -> LockedTokenizer:
    """Write the golden vectors of a tokenizer and its lock entry. Raises `OSError`.

    What is in the lock of other tokenizers stays, and the time of a file that is the same. `order` are the names in
    the manifest's order, which is the lock's. Raises `ProofError` for a tokenizer_config.json that cannot be read.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    file = LockedFile(config.file, config.source, config.file_sha256, size_bytes, now)
    entries = dict((lockfile.read(config.lock_path) or lockfile.EMPTY).tokenizers)
    known = entries.get(config.name)
    if known is not None and known.file == replace(file, pulled_at=known.file.pulled_at):
        file = known.file
    path, content = golden_path(config.name, config.manifest_name), golden.to_json(made)
    folders.write_whole(config.folder, path, content)
    entry = LockedTokenizer(
        config.name,
        config.format,
        file,
        digest,
        golden=path,
        golden_sha256=hashlib.sha256(content).hexdigest(),
        proven_by=made.made_by,
    )
    entry = artifacts.with_tokenizer_config(entry, config)
    entries[config.name] = entry
    place = {name: index for index, name in enumerate(order)}
    ordered = sorted(entries, key=lambda name: place.get(name, len(place)))
    lockfile.write(config.lock_path, Lock({name: entries[name] for name in ordered}))
    return entry


def make_golden(encoder: Encoder, data: bytes) -> Golden:
    """Golden vectors for the tokenizer that `encoder` made of the artifact `data`.

    Cost: the load of the reference library, about a second for 200,000 tokens; without it the twin's, a tenth.

    Raises `ProofError`: GOLDEN_MISMATCH where reference and core disagree, LOSSY_PATTERN, REFERENCE_FAILED, or the
    reason of a text that the core refuses.
    """
    try:
        reference = reference_library.of_spec(data, encoder.spec) or reference_library.twin(encoder.spec)
        made = Golden(reference.name, tuple(_vectors(encoder, reference)))
    except ReferenceFailedError as error:
        raise ProofError("REFERENCE_FAILED", f"{error}, or remove it and stay unproven") from None
    indices, _ = golden.changed(made, encoder)
    if indices:
        first = made.vectors[indices[0]]
        raise ProofError(
            "GOLDEN_MISMATCH",
            f"{made.made_by or 'the slow twin'} gives other answers for {len(indices)} of {len(made.vectors)} texts, "
            f"the first is number {indices[0]}, {shown(first.text)}: {_difference(encoder, first)}; check the pattern "
            "and special tokens. If they are right, report it with this text",
        )
    return made


def _vectors(encoder: Encoder, reference: Reference) -> list[Vector]:
    vectors = []
    for question in golden_texts.questions(encoder.spec):
        try:
            # The core first: it gives up on a pattern that backtracks without end, which a reference may not.
            ids = golden.encode(encoder, question)
        except TokenizerError as error:
            raise ProofError(
                error.reason, f"the golden text {shown(question.text)} cannot be encoded: {error}"
            ) from None
        if isinstance(encoder.spec, RankFileSpec) and encoder.decode_bytes(ids) != question.text.encode():
            raise ProofError(
                "LOSSY_PATTERN",
                f"the pattern leaves out a part of {shown(question.text)}, so ids do not give back their text; "
                "add an alternative that matches what is left, as \\s or [\\s\\S]",
            )
        theirs = reference.encode(question.text, question.special, question.add_special, question.pair)
        has_no_say = is_own(encoder, reference, question, theirs)
        answer = ids if has_no_say else theirs
        decoded = reference.decode(answer)
        vectors.append(
            replace(
                question,
                ids=tuple(answer),
                decoded=None if decoded == question.text else decoded,
                is_own=has_no_say,
            )
        )
    return vectors


def is_own(encoder: Encoder, reference: Reference, question: Vector, theirs: Sequence[int]) -> bool:
    """Whether the reference has no say: it makes control tokens of what should be text, or makes none at all."""
    if question.special:
        return not reference.finds_control_tokens
    return not question.add_special and not frozenset(encoder.control_tokens.values()).isdisjoint(theirs)


def _difference(encoder: Encoder, vector: Vector) -> str:
    found = golden.encode(encoder, vector)
    if tuple(found) == vector.ids:
        decoded = vector.text if vector.decoded is None else vector.decoded
        return f"the text of its ids is {shown(decoded)}, and here {shown(encoder.decode(found, reference=True))}"
    return f"{shorten(str(list(vector.ids)), 120)}, and this version {shorten(str(found), 120)}"


def shown(text: str) -> str:
    """A golden text for a message: short, and with everything unprintable escaped."""
    return shorten(json.dumps(text), 80)
