"""A tokenizer small enough to load in no time, and manifests that serve it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from tokenwire_server import lockfile
from tokenwire_server import manifest as config_file
from tokenwire_server.lockfile import Lock, LockedFile, LockedTokenizer

MERGES = (b"ab", b"abc", b" a", b"th", b"the", b"\xe6\x9d")
RANKS = {bytes([value]): value for value in range(256)} | {token: 256 + n for n, token in enumerate(MERGES)}
SPECIAL_TOKENS = {"<|end|>": 300, "<|pad|>": 301}
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"  # compiled
SLOW_PATTERN = r"(?:\w+\w+)+;|\S"  # on the regex engine, and without end on a long word
OWN_PATTERN = r"\p{L}+|[^\p{L}]"  # on the regex engine


def rank_file(ranks: dict[bytes, int] = RANKS) -> bytes:
    """The ranks in the format of a rank file."""
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())


def table(
    folder: Path,
    name: str = "tiny",
    *,
    data: bytes | None = None,
    pattern: str = GPT2_PATTERN,
    sha256: str | None = None,
    file: str | None = None,
    special_tokens: Mapping[str, int] = MappingProxyType(SPECIAL_TOKENS),
    extra: str = "",
) -> str:
    """Write a rank file into `folder` and give the [[tokenizer]] table for it; arguments make it wrong in one way."""
    data = rank_file() if data is None else data
    (folder / f"{name}.tiktoken").write_bytes(data)
    special = ", ".join(f'"{token}" = {number}' for token, number in special_tokens.items())
    return f"""
[[tokenizer]]
name = "{name}"
format = "tiktoken"
file = "{file or name + ".tiktoken"}"
sha256 = "{sha256 or hashlib.sha256(data).hexdigest()}"
pattern = '''{pattern}'''
special_tokens = {{ {special} }}
{extra}
"""


def manifest(folder: Path, *parts: str) -> Path:
    """A configuration file in `folder` of these parts, settings first."""
    path = folder / "tokenwire.toml"
    path.write_text("\n".join(parts))
    return path


def lock(path: Path) -> None:
    """Write a lock beside the manifest at `path` that has each of its tokenizers as it is, without golden vectors."""
    tables = config_file.read_toml(path)["tokenizer"]
    now = datetime(2026, 1, 2, tzinfo=UTC)
    entries = {
        item.name: LockedTokenizer(
            item.name, item.format, LockedFile(item.file, item.source, item.file_sha256, 1, now)
        )
        for item in config_file.parse_tokenizers(tables, path)
    }
    lockfile.write(lockfile.path_of(path), Lock(entries))
