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
    """A text with what was asked of it, and the ids it has.

    Attributes:
        text, ids: the text, and the second one of a pair in `pair`.
        special: control tokens spelled in it are allowed, else they are text.
        add_special: with the tokens of the template.
        decoded: the text of the ids; None: `text` itself.
        is_own: the reference library makes control tokens of a text that should be text, or none where they are
            allowed. The ids are this project's own, which its tests and not the library vouch for.
    """

    text: str
    ids: tuple[int, ...]
    special: bool = False
    add_special: bool = False
    pair: str | None = None
    decoded: str | None = None
    is_own: bool = False


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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadGoldenError(f"the golden vectors cannot be read: {type(error).__name__}") from None
    if not isinstance(made_by, str) or not vectors:
        raise BadGoldenError("the golden vectors lack `made_by`, or there are none")
    return Golden(made_by, vectors)


def to_json(golden: Golden) -> bytes:
    """The file: one vector a line, so that a changed one shows as one line of a diff."""
    lines = [json.dumps(_entry(item)) for item in golden.vectors]
    head = f'{{"golden_version": {GOLDEN_VERSION}, "made_by": {json.dumps(golden.made_by)}, "vectors": [\n'
    return (head + ",\n".join(lines) + "\n]}\n").encode()


def changed(golden: Golden, encoder: Encoder) -> tuple[list[int], str]:
    """The indices of the vectors that `encoder` answers otherwise, and the sha256 of all ids it gives.

    A vector holds if its ids are those of encode, their number is that of count, and their text is the one it says.
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


def encode(encoder: Encoder, item: Vector) -> list[int]:
    """The ids `encoder` gives for what a vector asks. Raises `TokenizerError`."""
    return encoder.encode(
        item.text, item.pair, special="allow" if item.special else "text", add_special=item.add_special
    ).ids


def _answer(encoder: Encoder, item: Vector) -> list[int]:
    """The ids `encoder` gives for a vector; none that could be right where its own answers disagree."""
    policy: Any = "allow" if item.special else "text"
    try:
        ids = encode(encoder, item)
        if item.pair is None:
            n_tokens = encoder.count(item.text, special=policy, add_special=item.add_special)
        else:
            n_tokens = len(ids)
        decoded = encoder.decode(ids, reference=True)
    except TokenizerError:
        return [-1]
    is_sound = n_tokens == len(ids) and decoded == (item.text if item.decoded is None else item.decoded)
    return ids if is_sound else [-1]


def _entry(item: Vector) -> dict[str, Any]:
    entry: dict[str, Any] = {"text": item.text, "ids": item.ids}
    for key, flag in _FLAGS.items():
        if getattr(item, flag):
            entry[key] = True
    for key in ("pair", "decoded"):
        if (text := getattr(item, key)) is not None:
            entry[key] = text
    return entry


_FLAGS = {"special": "special", "add_special": "add_special", "own": "is_own"}
"""Keys that are there where they are true, with the vector's attribute."""


def _vector(entry: Any) -> Vector:
    ids = entry["ids"]
    if not (isinstance(ids, list) and all(type(id_) is int for id_ in ids)):
        raise TypeError
    texts = {key: entry.get(key) for key in ("text", "pair", "decoded")}
    for key, text in texts.items():
        if text is not None or key == "text":
            text.encode()  # A string, and without lone surrogates.
    answered: dict[str, Any] = {flag: entry.get(key, False) is True for key, flag in _FLAGS.items()}
    return Vector(ids=tuple(ids), **texts, **answered)
