"""Edits of a manifest: a tokenizer's table behind what is there; not a byte of what a person wrote is touched."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import TokenizerConfig, parse_tokenizers
from tokenwire_server.toml_text import assignment

_MOST_INLINE = 4
"""Special tokens on one line; more stand in a table of their own."""


def table(config: TokenizerConfig) -> str:
    """The `[[tokenizer]]` table of a tokenizer whose file lies where its source and pin say."""
    parts = ["[[tokenizer]]\n", assignment("name", config.name)]
    if config.aliases:
        parts.append(assignment("aliases", config.aliases))
    parts += [
        assignment("format", config.format),
        assignment("source", config.source),
        assignment("sha256", config.sha256),
    ]
    if config.pattern is not None:
        parts.append(assignment("pattern", config.pattern))
    if config.tokenizer_config is not None:
        parts.append(assignment("tokenizer_config", config.tokenizer_config))
    for key, values in (
        ("control_tokens", config.control_tokens or ()),
        ("models", config.models),
        ("model_prefixes", config.model_prefixes),
    ):
        if values:
            parts.append(assignment(key, values))
    if config.special_tokens and len(config.special_tokens) <= _MOST_INLINE:
        parts.append(assignment("special_tokens", config.special_tokens))
    elif config.special_tokens:
        parts.append("[tokenizer.special_tokens]\n")
        parts += [assignment(spelling, id_) for spelling, id_ in config.special_tokens.items()]
    return "".join(parts)


def check(config: TokenizerConfig) -> None:
    """Raises `ConfigError` where the manifest could not be read with the table of `config`."""
    parse_tokenizers(tomllib.loads(table(config))["tokenizer"], _path(config))


def appended(manifest: bytes, config: TokenizerConfig) -> bytes:
    """The manifest with one more table, which gives back `config`.

    Raises `ConfigError` for what no manifest can say, and where the table cannot be had by appending: the manifest
    writes its tokenizers as a value.
    """
    text = table(config)
    check(config)
    glue = "" if not manifest else "\n" if manifest.endswith(b"\n") else "\n\n"
    edited = manifest + (glue + text).encode()
    if _tokenizers(edited, _path(config)) != (*(_tokenizers(manifest, _path(config)) or ()), config):
        raise ConfigError(
            "the manifest cannot take one more [[tokenizer]] table behind its end; write its tokenizers as such "
            f"tables, or add this one by hand:\n{text}"
        )
    return edited


def _path(config: TokenizerConfig) -> Path:
    return config.folder / config.manifest_name


def _tokenizers(manifest: bytes, path: Path) -> tuple[TokenizerConfig, ...] | None:
    """The tokenizers of a manifest; None where it cannot be read."""
    try:
        return parse_tokenizers(tomllib.loads(manifest.decode()).get("tokenizer", []), path)
    except (ValueError, ConfigError):
        return None
