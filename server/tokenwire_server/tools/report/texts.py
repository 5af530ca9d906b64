"""Texts: what a report is made of, one after the other, in bounded memory. Nothing is left out without its name.

A text is a file, a line, or a string in a field of JSON lines. Files named `*.xz` and `*.gz` are decompressed. In a
folder all files are taken but hidden ones, in the order of their names; links to folders are not followed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from tokenwire_server.tools import corpus
from tokenwire_server.tools.corpus import STDIN, CorpusError
from tokenwire_server.tools.walking import files_below

Unit = Literal["file", "line", "field"]

REASONS = MappingProxyType(
    {
        "UNREADABLE": "the file or folder cannot be read, is no regular file, or its compression is broken",
        "INVALID_UTF8": "the text is not well-formed UTF-8; --replace-invalid takes U+FFFD for what is not",
        "TEXT_TOO_LONG": "the text, or its line of JSON, is over the limit text_bytes, or over what a tokenizer takes",
        "NOT_JSON": "the line is no JSON value",
        "NO_FIELD": "the JSON value has no string in the field",
    }
)
"""Why a text is left out; a tokenizer may have reasons of its own, those of the error table."""


@dataclass(frozen=True, slots=True)
class Text:
    """One text. `line` counts from 1 and is 0 for a whole file; `n_bytes` is its size as it was found."""

    file: str
    line: int
    text: str
    n_bytes: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A text, file or folder that is not part of the report, and why."""

    file: str
    line: int
    reason: str
    message: str


def read(
    paths: Iterable[str], unit: Unit, field: str, *, max_bytes: int, replace_invalid: bool
) -> Iterator[Text | LeftOut]:
    """The texts of files, folders and `-` for stdin; at most `max_bytes` of one are held.

    `field`, for that unit, is a key, or keys joined by dots; a list on the way stands for each of its members. Lines
    end at LF or CRLF, and empty ones are no texts.
    """
    keys = tuple(field.split("."))
    for path in _files(paths):
        if isinstance(path, LeftOut):
            yield path
            continue
        try:
            for found in corpus.read([path], by_line=unit != "file", max_bytes=max_bytes):
                if found.utf8 is None:
                    message = f"over the limit text_bytes of {max_bytes}"
                    yield LeftOut(path, found.line, "TEXT_TOO_LONG", message)
                elif unit == "file":
                    yield _decoded(path, 0, found.utf8, replace_invalid)
                elif (line := found.utf8.removesuffix(b"\r")) and unit == "line":
                    yield _decoded(path, found.line, line, replace_invalid)
                elif line:
                    yield from _of_record(path, found.line, line, keys, replace_invalid)
        except CorpusError as error:
            yield LeftOut(error.file, 0, "UNREADABLE", error.what)


def _files(paths: Iterable[str]) -> Iterator[str | LeftOut]:
    for path in paths:
        if path == STDIN or not os.path.isdir(path):
            yield path
        else:
            yield from _walk(path)


def _walk(folder: str) -> Iterator[str | LeftOut]:
    faults: list[OSError] = []
    for path in files_below(folder, faults.append, with_hidden=False):
        # A pipe in a folder would be waited for without end.
        yield path if os.path.isfile(path) else LeftOut(path, 0, "UNREADABLE", "is no regular file")
    for fault in faults:
        yield LeftOut(fault.filename, 0, "UNREADABLE", f"cannot be read: {fault.strerror}")


def _decoded(path: str, line: int, utf8: bytes, replace_invalid: bool) -> Text | LeftOut:
    try:
        return Text(path, line, utf8.decode("utf-8", "replace" if replace_invalid else "strict"), len(utf8))
    except UnicodeDecodeError as error:
        return LeftOut(path, line, "INVALID_UTF8", f"not well-formed UTF-8 at byte {error.start}")


def _of_record(
    path: str, line: int, utf8: bytes, keys: tuple[str, ...], replace_invalid: bool
) -> Iterator[Text | LeftOut]:
    record = _decoded(path, line, utf8, replace_invalid)
    if isinstance(record, LeftOut):
        yield record
        return
    try:
        # Numbers are not asked for, and Python would not read one of thousands of digits.
        value = json.loads(record.text.removeprefix("\ufeff"), parse_int=float)
        strings = _strings(value, keys)
    except (ValueError, RecursionError):
        yield LeftOut(path, line, "NOT_JSON", "no JSON value")
        return
    for text in strings or [None]:
        if text is None:
            yield LeftOut(path, line, "NO_FIELD", f"no string in the field {'.'.join(keys)}")
        else:
            # JSON can escape half a surrogate pair, which no UTF-8 has.
            yield _decoded(path, line, text.encode("utf-8", "surrogatepass"), replace_invalid)


def _strings(value: Any, keys: tuple[str, ...]) -> list[str | None]:
    """The strings at `keys`, those of a list one after the other; None for what is there and is no text.

    A part of a chat's content has its text in the member `text`, if it has any.
    """
    if isinstance(value, list):
        return [text for member in value for text in _strings(member, keys)]
    if keys:
        return _strings(value[keys[0]], keys[1:]) if isinstance(value, dict) and keys[0] in value else []
    if isinstance(value, dict) and "type" in value:
        value = value.get("text", value)
    return [] if value is None else [value if isinstance(value, str) else None]
