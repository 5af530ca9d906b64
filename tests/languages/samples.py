"""The texts on which language labels are measured: windows of known language, and texts that are in none."""

from __future__ import annotations

import base64
import functools
import lzma
import os
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.languages.catalogues import catalogues, without_placeholders

LENGTHS = (20, 50, 200)
"""Characters of a window."""
N_WINDOWS = 400
"""At most so many of a source, evenly over it."""
_DIALECTS = {"ar_DZ", "en_AU", "en_GB", "es_AR", "es_CO", "es_MX", "es_VE"}
_NO_LANGUAGE = {"code-c", "code-python", "json", "logs"}
_WORDS = (
    "account",
    "archive",
    "blog",
    "cart",
    "download",
    "edit",
    "en",
    "help",
    "images",
    "item",
    "news",
    "search",
)
_BLANKS = re.compile(r"\s+")


def windows(lines: Iterable[str], n_characters: int) -> list[str]:
    """Texts of exactly `n_characters` that begin where a line does and go on over the next ones."""
    text = "\n".join(_BLANKS.sub(" ", line).strip() for line in lines)
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    found: list[str] = []
    end = 0
    for start in starts:
        if start >= end and start + n_characters <= len(text):
            end = start + n_characters
            found.append(text[start:end].replace("\n", " "))
    return spread(found, N_WINDOWS)


def spread(items: Sequence[str], n: int) -> list[str]:
    """`n` of the items, evenly over them, or all if there are fewer."""
    if len(items) <= n:
        return list(items)
    return [items[index * len(items) // n] for index in range(n)]


def locale_language(name: str) -> str:
    """The label of a locale of Django's or of a corpus, as `language.LANGUAGES` has it if it does."""
    primary = name.partition("_")[0].partition("-")[0]
    return {"nn": "nb"}.get(primary, primary)


@functools.cache
def messages() -> Mapping[str, Sequence[str]]:
    """The lines of each locale of Django: translations other than the English, without their placeholders."""
    return {
        locale: [
            without_placeholders(translation)
            for english, translation in found.items()
            if locale == "en" or translation != english
        ]
        for locale, found in catalogues().items()
        if locale not in _DIALECTS
    }


@functools.cache
def corpora() -> Mapping[str, Sequence[str]]:
    """The lines of each corpus in a language, by its name there. Empty without TOKENWIRE_TEST_DATA."""
    return {name: lines for name, lines in _all_corpora().items() if name not in _NO_LANGUAGE}


@functools.cache
def without_language() -> Mapping[str, Sequence[str]]:
    """Lines of code and data: those corpora that are, and URLs and base64 that are made up here."""
    made_up = {"URLs": [_url(random.Random(n)) for n in range(4000)], "base64": _base64()}
    return {name: lines for name, lines in _all_corpora().items() if name in _NO_LANGUAGE} | made_up


def _all_corpora() -> dict[str, list[str]]:
    folder = os.environ.get("TOKENWIRE_TEST_DATA")
    if not folder:
        return {}
    return {
        path.name.partition(".")[0]: lzma.decompress(path.read_bytes()).decode().splitlines()
        for path in sorted(Path(folder, "corpora").glob("*.txt.xz"))
    }


def _base64() -> list[str]:
    data = random.Random(64).randbytes(300_000)
    text = base64.b64encode(data).decode()
    return [text[start : start + 200] for start in range(0, len(text), 200)]


def _url(chance: random.Random) -> str:
    path = "/".join(chance.choices(_WORDS, k=chance.randint(1, 5)))
    host = (
        f"{chance.choice(['www', 'api', 'static', 'shop'])}.{chance.choice(_WORDS)}-{chance.choice(_WORDS)}"
    )
    query = "&".join(f"{chance.choice(_WORDS)}={chance.choice(_WORDS)}" for _ in range(chance.randint(0, 3)))
    return f"https://{host}.{chance.choice(['com', 'org', 'de', 'io'])}/{path}{'?' * bool(query)}{query}"
