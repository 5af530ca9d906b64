"""Adding: from a source to a tokenizer of the manifest, pinned and proven.

In this order, each step whole or not at all: the artifact, its golden vectors, the lock, and last the manifest's
table, which makes it count. A command that is killed leaves the manifest as it was, and the same one can be run again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from tokenwire_server import artifacts, config, embedded, folders, known_rank_files, lockfile, manifest
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import ConfigError, shorten
from tokenwire_server.lockfile import LockedTokenizer
from tokenwire_server.manifest import EXTENSIONS, Format, TokenizerConfig
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.store import Store
from tokenwire_server.sources import FileSource, HttpsSource, HubSource, parse_source
from tokenwire_server.tools import detect, findings, manifest_edit, proving
from tokenwire_server.tools.detect import DetectError
from tokenwire_server.tools.findings import Findings

_COMMON_NAMES = ("tokenizer", "vocab", "model", "spiece", "sentencepiece.bpe")
"""Stems of file names that say nothing of the tokenizer."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be added, as it was asked for; see `tokenwire artifacts add --help`."""

    source: str
    name: str | None = None
    aliases: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    sha256: str | None = None
    format: Format | None = None
    pattern: str | None = None
    like: str | None = None
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    control_tokens: tuple[str, ...] = ()
    tokenizer_config: str | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """What became of it.

    `replaces_default`: it is the first of the manifest, which until now meant the embedded tokenizers and from now on
    means it alone.
    """

    config: TokenizerConfig
    locked: LockedTokenizer
    findings: Findings
    n_vectors: int
    replaces_default: bool


def add(wish: Wish, path: Path, store: Store) -> Added:
    """Add a tokenizer to the manifest at `path`, which is made if it is missing; `store` is of its folder.

    Names are checked before anything is fetched. Raises `ConfigError`, `PullError`, `DetectError`, `ProofError`; all
    but STORE_UNWRITABLE before anything is written. Cost: `proving.make_golden`, and the fetch.
    """
    parse_source(wish.source)
    _check_names(wish, wish.name, _read(path))
    arrived = store.bring(wish.source, wish.sha256)
    with folders.open_regular(arrived.path, follow=False) as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != arrived.sha256:
        raise PullError("SHA256_MISMATCH", "the file changed after it arrived; nothing was kept")
    tokenizer = _configured(wish, path, _detect(wish, data), arrived.sha256)
    _check_names(wish, tokenizer.name, _read(path))
    encoder = artifacts.load(tokenizer, data)
    found = findings.of_encoder(encoder)
    made = proving.make_golden(encoder, data)
    # Read anew: somebody may have edited it meanwhile.
    others = _read(path)
    config.check_names((*others, replace(tokenizer, digest=encoder.digest)))
    before = manifest.read_file(path, f"the manifest {path}") if path.exists() else b""
    content = manifest_edit.appended(before, tokenizer)
    order = [item.name for item in (*others, tokenizer)]
    with _unwritable(path.parent):
        store.keep(arrived, tokenizer.file)
        locked = proving.write(tokenizer, arrived.size_bytes, encoder.digest, made, order)
        # The manifest is the operator's own file, and may be a link to where they keep it.
        folders.write_whole(path.resolve().parent, path.resolve().name, content)
    return Added(tokenizer, locked, found, len(made.vectors), replaces_default=not others)


@contextmanager
def _unwritable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PullError("STORE_UNWRITABLE", f"{folder} cannot be written: {error.strerror}") from None


def _read(path: Path) -> tuple[TokenizerConfig, ...]:
    """The tokenizers that the manifest lists, and the embedded ones it names."""
    if not path.exists():
        return ()
    document = manifest.read_toml(path)
    listed = manifest.parse_tokenizers(document.get("tokenizer", []), path, config.KEYS)
    chosen = embedded.embedded(config.embedded_names(document.get("embedded", [])))
    return (*chosen, *lockfile.apply(listed, lockfile.read(lockfile.path_of(path))))


