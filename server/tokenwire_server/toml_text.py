"""TOML out: values as text, for the two files the artifacts commands write. The standard library only reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_NOT_LITERAL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

Value = str | int | datetime | Sequence[str] | Mapping[str, int]


def assignment(key: str, value: Value) -> str:
    """One line `key = value`; tables are written inline."""
    return f"{_key(key)} = {_value(value)}\n"


def _value(value: Value) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {number}" for name, number in value.items()) + " }"
    return "[" + ", ".join(map(_string, value)) + "]"


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _basic(key)


def _string(text: str) -> str:
    """A literal string where that spares escapes, as in a pattern; else a basic one."""
    if "\\" in text and not _NOT_LITERAL.search(text):
        if "'" not in text:
            return f"'{text}'"
        if "'''" not in text and not text.endswith("'"):
            return f"'''{text}'''"
    return _basic(text)


def _basic(text: str) -> str:
    """A JSON string is a basic string of TOML, but for the one control character that JSON lets pass."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
