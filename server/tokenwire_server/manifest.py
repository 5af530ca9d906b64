"""The manifest: the tokenizers a deployment serves, as `[[tokenizer]]` tables of a TOML file.

    [[tokenizer]]
    name = "qwen"                       # what requests call it
    aliases = ["qwen-7b"]               # other names for it
    format = "tiktoken"                 # a rank file; hf_json, a tokenizer.json; sentencepiece, a .model
    source = "pypi:dashscope==2.0.2/dashscope/resources/qwen.tiktoken"   # where `artifacts pull` has it from
    file = "qwen.tiktoken"              # relative to this file's folder, and inside it; needed without `source`
    sha256 = "…"                        # of the file's bytes (of the uncompressed bytes with xz_sha256)
    pattern = '''…'''                   # rank files: the pattern of the pieces
    special_tokens = { "<|endoftext|>" = 151643 }
    control_tokens = ["<think>"]        # further tokens that text becomes only where the caller allows it
    tokenizer_config = "tokenizer_config.json"   # optional, hf_json: the file beside it, for GetTokenizer to tell of
    digest = "…"                        # optional: refuse to serve unless the tokenizer has this digest
    xz_sha256 = "…"                     # optional: the file is xz-compressed; this is of its bytes
    models = ["qwen-max"]               # optional: model names answered by this tokenizer
    model_prefixes = ["ft:qwen-"]       # optional: and what such names may begin with
    accept_ids = "…"                    # optional: serve though golden vectors changed to these ids

The embedded tokenizers are listed the same way in `data/embedded.toml`.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, cast

from tokenwire_server.errors import ConfigError, shorten
from tokenwire_server.folders import open_regular
from tokenwire_server.sources import parse_source

Format = Literal["tiktoken", "hf_json", "sentencepiece"]
FORMATS = ("tiktoken", "hf_json", "sentencepiece")
EXTENSIONS: Mapping[str, str] = {"tiktoken": "tiktoken", "hf_json": "json", "sentencepiece": "model"}
DEFAULT_NAME = "tokenwire.toml"
ARTIFACTS_FOLDER = "artifacts"
PARTIAL_FOLDER = f"{ARTIFACTS_FOLDER}/.partial"
GOLDEN_FOLDER = "golden"
MAX_BYTES = 16 << 20
"""Of a manifest, a lock, or a PEM file."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class TokenizerConfig:
    """One tokenizer to serve; see the module for the fields of the manifest.

    `folder` is the one `file` may not leave; the manifest lies in it as `manifest_name`. The fields from `golden` on
    are the lock's (`lockfile.apply`).
    """

    name: str
    format: Format
    folder: Path
    file: str
    sha256: str
    source: str = ""
    aliases: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    model_prefixes: tuple[str, ...] = ()
    pattern: str | None = None
    special_tokens: Mapping[str, int] | None = None
    control_tokens: tuple[str, ...] | None = None
    tokenizer_config: str | None = None
    """A `tokenizer_config.json`, relative to `folder`."""
    digest: str | None = None
    xz_sha256: str | None = None
    accept_ids: str | None = None
    manifest_name: str = DEFAULT_NAME
    golden: str | None = None
    """A file of golden vectors, relative to `folder`."""
    golden_sha256: str | None = None
    proven_by: str = ""
    """The reference library that made the golden vectors, and its version; empty: unproven."""
    locked_digest: str = ""
    size_bytes: int | None = None
    """The size of `file`."""
    tokenizer_config_sha256: str | None = None
    lock_fault: str = ""
    """The keys in which manifest and lock disagree."""
    is_unlocked: bool = False
    """The lock should have it and has not."""

    @property
    def lock_path(self) -> Path:
        """The lock beside the manifest."""
        return self.folder / lock_name(self.manifest_name)

    @property
    def file_sha256(self) -> str:
        """The pin of the bytes of `file` itself, compressed if it is."""
        return self.xz_sha256 or self.sha256

    @property
    def proof(self) -> str:
        """`proven_by`, or nothing where the manifest accepts other ids than those that were proven."""
        return "" if self.accept_ids else self.proven_by

    @property
    def known_digest(self) -> str:
        """The digest the tokenizer must have, said by the manifest or its lock; empty where neither does."""
        return self.digest or self.locked_digest


