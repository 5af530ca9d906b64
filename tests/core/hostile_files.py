"""Files as large as may be that are made to fill the memory or to take for ever: a program that loads each.

Run as `python hostile_files.py MAX_BYTES MAX_S`: with at most so much memory and CPU time for the whole process, which
ends by a signal or a MemoryError beyond. It prints one JSON object a line: the name of a file, and the reason why it is
refused.
"""

from __future__ import annotations

import base64
import json
import resource
import struct
import sys
from collections.abc import Callable, Iterator
from typing import Any

import tokenwire_core
from tokenwire_core.charsmap import MAX_CHARSMAP_BYTES
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.strict_json import MAX_JSON_BYTES, MAX_JSON_VALUES

ROOM = MAX_JSON_BYTES - 4096
FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)


def document(model: Any = None, **members: Any) -> bytes:
    content: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "model": model or {"type": "BPE", "vocab": {"a": 0}, "merges": []},
    }
    return json.dumps(content | members).encode()


def with_text(place: bytes, text: bytes, **members: Any) -> bytes:
    """A document in which the string `@` stands for a text that would take long to escape."""
    return document(**members).replace(place, text)


def doubling() -> dict[str, Any]:
    stage = {"type": "Replace", "pattern": {"String": "x"}, "content": "xx"}
    return {"type": "Sequence", "normalizers": [stage] * 200}


def charsmap(units: bytes) -> dict[str, Any]:
    data = struct.pack("<I", len(units)) + units + b"\0"
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


def added_tokens() -> list[dict[str, Any]]:
    return [{"id": 1 + n, "content": f"x{n}", **FLAGS, "normalized": True} for n in range(250_000)]


def field(number: int, data: bytes) -> bytes:
    size, head = len(data), b""
    while size > 127:
        head += bytes((size & 127 | 128,))
        size >>= 7
    return bytes((number << 3 | 2,)) + head + bytes((size,)) + data


def model(*parts: bytes) -> bytes:
    unknown = field(1, field(1, b"<unk>") + b"\x18\x02")
    return unknown + b"".join(parts) + field(2, b"\x18\x02")


CHARSMAP_BYTES = MAX_CHARSMAP_BYTES - 1024
SELF_LINKED = struct.pack("<256I", 1 << 10, *([1 << 10 | 1 << 9] * 255)) * (CHARSMAP_BYTES >> 10)
ENDLESS_KEYS = b"".join(
    struct.pack("<I", (index ^ 256) << 10 & 0x7FFFFC00 | index & 0xFF) for index in range(CHARSMAP_BYTES >> 2)
)
TOO_MANY_UNITS = bytes(MAX_CHARSMAP_BYTES + 1024)
PREPEND = {"type": "Prepend", "prepend": "@"}

