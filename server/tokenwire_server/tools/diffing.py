"""Diffing: which texts two tokenizers encode differently, by how much, and in which languages.

Texts go through both sides in batches, and what is kept is sums, so that the size of a corpus does not matter. Cost:
that of the two sides, and 6 microseconds a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tokenwire_server import language
from tokenwire_server.detector import Detector
from tokenwire_server.tools.corpus import Text

MAX_FILES = 200
"""Files that have a row of their own; a corpus may have any number."""
OTHER_FILES = "(other files)"

_BATCH_BYTES = 256 << 10
_BATCH_TEXTS = 2048


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a side does not encode a text."""

    reason: str
    message: str


class Side(Protocol):
    """One of the two tokenizers."""

    def encode(self, texts: list[str]) -> list[memoryview | Refusal]:
        """The ids of each text as 32-bit numbers (format `I`), or why there are none."""

    def byte_start(self, text: str, index: int) -> int:
        """Where the token at `index` begins in the text's UTF-8; one past the last token, the text's end."""


@dataclass(slots=True)
class Sums:
    """What was counted over some texts. Texts that were not compared are in no number but `n_not_compared`."""

    n_texts: int = 0
    n_different: int = 0
    n_other_count: int = 0
    n_tokens_a: int = 0
    n_tokens_b: int = 0
    n_bytes: int = 0
    n_not_compared: int = 0

    @property
    def ratio(self) -> float:
        """Tokens of B for each of A; 1 where there are none."""
        return self.n_tokens_b / self.n_tokens_a if self.n_tokens_a else 1.0

    def add(self, other: Sums) -> None:
        """Take in other texts."""
        for name in Sums.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class Different:
    """A text whose ids differ. From `byte_start` on, where the first differing token of A begins, they part."""

    file: str
    line: int
    language: str
    n_tokens_a: int
    n_tokens_b: int
    byte_start: int
    text: str


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A text that could not be compared: it is not UTF-8, too long, or a side refused it."""

    file: str
    line: int
    reason: str
    message: str


@dataclass(slots=True)
class Report:
    """The sums of all texts, by language as the service would label them, and by file."""

    total: Sums = field(default_factory=Sums)
    by_language: dict[str, Sums] = field(default_factory=dict)
    by_file: dict[str, Sums] = field(default_factory=dict)

    def add(self, compared: _Compared) -> None:
        """Take in a batch."""
        for (file, label), sums in compared.sums.items():
            self.total.add(sums)
            is_listed = file in self.by_file or len(self.by_file) < MAX_FILES
            self.by_file.setdefault(file if is_listed else OTHER_FILES, Sums()).add(sums)
            if sums.n_texts:
                self.by_language.setdefault(label, Sums()).add(sums)


@dataclass(slots=True)
class _Compared:
    """What came of one batch; the sums are by file and language."""

    found: list[Different | NotCompared] = field(default_factory=list)
    sums: dict[tuple[str, str], Sums] = field(default_factory=dict)


def compare(
    a: Side, b: Side, texts: Iterable[Text], report: Report, detector: Detector | None = None
) -> Iterator[Different | NotCompared]:
    """Each text that differs or cannot be compared, in the order of the corpus; the sums grow in `report`.

    Batches of some 256 KiB, or of one longer text, are held one at a time. `detector` tells languages of one script
    apart.
    """
    for batch in _batches(texts):
        compared = _compare(a, b, batch, detector)
        report.add(compared)
        yield from compared.found


def _batches(texts: Iterable[Text]) -> Iterator[list[Text]]:
    batch: list[Text] = []
    n_bytes = 0
    for text in texts:
        batch.append(text)
        n_bytes += len(text.utf8 or b"")
        if n_bytes >= _BATCH_BYTES or len(batch) >= _BATCH_TEXTS:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch


def _compare(a: Side, b: Side, batch: list[Text], detector: Detector | None) -> _Compared:
    compared = _Compared()
    strings = [_decoded(text) for text in batch]
    fit = [string for string in strings if isinstance(string, str)]
    both = zip(a.encode(fit), b.encode(fit), strict=True)
    for text, string in zip(batch, strings, strict=True):
        ids_a, ids_b = (string, string) if isinstance(string, Refusal) else next(both)
        if isinstance(string, Refusal) or isinstance(ids_a, Refusal) or isinstance(ids_b, Refusal):
            refusal = next(each for each in (string, ids_a, ids_b) if isinstance(each, Refusal))
            compared.sums.setdefault((text.file, ""), Sums()).n_not_compared += 1
            compared.found.append(NotCompared(text.file, text.line, refusal.reason, refusal.message))
            continue
        utf8 = text.utf8 or b""
        label = language.label("", utf8, detector)[0]
        n_tokens_a, n_tokens_b = len(ids_a), len(ids_b)
        sums = compared.sums.get((text.file, label))
        if sums is None:
            sums = compared.sums[text.file, label] = Sums()
        sums.n_texts += 1
        sums.n_bytes += len(utf8)
        sums.n_tokens_a += n_tokens_a
        sums.n_tokens_b += n_tokens_b
        if ids_a != ids_b:
            sums.n_different += 1
            sums.n_other_count += n_tokens_a != n_tokens_b
            start = a.byte_start(string, _n_equal(ids_a, ids_b))
            compared.found.append(
                Different(text.file, text.line, label, n_tokens_a, n_tokens_b, start, string)
            )
    return compared


def _decoded(text: Text) -> str | Refusal:
    if text.utf8 is None:
        return Refusal("TEXT_TOO_LONG", "more bytes than are taken as one text")
    try:
        return text.utf8.decode()
    except UnicodeDecodeError as error:
        return Refusal("INVALID_UTF8", f"not well-formed UTF-8 at byte {error.start}")


def _n_equal(left: memoryview, right: memoryview) -> int:
    """How many ids at the start are equal, by halving: comparing memory is much faster than going through it."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
