"""The tokenizers of the tests by name, ours and tiktoken's, from the embedded and the pulled rank files."""

from __future__ import annotations

import base64
import functools
import hashlib
import lzma
import tomllib
from dataclasses import dataclass
from pathlib import Path

import tiktoken
import tokenwire_core
from tokenwire_core.encoder import Encoder

ROOT = Path(__file__).parents[1]
EMBEDDED = ROOT / "server" / "tokenwire_server" / "data"
DATA = ROOT / "tests" / "data"

OPEN_NAMES = (
    "r50k_base",
    "p50k_base",
    "cl100k_base",
    "o200k_base",
    "whisper_multilingual",
    "qwen",
    "qwen3_6",
)
"""The seven vocabularies under an open licence, which golden vectors and parity tests use."""


@dataclass(frozen=True, slots=True)
class RankFile:
    """A rank file and what it is read with."""

    name: str
    data: bytes
    pattern: str
    special_tokens: dict[str, int]


@functools.cache
def rank_file(name: str) -> RankFile:
    """The embedded or pulled rank file of this name, its bytes checked against the pin."""
    embedded = tomllib.loads((EMBEDDED / "embedded.toml").read_text())["tokenizer"]
    for entry in embedded:
        if entry["name"] == name:
            data = lzma.decompress((EMBEDDED / entry["file"]).read_bytes())
            return RankFile(name, data, entry["pattern"], entry["special_tokens"])
    entry = tomllib.loads((DATA / "rank_files.toml").read_text())["rank_file"][name]
    path = DATA / ".pulled" / f"{name}.tiktoken"
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: run tests/data/pull.py, or `make test`, which does")
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise ValueError(f"{path} is not the pinned file: remove it and pull it again")
    first_id = entry["first_special_id"]
    specials = {spelling: first_id + i for i, spelling in enumerate(entry["special_tokens"])}
    return RankFile(name, data, entry["pattern"], specials)


@functools.cache
def ours(name: str) -> Encoder:
    """Our encoder for the named vocabulary."""
    file = rank_file(name)
    return tokenwire_core.load(
        file.data, format="tiktoken", pattern=file.pattern, special_tokens=file.special_tokens
    )


def parse_ranks(data: bytes) -> dict[bytes, int]:
    """A rank file as tiktoken wants it."""
    pairs = (line.split(b" ") for line in data.splitlines() if line)
    # Whisper's file names its empty token `=`, which only a lenient reader accepts.
    return {base64.b64decode(token) if token != b"=" else b"": int(rank) for token, rank in pairs}


@functools.cache
def theirs(name: str) -> tiktoken.Encoding:
    """The reference encoder for the named vocabulary; never downloads."""
    file = rank_file(name)
    return tiktoken.Encoding(
        name=name,
        pat_str=file.pattern,
        mergeable_ranks=parse_ranks(file.data),
        special_tokens=file.special_tokens,
    )
