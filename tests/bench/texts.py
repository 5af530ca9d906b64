"""The benchmark's texts by kind: from the reference corpora where they are, else from what every Python carries."""

from __future__ import annotations

import functools
import inspect
import itertools
import lzma
import os
import pydoc_data.topics
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

DOCUMENT_CHARACTERS = 4096
DOCUMENT_BYTES = 4096
SHORT_BYTES = 40
MIXED_CHARACTERS = 2000
NO_LANGUAGE = {"code-c", "code-python", "json", "logs"}
KINDS = ("English", "code", "mixed", "Japanese", "Chinese", "Thai")
ALONE = {"English": "en", "code": "code-python", "Japanese": "ja", "Chinese": "zh-cn", "Thai": "th"}
"""The kinds that are one file of the corpora."""


@functools.cache
def texts_by_kind() -> dict[str, str]:
    """One long text per kind: English and code always, all of `KINDS` with the corpora."""
    folder = os.environ.get("TOKENWIRE_TEST_DATA")
    if folder:
        return _from_corpora(Path(folder) / "corpora")
    return {"English": _prose_of_python(), "code": _standard_library("[a-f]*.py")}


def documents(text: str, first: int, n_documents: int) -> list[str]:
    """At most `n_documents` documents of 4 KB of UTF-8, from the document numbered `first` on.

    They are cut between characters; a rest of the text that is shorter is none.
    """
    found = (piece for piece in _cut(text, DOCUMENT_BYTES) if len(piece.encode()) > DOCUMENT_BYTES - 4)
    return list(itertools.islice(found, first, first + n_documents))


def short_strings(texts: Iterable[str]) -> list[str]:
    """The texts in strings of at most 40 bytes, cut between characters."""
    return [piece for text in texts for piece in _cut(text, SHORT_BYTES)]


def _cut(text: str, most_bytes: int) -> Iterator[str]:
    data, start = text.encode(), 0
    while start < len(data):
        end = min(start + most_bytes, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[start:end].decode()
        start = end


def _from_corpora(folder: Path) -> dict[str, str]:
    corpora = {
        p.name.split(".")[0]: lzma.decompress(p.read_bytes()).decode() for p in sorted(folder.glob("*.xz"))
    }
    languages = [text for name, text in corpora.items() if name not in NO_LANGUAGE]
    longest = max(map(len, languages))
    mixed = "".join(
        text[start : start + MIXED_CHARACTERS]
        for start in range(0, longest, MIXED_CHARACTERS)
        for text in languages
    )
    alone = {kind: corpora[name] for kind, name in ALONE.items()}
    return {kind: mixed if kind == "mixed" else alone[kind] for kind in KINDS}


def _prose_of_python() -> str:
    """Python's language reference and the docstrings of its standard library, about 1 MB of English."""
    docstrings = re.findall(r'^ *"""(.*?)"""', _standard_library("*.py"), re.S | re.M)
    return "\n".join([*pydoc_data.topics.topics.values(), *docstrings])


def _standard_library(pattern: str) -> str:
    """Sources of the standard library; those from a to f have about 1 MB."""
    root = Path(inspect.getfile(inspect)).parent
    return "\n".join(path.read_text(errors="replace") for path in sorted(root.glob(pattern)))
