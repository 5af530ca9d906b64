"""The libraries of the benchmark: how each makes a list of ids, a buffer of ids and a count, on one thread.

Each row of `PEERS` has a function that loads a vocabulary and returns the calls the library has, each the fastest of
the library's own ways. Batches that go to a thread of a pool get one text at a time: the way there costs more than it
gains where that pool has one thread.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

CallName = Literal["list", "buffer", "count"]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One artifact on disk; `json_path` is None where no tokenizer.json has the same ids."""

    name: str
    format: Literal["tiktoken", "hf_json", "sentencepiece"]
    path: Path
    json_path: Path | None = None
    pattern: str = ""
    special_tokens: dict[str, int] = field(default_factory=dict)


class UnsupportedError(Exception):
    """The library does not take this vocabulary; the message says what it would need."""


@dataclass(frozen=True, slots=True)
class Call:
    """One way to ask a library.

    `work` gets texts and yields a result for each as it is drawn, so that no wrapper stands between the loop and the
    library; or, where `is_batch`, it gets a batch and returns its result. `read` takes a list of results, or the
    result of a batch, and returns the ids of each text, or its number where the library only counts.
    """

    work: Callable[[Sequence[str]], Any]
    read: Callable[[Any], list[Any]]
    is_batch: bool = False


Calls = Mapping[CallName, Call]


@dataclass(frozen=True, slots=True)
class Peer:
    """A library: its name on the package index, and how it loads a vocabulary."""

    name: str
    load: Callable[[Vocabulary], Calls]


def _each(results: list[Any]) -> list[Any]:
    return results


def _buffers(results: list[Any]) -> list[list[int]]:
    """Of a buffer of 32-bit ids for each text."""
    return [memoryview(result).cast("B").cast("I").tolist() for result in results]


def _flat(result: tuple[Any, Any]) -> list[list[int]]:
    """Of one buffer of 32-bit ids for all texts, and a buffer of the 64-bit places where each text's begin."""
    ids, starts = memoryview(result[0]).cast("B").cast("I"), memoryview(result[1]).cast("B").cast("q")
    return [ids[start:end].tolist() for start, end in itertools.pairwise(starts)]


def _json_path(vocabulary: Vocabulary) -> str:
    if vocabulary.json_path is None:
        raise UnsupportedError("needs a tokenizer.json, and there is none of this vocabulary")
    return str(vocabulary.json_path)


def _of_rank_file(vocabulary: Vocabulary) -> None:
    if vocabulary.format != "tiktoken":
        raise UnsupportedError("only for vocabularies of tiktoken")


def tokenwire(vocabulary: Vocabulary) -> Calls:
    core = importlib.import_module("tokenwire_core")
    data = vocabulary.path.read_bytes()
    options: dict[str, Any] = {}
    if vocabulary.format == "tiktoken":
        options = {"pattern": vocabulary.pattern, "special_tokens": vocabulary.special_tokens}
    encoder = core.load(data, vocabulary.format, **options)
    encode, count = encoder.encode, encoder.count
    return {
        "list": Call(lambda texts: (encode(text).ids for text in texts), _each),
        "buffer": Call(lambda texts: (encode(text).ids_u32 for text in texts), _buffers),
        "count": Call(lambda texts: (count(text) for text in texts), _each),
    }


def tiktoken(vocabulary: Vocabulary) -> Calls:
    _of_rank_file(vocabulary)
    library = importlib.import_module("tiktoken")
    loading = importlib.import_module("tiktoken.load")
    encoding = library.Encoding(
        name=vocabulary.name,
        pat_str=vocabulary.pattern,
        mergeable_ranks=loading.load_tiktoken_bpe(str(vocabulary.path)),
        special_tokens=vocabulary.special_tokens,
    )
    encode, encode_to_numpy = encoding.encode_ordinary, encoding.encode_to_numpy
    return {
        "list": Call(lambda texts: (encode(text) for text in texts), _each),
        "buffer": Call(
            lambda texts: (encode_to_numpy(text, disallowed_special=()) for text in texts), _buffers
        ),
    }


def tokenizers(vocabulary: Vocabulary) -> Calls:
    library = importlib.import_module("tokenizers")
    tokenizer = library.Tokenizer.from_file(_json_path(vocabulary))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    encode = tokenizer.encode_batch_fast
    return {
        "list": Call(
            lambda texts: [encoding.ids for encoding in encode(texts, add_special_tokens=False)], _each, True
        )
    }


def sentencepiece(vocabulary: Vocabulary) -> Calls:
    if vocabulary.format != "sentencepiece":
        raise UnsupportedError("only for its own model files")
    library = importlib.import_module("sentencepiece")
    encode = library.SentencePieceProcessor(model_file=str(vocabulary.path)).encode
    return {"list": Call(lambda texts: (encode(text) for text in texts), _each)}


