"""What decides the ids of one tokenizer, read from an artifact and proven well-formed by its reader.

A `TokenizerSpec` is plain data: `formats` make it, `Encoder` compiles it, the slow twins (`ReferenceEncoder`,
`ReferencePipeline`, `ReferenceSentencePiece`) follow it to the letter. Its `digest` is the tokenizer's identity: with
one digest, every text has the same ids.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final

from tokenwire_core.byte_alphabet import to_bytes
from tokenwire_core.pipeline import (
    BytePairModel,
    Pipeline,
    UnigramModel,
    WordPieceModel,
    vocabulary_of,
)
from tokenwire_core.sentencepiece_spec import PieceType, SentencePieceModel

DIGEST_VERSION: Final = 1

MAX_CONTROL_TOKEN_BYTES: Final = 256
"""No longer is what is looked for in a text before the model sees it, control token or not: it may begin anywhere."""

MAX_VOCAB_SIZE: Final = 1 << 21
"""Ids are below this. Tables are as long as the highest id: unbounded, one bad line could fill the memory."""


@dataclass(frozen=True, eq=False)
class TokenizerSpec(ABC):
    """What tokenizers of all formats have in common.

    Attributes:
        format: the artifact's format, `tiktoken`, `hf_json` or `sentencepiece`.
        files: sha256 in hex of the artifact's bytes, uncompressed.
        special_tokens: the spelling of each token that no text makes by itself, to its id: those beside a rank file,
            the added tokens that a tokenizer.json flags special, the control pieces of a SentencePiece model.
        control_tokens: spellings of the special tokens that steer a model, which user text must not make unasked: all
            of them but the model's own token for unknown text.
        chosen_control_tokens: those of them that the artifact does not flag; the caller of `load` did.
    """

    format: str
    files: tuple[str, ...]
    special_tokens: Mapping[str, int]
    control_tokens: tuple[str, ...]
    chosen_control_tokens: tuple[str, ...]

    @property
    @abstractmethod
    def model(self) -> str:
        """The algorithm: `byte_level_bpe`, `bpe`, `unigram`, `wordpiece`, `wordlevel`, `word` or `char`."""

    @abstractmethod
    def tokens(self) -> Iterator[tuple[int, bytes]]:
        """Each id and its bytes: of byte-level models what it stands for, of others its spelling in UTF-8."""

    @abstractmethod
    def ids(self) -> Iterable[int]:
        """All ids, in any order."""

    @property
    def unknown_id(self) -> int | None:
        """The token that text becomes which the vocabulary has nothing for."""
        return None

    @property
    def byte_fallback_ids(self) -> frozenset[int]:
        """The tokens `<0xNN>` of single bytes that such text becomes instead."""
        return frozenset()

    @cached_property
    def vocab_size(self) -> int:
        """The highest id + 1, special tokens included."""
        return max(self.ids(), default=-1) + 1

    @cached_property
    def digest(self) -> str:
        """sha256 in hex of everything that decides the ids; names and paths are not in it."""
        identity: dict[str, object] = {
            "digest_version": DIGEST_VERSION,
            "files": list(self.files),
            "format": self.format,
            **self._beside_the_file(),
        }
        if self.chosen_control_tokens:
            identity["control_tokens"] = sorted(self.chosen_control_tokens)
        return hashlib.sha256(canonical_json(identity)).hexdigest()

    def _beside_the_file(self) -> dict[str, object]:
        """What of the digest the artifact itself does not say."""
        return {}


@dataclass(frozen=True, eq=False)
class RankFileSpec(TokenizerSpec):
    """A byte-level BPE tokenizer, as tiktoken has it.

    Attributes:
        ranks: the bytes of each ordinary token to its id, in id order. The id is also the rank of the merge
            that makes the token: the lowest merges first. There may be holes between ids.
        pattern: the regular expression whose matches are the pieces that are encoded one by one.
    """

    ranks: Mapping[bytes, int]
    pattern: str

    @property
    def model(self) -> str:
        return "byte_level_bpe"

    def tokens(self) -> Iterator[tuple[int, bytes]]:
        yield from ((id, token) for token, id in self.ranks.items())
        yield from ((id, spelling.encode()) for spelling, id in self.special_tokens.items())

    def ids(self) -> Iterable[int]:
        return (*self.ranks.values(), *self.special_tokens.values())

    def _beside_the_file(self) -> dict[str, object]:
        identity: dict[str, object] = {"pattern": self.pattern}
        if self.special_tokens:
            identity["special_tokens"] = sorted(self.special_tokens.items(), key=itemgetter(1))
        return identity


@dataclass(frozen=True, eq=False)
class PipelineSpec(TokenizerSpec):
    """A tokenizer of a tokenizer.json."""

    pipeline: Pipeline

    @property
    def model(self) -> str:
        model = self.pipeline.model
        if isinstance(model, BytePairModel):
            return "byte_level_bpe" if self.is_byte_level else "bpe"
        if isinstance(model, UnigramModel):
            return "unigram"
        return "wordpiece" if isinstance(model, WordPieceModel) else "wordlevel"

    @property
    def is_byte_level(self) -> bool:
        """The model sees the byte alphabet, not characters."""
        stages = (*self.pipeline.normalizer, *self.pipeline.pre_tokenizer)
        return any(stage.to_byte_level for stage in stages)

    def tokens(self) -> Iterator[tuple[int, bytes]]:
        added = {token.id: token.content for token in self.pipeline.added_tokens}
        encode = to_bytes if self.is_byte_level else str.encode
        for spelling, id in vocabulary_of(self.pipeline.model).items():
            if id not in added:
                yield id, encode(spelling)
        yield from ((id, content.encode()) for id, content in added.items())

    def ids(self) -> Iterable[int]:
        return {
            *vocabulary_of(self.pipeline.model).values(),
            *(token.id for token in self.pipeline.added_tokens),
        }

    @cached_property
    def unknown_id(self) -> int | None:
        model = self.pipeline.model
        if isinstance(model, UnigramModel):
            return model.unk_id
        return None if model.unk is None else model.vocab[model.unk]

    @cached_property
    def byte_fallback_ids(self) -> frozenset[int]:
        model = self.pipeline.model
        if not isinstance(model, (BytePairModel, UnigramModel)) or not model.byte_fallback:
            return frozenset()
        names = {f"<0x{byte:02X}>" for byte in range(256)}
        return frozenset(id for spelling, id in vocabulary_of(model).items() if spelling in names)


@dataclass(frozen=True, eq=False)
class SentencePieceSpec(TokenizerSpec):
    """A tokenizer of a SentencePiece `.model`."""

    sentencepiece: SentencePieceModel

    @property
    def model(self) -> str:
        return self.sentencepiece.algorithm

    def tokens(self) -> Iterator[tuple[int, bytes]]:
        yield from ((id, piece.text.encode()) for id, piece in enumerate(self.sentencepiece.pieces))

    def ids(self) -> Iterable[int]:
        return range(len(self.sentencepiece.pieces))

    @property
    def unknown_id(self) -> int | None:
        return self.sentencepiece.unk_id

    @cached_property
    def byte_fallback_ids(self) -> frozenset[int]:
        pieces = enumerate(self.sentencepiece.pieces)
        return frozenset(id for id, piece in pieces if piece.type is PieceType.BYTE)


def canonical_json(value: object) -> bytes:
    """RFC 8785 of what a digest holds: ASCII keys, integers below 2**53, strings without lone surrogates.

    Within these bounds Python sorts and escapes as the RFC does.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