_LOCKED = (
    *("golden", "golden_sha256", "proven_by", "locked_digest", "size_bytes", "tokenizer_config_sha256"),
    *("lock_fault", "is_unlocked"),
)
_TABLE_KEYS = tuple(
    name for name in TokenizerConfig.__dataclass_fields__ if name not in ("folder", "manifest_name", *_LOCKED)
)
"""The documented keys."""


def read_toml(path: Path) -> dict[str, Any]:
    """The document at `path`. Raises `ConfigError` where it cannot be read or is no TOML."""
    text = read_file(path, f"the configuration {path}")
    try:
        return tomllib.loads(text.decode())
    except RecursionError:
        raise ConfigError(f"the configuration {path} has values too deep within each other") from None
    except ValueError as error:  # No UTF-8, no TOML, or a number that Python refuses for its length.
        raise ConfigError(f"the configuration {path} is not TOML: {error}") from None


def read_file(path: Path, what: str) -> bytes:
    """The bytes of a regular file of at most `MAX_BYTES`. Raises `ConfigError` for any other."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read {what}: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"cannot read {what}: a path has no NUL") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"cannot read {what}: it is over {MAX_BYTES} bytes, restore the right file")
    return data


def lock_name(manifest_name: str) -> str:
    """What the lock of a manifest is called; it lies in the same folder."""
    return f"{manifest_name.removesuffix('.toml')}.lock"


def parse_tokenizers(
    tables: object, path: Path, settings: Collection[str] = ()
) -> tuple[TokenizerConfig, ...]:
    """The `[[tokenizer]]` tables of the manifest at `path`. Raises `ConfigError` for the first bad one.

    `settings` are keys that belong above the tables, and get that answer where they are found in one.
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ConfigError("tokenizers are listed as [[tokenizer]] tables")
    for index, table in enumerate(tables):
        for key in table:
            if key in settings:
                raise ConfigError(
                    f"[[tokenizer]] {index + 1}: `{key}` is no key of a tokenizer; a setting of the service "
                    "must stand above the first [[tokenizer]]"
                )
    return tuple(_parse(table, index, path) for index, table in enumerate(tables))


def check_unique(tokenizers: Iterable[TokenizerConfig]) -> None:
    """Raises `ConfigError` where two tokenizers would answer to one name, or to one prefix of names."""
    names: set[str] = set()
    prefixes: set[str] = set()
    for item in tokenizers:
        for what, given, taken in (
            ("name", (item.name, *item.aliases, *item.models), names),
            ("prefix", item.model_prefixes, prefixes),
        ):
            for each in given:
                if each in taken:
                    raise ConfigError(
                        f"the {what} {each!r} is given twice; names, aliases, models and prefixes are unique"
                    )
                taken.add(each)


def is_name(text: str) -> bool:
    """Whether a tokenizer can be called so."""
    return _NAME.fullmatch(text) is not None


def unknown(name: str, known: tuple[str, ...], kind: str, prefix: str = "") -> str:
    """The message for a name that is none of `known`, with the one near it or else all of them.

    `prefix` is what all of them begin with when they are written out.
    """
    near = difflib.get_close_matches(name, known, n=1)
    hint = (
        f"did you mean {prefix + near[0]!r}?"
        if near
        else f"known: {', '.join(prefix + each for each in known)}"
    )
    return f"unknown {kind} {prefix + shorten(name, 80)!r}; {hint}"


