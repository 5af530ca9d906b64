"""What `tokenwire decode` reads: ids between blanks or commas, a JSON array, or the JSON lines `encode` writes."""

from __future__ import annotations

import json
import re
from typing import Any

from tokenwire_server.cli_backend import RefusalError

FORMS_HELP = """an input is one of
  ids between blanks, commas or newlines, as encode prints them: 24912 2375
  a JSON array: [24912, 2375]
  JSON lines with "ids", as encode --json prints them; the texts come out one after another, and a "digest"
  must be the tokenizer's
"""
_SEPARATORS = re.compile(r"[\s,]+")
_MAX_ID_DIGITS = 20
"""Beyond any id; int() itself would take its time for millions of them."""


def parse_ids(data: bytes, digest: str) -> list[list[int]]:
    """The lists of ids of one input: one, or one for each JSON line. `digest` is the tokenizer's.

    Raises `RefusalError` with the place of what is no id; it never repeats the input.
    """
    text = data.decode("utf-8", "replace").strip()
    if text.startswith("{"):
        # By "\n" alone: JSON strings may hold the other characters that end a line to str.splitlines.
        lines = enumerate(text.split("\n"), start=1)
        return [_ids_of_object(line, number, digest) for number, line in lines if line.strip()]
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    return [_ids_of_words(text)]


def _ids_of_words(text: str) -> list[int]:
    ids: list[int] = []
    for word in _SEPARATORS.split(text) if text else ():
        if not re.fullmatch(rf"-?[0-9]{{1,{_MAX_ID_DIGITS}}}", word):
            raise RefusalError(
                "",
                f"item {len(ids) + 1} is no whole number; `tokenwire decode --help` shows what is read",
                {},
            )
        ids.append(int(word))
    return ids


def _ids_of_object(line: str, number: int, digest: str) -> list[int]:
    try:
        # A number of thousands of digits stays a string, which is no id.
        fields: Any = json.loads(
            line, parse_int=lambda word: int(word) if len(word) <= _MAX_ID_DIGITS else word
        )
    except (ValueError, RecursionError):
        raise RefusalError("", f"line {number} is no JSON object; one is read from each line", {}) from None
    if not isinstance(fields, dict) or "ids" not in fields:
        raise RefusalError("", f'line {number} has no "ids"; give what encode --json prints', {})
    if fields.get("digest", digest) != digest:
        raise RefusalError(
            "DIGEST_MISMATCH", f"line {number} has the ids of another tokenizer; give its name with -t", {}
        )
    ids = fields["ids"]
    if not isinstance(ids, list) or any(type(one) is not int for one in ids):
        raise RefusalError("", f'line {number} has "ids" that are no list of whole numbers', {})
    return ids