def gigatoken(vocabulary: Vocabulary) -> Calls:
    library = importlib.import_module("gigatoken")
    if vocabulary.format == "tiktoken":
        tokenizer = library.Tokenizer.from_tiktoken(str(vocabulary.path))
    elif vocabulary.format == "sentencepiece":
        tokenizer = library.Tokenizer.from_sentencepiece(vocabulary.path)
    else:
        tokenizer = library.Tokenizer(_json_path(vocabulary))
    encode = tokenizer.backend.encode
    return {
        "list": Call(lambda texts: (encode(text).tolist() for text in texts), _each),
        "buffer": Call(lambda texts: (encode(text) for text in texts), _buffers),
    }


def fastokens(vocabulary: Vocabulary) -> Calls:
    library = importlib.import_module("fastokens")
    if vocabulary.format == "tiktoken":
        tokenizer = library.Tokenizer.from_tiktoken(str(vocabulary.path), encoding=vocabulary.name)
    else:
        tokenizer = library.Tokenizer.from_file(_json_path(vocabulary))
    encode, encode_batch_flat = tokenizer.encode, tokenizer.encode_batch_flat
    return {
        "list": Call(lambda texts: (encode(text).ids for text in texts), _each),
        "buffer": Call(lambda texts: (encode_batch_flat([text])[0] for text in texts), _buffers),
    }


def toktok(vocabulary: Vocabulary) -> Calls:
    _of_rank_file(vocabulary)
    library = importlib.import_module("toktok")
    tokenizer = library._encoding(vocabulary.name)
    encode, encode_to_buffer, count = tokenizer.encode_ordinary, tokenizer.encode_to_buffer, tokenizer.count
    return {
        "list": Call(lambda texts: (encode(text) for text in texts), _each),
        "buffer": Call(lambda texts: (encode_to_buffer(text) for text in texts), _buffers),
        "count": Call(lambda texts: (count(text) for text in texts), _each),
    }


def quicktok(vocabulary: Vocabulary) -> Calls:
    library = importlib.import_module("quicktok")
    carried = {
        "cl100k_base": "cl100k_base",
        "o200k_base": "o200k_base",
        "llama3_1": "llama3",
        "qwen3": "qwen3",
    }
    if vocabulary.name not in carried:
        raise UnsupportedError("only for the vocabularies that it carries")
    tokenizer = library.get_encoding(carried[vocabulary.name])
    encode, encode_batch, count = tokenizer.encode_ordinary, tokenizer.encode_batch, tokenizer.count
    return {
        "list": Call(lambda texts: (encode(text) for text in texts), _each),
        "buffer": Call(lambda texts: encode_batch(texts, 1), _flat, True),
        "count": Call(lambda texts: (count(text) for text in texts), _each),
    }


def tokie(vocabulary: Vocabulary) -> Calls:
    library = importlib.import_module("tokie")
    tokenizer = library.Tokenizer.from_json(_json_path(vocabulary))
    encode, encode_batch_flat, count = tokenizer.encode, tokenizer.encode_batch_flat, tokenizer.count_tokens
    return {
        "list": Call(lambda texts: (encode(text, False).ids for text in texts), _each),
        "buffer": Call(lambda texts: (encode_batch_flat([text], False)[0] for text in texts), _buffers),
        "count": Call(lambda texts: (count(text) for text in texts), _each),
    }


def tuetoken(vocabulary: Vocabulary) -> Calls:
    library = importlib.import_module("tuetoken")
    tokenizer = library.Tokenizer(_json_path(vocabulary))
    encode, encode_to_bytes, count = (
        tokenizer.encode_ordinary,
        tokenizer.encode_to_bytes,
        tokenizer.count_tokens,
    )
    return {
        "list": Call(lambda texts: (encode(text) for text in texts), _each),
        "buffer": Call(lambda texts: (encode_to_bytes(text) for text in texts), _buffers),
        "count": Call(lambda texts: (count(text) for text in texts), _each),
    }


def bpe_openai(vocabulary: Vocabulary) -> Calls:
    _of_rank_file(vocabulary)
    library = importlib.import_module("bpe_openai")
    encode = library.get_encoding(vocabulary.name).encode_ordinary
    return {"list": Call(lambda texts: (encode(text) for text in texts), _each)}


OURS = Peer("tokenwire", tokenwire)
TIKTOKEN = Peer("tiktoken", tiktoken)
PEERS = (
    TIKTOKEN,
    Peer("tokenizers", tokenizers),
    Peer("sentencepiece", sentencepiece),
    Peer("gigatoken", gigatoken),
    Peer("fastokens", fastokens),
    Peer("toktok-rs", toktok),
    Peer("quicktok-v1", quicktok),
    Peer("tokie", tokie),
    Peer("tuetoken", tuetoken),
    Peer("bpe-openai", bpe_openai),
)
JUDGES = {
    "tiktoken": TIKTOKEN,
    "hf_json": next(peer for peer in PEERS if peer.name == "tokenizers"),
    "sentencepiece": next(peer for peer in PEERS if peer.name == "sentencepiece"),
}
"""The library whose ids are the truth, by the format of the artifact."""