def _parse(table: Mapping[str, Any], index: int, path: Path) -> TokenizerConfig:
    where = f"[[tokenizer]] {index + 1}"
    for key in table:
        if key not in _TABLE_KEYS:
            raise ConfigError(f"{where}: {unknown(key, _TABLE_KEYS, 'key')}")
    name = _text(table, "name", where)
    where = f"{where} ({shorten(name, 80)})"
    names = (name, *_texts(table, "aliases", where))
    for each in names:
        if not is_name(each):
            raise ConfigError(
                f"{where}: a name is 1 to 128 letters, digits and ._:@/- and begins with one of the first"
            )
    format_name = _text(table, "format", where)
    if format_name not in FORMATS:
        raise ConfigError(f"{where}: {unknown(format_name, FORMATS, 'format')}")
    sha256 = _hash(table, "sha256", where)
    xz_sha256 = _hash(table, "xz_sha256", where) if "xz_sha256" in table else None
    source = _source(table, where) if "source" in table else ""
    if source and "file" not in table:
        file = artifact_path(format_name, sha256, xz_sha256)
    else:
        file = _file(table, "file", where, path.name)
        if source and any(part.startswith(".") for part in PurePosixPath(file).parts):
            raise ConfigError(
                f"{where}: `file` must not be hidden, nor in a hidden folder, for it is written there"
            )
    return TokenizerConfig(
        name=name,
        format=cast(Format, format_name),
        folder=path.parent,
        file=file,
        sha256=sha256,
        source=source,
        aliases=names[1:],
        models=_model_names(table, "models", 1, where),
        model_prefixes=_model_names(table, "model_prefixes", 2, where),
        pattern=_text(table, "pattern", where) if "pattern" in table else None,
        special_tokens=_special_tokens(table, where),
        control_tokens=_texts(table, "control_tokens", where) if "control_tokens" in table else None,
        tokenizer_config=_companion(table, file, where, path.name) if "tokenizer_config" in table else None,
        digest=_hash(table, "digest", where) if "digest" in table else None,
        xz_sha256=xz_sha256,
        accept_ids=_hash(table, "accept_ids", where) if "accept_ids" in table else None,
        manifest_name=path.name,
    )


def artifact_path(format_name: str, sha256: str, xz_sha256: str | None = None) -> str:
    """Where a pulled artifact lies, relative to the manifest's folder: by content, so that no two collide."""
    extension = EXTENSIONS[format_name]
    return (
        f"{ARTIFACTS_FOLDER}/{xz_sha256}.{extension}.xz"
        if xz_sha256
        else f"{ARTIFACTS_FOLDER}/{sha256}.{extension}"
    )


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if value is None:
        raise ConfigError(f"{where}: `{key}` is missing")
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where}: `{key}` must be a string that is not empty")
    return value


def _source(table: Mapping[str, Any], where: str) -> str:
    """A source, whose spelling can be read; what is behind it is for `artifacts pull` to find out."""
    text = _text(table, "source", where)
    try:
        parse_source(text)
    except ConfigError as error:
        raise ConfigError(f"{where}: `source`: {error}") from None
    return text


def _texts(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigError(f"{where}: `{key}` must be a list of strings")
    return tuple(value)


def _model_names(table: Mapping[str, Any], key: str, least: int, where: str) -> tuple[str, ...]:
    """Names of models, or what they begin with: others chose them, so any visible ASCII will do."""
    names = _texts(table, key, where)
    for name in names:
        if not least <= len(name) <= 256 or not all("!" <= character <= "~" for character in name):
            raise ConfigError(
                f"{where}: each of `{key}` is {least} to 256 visible ASCII characters, not {shorten(name, 80)!r}"
            )
    return names


def _hash(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if value is None:
        raise ConfigError(f"{where}: `{key}` is missing")
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise ConfigError(f"{where}: `{key}` must be a sha256 in 64 lower-case hex digits")
    return value


def _file(table: Mapping[str, Any], key: str, where: str, manifest_name: str) -> str:
    """A path that stays in the folder by its spelling; links are looked at when the file is opened."""
    value = _text(table, key, where)
    path = PurePosixPath(value)
    if not path.name or path.is_absolute() or ".." in path.parts or "\\" in value or "\0" in value:
        raise ConfigError(f"{where}: `{key}` must be a path inside the folder of the manifest")
    for taken in (manifest_name, lock_name(manifest_name), GOLDEN_FOLDER, PARTIAL_FOLDER):
        if path.is_relative_to(taken):
            raise ConfigError(f"{where}: `{key}` cannot be {taken!r} or below it, which is for other files")
    return value


def _companion(table: Mapping[str, Any], file: str, where: str, manifest_name: str) -> str:
    value = _file(table, "tokenizer_config", where, manifest_name)
    if value == file:
        raise ConfigError(f"{where}: `tokenizer_config` is the file beside the artifact, not the artifact")
    return value


def _special_tokens(table: Mapping[str, Any], where: str) -> dict[str, int] | None:
    value = table.get("special_tokens")
    if value is None:
        return None
    if not isinstance(value, dict) or not all(
        type(number) is int and number >= 0 for number in value.values()
    ):
        raise ConfigError(f"{where}: `special_tokens` must be a table of spelling = id")
    return dict(value)