def _check_names(wish: Wish, name: str | None, others: tuple[TokenizerConfig, ...]) -> None:
    """Raises `ConfigError` for what no manifest can say, and for names that no tokenizer could have beside these."""
    taken = {known: item.name for item in others for known in (item.name, *item.aliases)}
    for wanted in (name, *wish.aliases):
        if wanted is None:
            continue
        if not manifest.is_name(wanted):
            raise ConfigError(
                f"{shorten(wanted, 80)!r} is no name; one is 1 to 128 letters, digits and ._:@/- and begins with one "
                "of the first: give --name"
            )
        if wanted in taken:
            raise ConfigError(
                f"the manifest has {shorten(wanted, 80)!r} already, as a name of {taken[wanted]!r}; choose another "
                "with --name or --alias, or remove that table first"
            )
    candidate = TokenizerConfig(
        name=name or "tokenizer",
        format="tiktoken",
        folder=Path(),
        file="",
        sha256="0" * 64,
        source=wish.source,
        aliases=wish.aliases,
        models=wish.models,
        pattern=wish.pattern,
        special_tokens=wish.special_tokens or None,
        control_tokens=wish.control_tokens or None,
        tokenizer_config=wish.tokenizer_config,
    )
    manifest_edit.check(candidate)
    if name is None:
        return
    # A known name is for the one tokenizer it means, which digest and sha256 tell; those are not known yet.
    guesses = [replace(candidate, digest=item.digest) for item in embedded.embedded()]
    for item in known_rank_files.known().values():
        guesses.append(replace(candidate, sha256=item.sha256, special_tokens=item.special_tokens))
    refusals = []
    for guess in guesses:
        try:
            config.check_names((*others, guess))
        except ConfigError as error:
            refusals.append(error)
    if len(refusals) == len(guesses):
        raise refusals[0]


def _detect(wish: Wish, data: bytes) -> Format:
    found = detect.detect(data)
    if wish.format not in (None, found):
        raise DetectError(
            "OTHER_FORMAT",
            f"the bytes are of format {found}, --format says {wish.format}; leave --format out, or look at "
            "what the source gives",
        )
    if found != "tiktoken" and (wish.pattern or wish.like or wish.special_tokens):
        raise ConfigError(
            f"--pattern, --like and --special are for rank files; a {found} file holds all that"
        )
    return found


def _configured(wish: Wish, path: Path, format: Format, sha256: str) -> TokenizerConfig:
    """The tokenizer as it will stand in the manifest."""
    name = wish.name
    pattern: str | None = None
    special_tokens: Mapping[str, int] = {}
    if format == "tiktoken":
        known, pattern, special_tokens = _rank_file_options(wish, path, sha256)
        name = name or known
    return TokenizerConfig(
        name=name or _name_from(wish.source),
        format=format,
        folder=path.parent,
        file=manifest.artifact_path(format, sha256),
        sha256=sha256,
        source=wish.source,
        aliases=wish.aliases,
        models=wish.models,
        pattern=pattern,
        special_tokens=dict(special_tokens) or None,
        control_tokens=wish.control_tokens or None,
        tokenizer_config=wish.tokenizer_config,
        manifest_name=path.name,
    )


def _rank_file_options(wish: Wish, path: Path, sha256: str) -> tuple[str | None, str, Mapping[str, int]]:
    """What a rank file does not hold: the name it is published under if it is known, its pattern, special tokens."""
    if wish.pattern is not None:
        return None, wish.pattern, wish.special_tokens
    if wish.like is not None:
        pattern, special_tokens = _like(wish.like, _read(path))
        return None, pattern, {**special_tokens, **wish.special_tokens}
    known = known_rank_files.recognise(sha256, wish.name)
    if known is None:
        raise ProofError(
            "MISSING_PATTERN",
            f"a rank file holds neither its pattern nor its special tokens, and this one (sha256 {sha256}) is none of "
            f"the published ones that are known here ({', '.join(known_rank_files.known())}). Give both as its "
            "publisher states them: --pattern and --special 'SPELLING=ID' for each, or --like NAME of a tokenizer "
            "that has the same",
        )
    return known.name, known.pattern, {**known.special_tokens, **wish.special_tokens}


def _like(name: str, others: tuple[TokenizerConfig, ...]) -> tuple[str, Mapping[str, int]]:
    """Pattern and special tokens of a tokenizer of the manifest, or of a published one."""
    found: dict[str, tuple[str, Mapping[str, int]]] = {
        item.name: (item.pattern, item.special_tokens) for item in known_rank_files.known().values()
    }
    found |= {
        known: (item.pattern, item.special_tokens or {})
        for item in others
        for known in (item.name, *item.aliases)
        if item.pattern is not None
    }
    if name not in found:
        raise ConfigError(manifest.unknown(name, tuple(found), "tokenizer with a pattern"))
    return found[name]


def _name_from(source_text: str) -> str:
    """A name from the last part of a source; from its package or repository where that says nothing."""
    source = parse_source(source_text)
    if isinstance(source, FileSource):
        file, whole = source.path, ""
    elif isinstance(source, HttpsSource):
        file, whole = urlsplit(source.url).path, ""
    elif isinstance(source, HubSource):
        file, whole = source.file, source.repo.rpartition("/")[2]
    else:
        file, whole = source.member, source.package.rpartition("/")[2]
    suffixes = "|".join(EXTENSIONS.values())
    stem = re.sub(rf"\.(?:{suffixes})$", "", PurePosixPath(file).name)
    return whole if stem in _COMMON_NAMES and whole else stem
