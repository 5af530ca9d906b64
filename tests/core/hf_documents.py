"""Small tokenizer.json documents, and what the reference library says to them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.pipeline import Pipeline

Object = dict[str, Any]

BPE: Object = {
    "type": "BPE",
    "dropout": None,
    "unk_token": "u",
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
    "vocab": {"u": 0, "a": 1, "b": 2, "ab": 3, "aba": 4},
    "merges": [["a", "b"], ["ab", "a"]],
}
UNIGRAM: Object = {
    "type": "Unigram",
    "unk_id": 0,
    "vocab": [["u", 0.0], ["a", -1.5], ["ab", -2]],
    "byte_fallback": False,
}
WORDPIECE: Object = {
    "type": "WordPiece",
    "unk_token": "u",
    "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
    "vocab": {"u": 0, "a": 1, "##b": 2},
}
WORDLEVEL: Object = {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "a": 1}}

BERT: Object = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": False,
    "lowercase": False,
}
BYTE_LEVEL: Object = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
SPLIT: Object = {"type": "Split", "behavior": "MergedWithNext", "invert": True}
METASPACE: Object = {"type": "Metaspace", "replacement": "_"}
STRIP_DECODER: Object = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
SEP_AND_CLS: Object = {"sep": ["b", 2], "cls": ["a", 1]}

TRUNCATION: Object = {"direction": "Left", "max_length": 8, "strategy": "OnlyFirst", "stride": 2}
PADDING: Object = {
    "strategy": "BatchLongest",
    "direction": "Left",
    "pad_to_multiple_of": 8,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "u",
}


def document(**members: Any) -> Object:
    """A document that is read, with these members in place of its own."""
    start: Object = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []}
    stages: Object = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return start | stages | {"model": BPE} | members


def bpe(**members: Any) -> Object:
    return document(model=BPE | members)


def unigram(**members: Any) -> Object:
    return document(model=UNIGRAM | members)


def wordlevel(**members: Any) -> Object:
    return document(model=WORDLEVEL | members)


def without(value: Object, *names: str) -> Object:
    return {name: member for name, member in value.items() if name not in names}


def added(content: str, id: int, **flags: bool) -> Object:
    """An entry of `added_tokens`."""
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id, "content": content, **dict.fromkeys(names, False), **flags}


def text(name: str, type_id: int = 0) -> Object:
    """A text in a template."""
    return {"Sequence": {"id": name, "type_id": type_id}}


def special(name: str, type_id: int = 0) -> Object:
    """A token in a template."""
    return {"SpecialToken": {"id": name, "type_id": type_id}}


def template(**members: Any) -> Object:
    tokens: Object = {"[X]": {"id": "X", "ids": [1, 2], "tokens": ["a", "b"]}}
    start: Object = {"type": "TemplateProcessing", "special_tokens": tokens}
    start["single"] = [special("[X]", 3), text("A")]
    start["pair"] = [text("B", 1), special("[X]"), text("A")]
    return start | members


def read(content: object) -> Pipeline:
    """What we make of a document."""
    return read_hf_json(json.dumps(content).encode())


def refusal(data: bytes) -> ArtifactError:
    """Why we refuse a file."""
    with pytest.raises(ArtifactError) as caught:
        read_hf_json(data)
    return caught.value


def reference(data: str) -> Tokenizer | None:
    """What the library makes of a file; None if it refuses, be it by a panic."""
    try:
        return Tokenizer.from_str(data)
    except BaseException as error:  # a Rust panic is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return None


def parts(pipeline: Pipeline) -> tuple[object, ...]:
    """All of a pipeline, to be compared."""
    model = pipeline.model
    return (
        sorted(pipeline.added_tokens, key=lambda token: token.id),
        pipeline.normalizer,
        pipeline.pre_tokenizer,
        type(model),
        {field.name: getattr(model, field.name) for field in dataclasses.fields(model)},
        pipeline.post_processor,
        pipeline.decoder,
    )


def reference_parts(tokenizer: Tokenizer) -> tuple[object, ...]:
    """The pipeline as the library spells it after reading: in today's form, with its own ids and defaults."""
    return parts(read_hf_json(tokenizer.to_str().encode()))
