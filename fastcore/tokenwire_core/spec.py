"""What decides the ids of one tokenizer, read from an artifact and proven well-formed by its reader.

A `TokenizerSpec` is plain data: `formats` make it, `Encoder` compiles it, `ReferenceEncoder` follows it to
the letter. Its `digest` is the tokenizer's identity: with one digest, every text has the same ids.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final

DIGEST_VERSION: Final = 1

MAX_VOCAB_SIZE: Final = 1 << 21
"""Ids are below this. Tables are as long as the highest id: unbounded, one bad line could fill the memory."""


@dataclass(frozen=True, eq=False)
class TokenizerSpec:
    """A byte-level BPE tokenizer.

    Attributes:
        format: the artifact's format, `tiktoken`.
        model: the algorithm, `byte_level_bpe`.
        ranks: the bytes of each ordinary token to its id, in id order. The id is also the rank of the merge
            that makes the token: the lowest merges first. There may be holes between ids.
        pattern: the regular expression whose matches are the pieces that are encoded one by one.
        special_tokens: the spelling of each token that no merge makes, to its id.
        control_tokens: spellings of the special tokens that steer a model, which user text must not make
            unasked. Nothing tells them apart in a rank file: it is all of them.
        files: sha256 in hex of the artifact's bytes, uncompressed.
    """

    format: str
    model: str
    ranks: Mapping[bytes, int]
    pattern: str
    special_tokens: Mapping[str, int]
    control_tokens: tuple[str, ...]
    files: tuple[str, ...]

    @cached_property
    def vocab_size(self) -> int:
        """The highest id + 1, special tokens included."""
        return max([*self.ranks.values(), *self.special_tokens.values()], default=-1) + 1

    @cached_property
    def digest(self) -> str:
        """sha256 in hex of everything that decides the ids; names and paths are not in it."""
        identity: dict[str, object] = {
            "digest_version": DIGEST_VERSION,
            "files": list(self.files),
            "format": self.format,
            "pattern": self.pattern,
        }
        if self.special_tokens:
            identity["special_tokens"] = sorted(self.special_tokens.items(), key=itemgetter(1))
        return hashlib.sha256(canonical_json(identity)).hexdigest()


def canonical_json(value: object) -> bytes:
    """RFC 8785 of what a digest holds: ASCII keys, integers below 2**53, strings without lone surrogates.

    Within these bounds Python sorts and escapes as the RFC does.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
