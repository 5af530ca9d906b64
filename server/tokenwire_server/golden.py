"""Golden vectors: texts with the ids their reference gave, kept in a file that travels with the lock.

A tokenizer is served only while this version gives these very ids. A version that would give others refuses,
until the operator says, by the sha256 of the new ids, that exactly these are meant.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tokenwire_core import Encoder
from tokenwire_core.errors import TokenizerError

GOLDEN_VERSION = 1
MAX_BYTES = 16 << 20


class BadGoldenError(ValueError):
    """The bytes are no golden vectors."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A text and its ids; with `special`, control tokens spelled in it are allowed, else they are text."""

    text: str
    ids: tuple[int, ...]
    special: bool = False


@dataclass(frozen=True, slots=True)
class Golden:
    """`made_by` is the reference library and its version; empty: the slow twin, which proves nothing to others."""

    made_by: str
    vectors: tuple[Vector, ...]


def read(data: bytes) -> Golden:
    """The golden vectors of a file. Raises `BadGoldenError`."""
    try:
        document = json.loads(data)
        if document["golden_version"] != GOLDEN_VERSION:
            raise BadGoldenError(f"golden_version is not {GOLDEN_VERSION}")
        vectors = tuple(_vector(entry) for entry in document["vectors"])
        made_by = document["made_by"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadGoldenError(f"the golden vectors cannot be read: {type(error).__name__}") from None
    if not isinstance(made_by, str) or not vectors:
        raise BadGoldenError("the golden vectors lack `made_by`, or there are none")
    return Golden(made_by, vectors)


def to_json(golden: Golden) -> bytes:
    """The file: one vector a line, so that a changed one shows as one line of a diff."""
    lines = [
        json.dumps({"text": item.text, "ids": item.ids} | ({"special": True} if item.special else {}))
        for item in golden.vectors
    ]
    head = f'{{"golden_version": {GOLDEN_VERSION}, "made_by": {json.dumps(golden.made_by)}, "vectors": [\n'
    return (head + ",\n".join(lines) + "\n]}\n").encode()


def changed(golden: Golden, encoder: Encoder) -> tuple[list[int], str]:
    """The indices of the vectors that `encoder` answers otherwise, and the sha256 of all ids it gives.

    A vector holds if its ids are those of encode, their number is that of count, and decoding them gives the text.
    """
    indices, answers = [], []
    for index, item in enumerate(golden.vectors):
        found = _answer(encoder, item)
        answers.append(found)
        if found != list(item.ids):
            indices.append(index)
    return indices, ids_sha256(answers)


def ids_sha256(answers: Iterable[Sequence[int]]) -> str:
    """sha256 in hex of lists of ids, of their JSON without blanks."""
    return hashlib.sha256(
        json.dumps([list(ids) for ids in answers], separators=(",", ":")).encode()
    ).hexdigest()


def _answer(encoder: Encoder, item: Vector) -> list[int]:
    """The ids `encoder` gives for a vector's text; none that could be right where its own answers disagree."""
    policy: Any = "allow" if item.special else "text"
    try:
        ids = encoder.encode(item.text, special=policy).ids
        sound = encoder.count(item.text, special=policy) == len(ids)
        sound = sound and encoder.decode_bytes(ids) == item.text.encode()
    except TokenizerError:
        sound = False
    return ids if sound else [-1]


def _vector(entry: Any) -> Vector:
    text, ids, special = entry["text"], entry["ids"], entry.get("special", False)
    if not (isinstance(text, str) and isinstance(ids, list) and all(type(id_) is int for id_ in ids)):
        raise TypeError
    text.encode()  # No lone surrogates.
    return Vector(text, tuple(ids), special is True)
