"""The benchmark's texts by kind: from the reference corpora where they are, else from what every Python carries."""

from __future__ import annotations

import inspect
import lzma
import os
import pydoc_data.topics
from collections.abc import Iterator
from pathlib import Path

DOCUMENT_CHARACTERS = 4096
SHORT_BYTES = 40
MIXED_CHARACTERS = 2000
NO_LANGUAGE = {"code-c", "code-python", "json", "logs"}


def texts_by_kind() -> dict[str, str]:
    """One long text per kind: English and code always, mixed languages with the corpora."""
    folder = os.environ.get("TOKENWIRE_TEST_DATA")
    if folder:
        return _from_corpora(Path(folder) / "corpora")
    return {"English": _language_reference(), "code": _standard_library()}


def documents(text: str, first: int, n_documents: int) -> list[str]:
    """`n_documents` documents of 4 KB, from the document numbered `first` on, around the end of the text."""
    n_all = len(text) // DOCUMENT_CHARACTERS
    numbers = ((first + i) % n_all for i in range(n_documents))
    return [text[n * DOCUMENT_CHARACTERS : (n + 1) * DOCUMENT_CHARACTERS] for n in numbers]


def short_strings(texts: list[str]) -> list[str]:
    """The texts in strings of at most 40 bytes, cut between characters."""
    return [piece for text in texts for piece in _cut(text)]


def _cut(text: str) -> Iterator[str]:
    data, start = text.encode(), 0
    while start < len(data):
        end = min(start + SHORT_BYTES, len(data))
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
    return {"English": corpora["en"], "code": corpora["code-python"], "mixed": mixed}


def _language_reference() -> str:
    """Python's language reference, which comes with every interpreter: about 700 KB of English."""
    return "\n".join(pydoc_data.topics.topics.values())


def _standard_library() -> str:
    """Sources of the standard library, about 1 MB."""
    root = Path(inspect.getfile(inspect)).parent
    return "\n".join(path.read_text(errors="replace") for path in sorted(root.glob("[a-f]*.py")))