JSON_FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "arrays within arrays": ("TOO_DEEP", lambda: b"[" * (MAX_JSON_VALUES - 1)),
    "objects within objects": ("TOO_DEEP", lambda: b'{"a":' * (MAX_JSON_VALUES - 1)),
    "sequences within sequences": (
        "TOO_DEEP",
        lambda: with_text(
            b'"@"',
            b'{"type": "Sequence", "normalizers": [' * 500 + b'{"type": "NFC"}' + b"]}" * 500,
            normalizer="@",
        ),
    ),
    "more values than may be": ("TOO_LARGE", lambda: b"[" + b"0," * MAX_JSON_VALUES + b"0]"),
    "more bytes than may be": ("TOO_LARGE", lambda: b" " * (MAX_JSON_BYTES + 1)),
    "a number of pages": ("BAD_NUMBER", lambda: b'{"version": ' + b"9" * ROOM + b"}"),
    "an exponent of pages": ("BAD_NUMBER", lambda: b'{"version": 1e' + b"9" * ROOM + b"}"),
    "an exponent that counts far": (
        "BAD_NUMBER",
        lambda: with_text(
            b'"@"', b"1e" + b"9" * 60, model={"type": "Unigram", "unk_id": 0, "vocab": [["a", "@"]]}
        ),
    ),
    "a key of pages": ("UNKNOWN_KEY", lambda: with_text(b"@", b"k" * ROOM, **{"@": None})),
    "a token of pages": (
        "TOKEN_TOO_LONG",
        lambda: with_text(b"@", b"t" * ROOM, model={"type": "BPE", "vocab": {"@": 0}, "merges": []}),
    ),
    "a merge of pages": (
        "BAD_MERGE",
        lambda: with_text(
            b"@", b"t" * ROOM, model={"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "@"]]}
        ),
    ),
    "a merge of blanks": (
        "BAD_MERGE",
        lambda: with_text(b"@", b" " * ROOM, model={"type": "BPE", "vocab": {"a": 0}, "merges": ["@"]}),
    ),
    "merges that make nothing": (
        "BAD_MERGE",
        lambda: with_text(
            b'"@"',
            b",".join([b'["a","a"]'] * 1_000_000),
            model={"type": "BPE", "vocab": {"a": 0}, "merges": ["@"]},
        ),
    ),
    "a prefix of pages": (
        "BAD_VALUE",
        lambda: with_text(b"@", b"x" * ROOM, normalizer={"type": "Prepend", "prepend": "@"}),
    ),
    "a pattern of groups": (
        "BAD_VALUE",
        lambda: with_text(
            b"@",
            b"(" * (ROOM // 2) + b")" * (ROOM // 2),
            pre_tokenizer={
                "type": "Split",
                "pattern": {"Regex": "@"},
                "behavior": "Isolated",
                "invert": False,
            },
        ),
    ),
    "stages without end": (
        "TOO_MANY_STAGES",
        lambda: document(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}] * 500_000}),
    ),
    "a strip of billions": (
        "BAD_VALUE",
        lambda: document(decoder={"type": "Strip", "content": " ", "start": 1 << 40, "stop": 0}),
    ),
    "a length of billions": (
        "BAD_VALUE",
        lambda: document(pre_tokenizer={"type": "FixedLength", "length": 1 << 40}),
    ),
    "a length of nothing": (
        "BAD_VALUE",
        lambda: document(pre_tokenizer={"type": "FixedLength", "length": 0}),
    ),
    "a template of pages": (
        "BAD_TEMPLATE",
        lambda: document(
            post_processor={
                "type": "TemplateProcessing",
                "special_tokens": {"x": {"id": "x", "ids": [0] * 500_000, "tokens": ["a"] * 500_000}},
                "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [],
            }
        ),
    ),
    "a template that holds its text in itself": (
        "BAD_TEMPLATE",
        lambda: document(
            post_processor={
                "type": "TemplateProcessing",
                "special_tokens": {},
                "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 900,
                "pair": [],
            }
        ),
    ),
    "a template with a token that is none": (
        "BAD_TEMPLATE",
        lambda: document(
            post_processor={
                "type": "TemplateProcessing",
                "special_tokens": {},
                "single": [{"SpecialToken": {"id": "x", "type_id": 0}}],
                "pair": [],
            }
        ),
    ),
    "added tokens that double without end": (
        "TOO_LARGE",
        lambda: document(normalizer=doubling(), added_tokens=added_tokens()),
    ),
    "added tokens that collide at last": (
        "BAD_ADDED_TOKEN",
        lambda: document(
            normalizer={"type": "Lowercase"},
            added_tokens=[*added_tokens(), {"id": 250_001, "content": "X7", **FLAGS, "normalized": True}],
        ),
    ),
    "an id of a million tokens": (
        "DUPLICATE_ID",
        lambda: document({"type": "BPE", "vocab": {f"t{n}": 0 for n in range(1_000_000)}, "merges": []}),
    ),
    "an id of billions": (
        "BAD_VALUE",
        lambda: document({"type": "BPE", "vocab": {"a": 1 << 31}, "merges": []}),
    ),
    "a charsmap that leads to itself": (
        "BAD_CHARSMAP",
        lambda: document(normalizer=charsmap(SELF_LINKED[: (1 << 22) - 1024])),
    ),
    "a charsmap with keys without end": (
        "BAD_CHARSMAP",
        lambda: document(normalizer=charsmap(ENDLESS_KEYS[: (1 << 22) - 1024])),
    ),
    "a charsmap larger than may be": (
        "BAD_CHARSMAP",
        lambda: document(normalizer=charsmap(b"\0" * ((1 << 22) + 1024))),
    ),
}

MODELS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a size of exabytes": ("TRUNCATED", lambda: b"\x0a" + b"\xff" * 8 + b"\x7f"),
    "a number without end": ("BAD_VARINT", lambda: b"\x0a" + b"\xff" * 1_000_000),
    "groups within groups": ("BAD_WIRE_TYPE", lambda: b"\x0b" * 10_000_000),
    "more pieces than ids": ("TOO_MANY_TOKENS", lambda: field(1, field(1, b"a")) * ((1 << 21) + 1)),
    "a piece of pages": ("TOKEN_TOO_LONG", lambda: model(field(1, field(1, b"a" * 50_000_000)))),
    "pieces of one spelling": ("DUPLICATE_TOKEN", lambda: model(*[field(1, field(1, b"a"))] * 1_000_000)),
    "settings in a million parts": (
        "UNKNOWN_FIELD",
        lambda: model(field(1, field(1, b"a")), field(3, b"\x20\x00") * 1_000_000, field(3, b"\x78\x00")),
    ),
    "a charsmap that leads to itself": (
        "BAD_CHARSMAP",
        lambda: model(
            field(1, field(1, b"a")),
            field(3, field(2, struct.pack("<I", len(SELF_LINKED)) + SELF_LINKED + b"\0")),
        ),
    ),
}


def results() -> Iterator[tuple[str, str]]:
    for format, files in (("hf_json", JSON_FILES), ("sentencepiece", MODELS)):
        for name, (_, make) in files.items():
            data = make()
            try:
                tokenwire_core.load(data, format)  # type: ignore[arg-type]  # one of its words
            except ArtifactError as error:
                if len(str(error)) > 1000:
                    raise AssertionError(f"the message of {name} has {len(str(error))} characters") from None
                yield f"{format}: {name}", error.reason
            else:
                yield f"{format}: {name}", "loaded"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]),) * 2)
    for item in results():
        print(json.dumps(item), flush=True)
