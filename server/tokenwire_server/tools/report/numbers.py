"""The numbers of a report: plain sums, and what follows from them. Every ratio and percentile is exact."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from tokenwire_server.tools.report.texts import LeftOut, Text, Unit

PERCENTS = (50, 95, 99)


@dataclass(slots=True)
class TextSums:
    """Sizes of texts; a character is a code point."""

    n_texts: int = 0
    n_bytes: int = 0
    n_characters: int = 0

    def add(self, text: Text) -> None:
        """Take in a text."""
        self.n_texts += 1
        self.n_bytes += text.n_bytes
        self.n_characters += len(text.text)


@dataclass(slots=True)
class TokenSums:
    """Tokens of texts: all, those that are the unknown token, those that are bytes of a character."""

    n_tokens: int = 0
    n_unknown: int = 0
    n_byte_fallback: int = 0

    def add(self, n_tokens: int, n_unknown: int, n_byte_fallback: int) -> None:
        """Take in a text."""
        self.n_tokens += n_tokens
        self.n_unknown += n_unknown
        self.n_byte_fallback += n_byte_fallback


@dataclass(slots=True)
class Gap:
    """What is left out of a file for one reason: how many texts, the first one's line (0: the file) and message."""

    file: str
    reason: str
    message: str
    line: int
    n_texts: int = 0


@dataclass(slots=True)
class TokenizerNumbers:
    """What one tokenizer makes of the texts.

    `lengths` says how many texts have a length in tokens, which takes memory for each length, not for each text.
    `n_same` are texts that decoding gives back. `limit_tokens` is None where there is no limit.
    """

    name: str
    digest: str
    limit_tokens: int | None
    limit_from: Literal["option", "tokenizer_config"] | None
    total: TokenSums = field(default_factory=TokenSums)
    by_language: dict[str, TokenSums] = field(default_factory=dict)
    by_script: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    n_same: int = 0

    @property
    def n_over_limit(self) -> int | None:
        """How many texts have more tokens than the limit; None without one."""
        limit = self.limit_tokens
        return None if limit is None else sum(n for length, n in self.lengths.items() if length > limit)

    def percentiles(self) -> dict[str, int]:
        """The lengths `p50`, `p95`, `p99` and `max`, in tokens; without texts all are 0.

        Of all texts at least so many percent are no longer (nearest rank): each is the length of a text.
        """
        n_texts = self.lengths.total()
        ranks = {f"p{percent}": -(-percent * n_texts // 100) for percent in PERCENTS}
        found: dict[str, int] = {}
        n_before = 0
        for length, n in sorted(self.lengths.items()):
            n_before += n
            for name, rank in ranks.items():
                if name not in found and n_before >= rank:
                    found[name] = length
        return {name: found.get(name, 0) for name in ranks} | {"max": max(self.lengths, default=0)}


@dataclass(slots=True)
class Report:
    """All there is to show. Languages are labels as the service reports them, scripts ISO 15924 codes.

    `inputs` are what was asked for, `language_detector` the libraries that told languages, or why none did. A text that
    one tokenizer refuses is left out for all, so that they compare.
    """

    inputs: tuple[str, ...]
    unit: Unit
    add_special: bool
    language_detector: str
    tokenizers: list[TokenizerNumbers]
    texts: TextSums = field(default_factory=TextSums)
    n_files: int = 0
    n_not_nfc: int = 0
    by_language: dict[str, TextSums] = field(default_factory=dict)
    gaps: dict[tuple[str, str], Gap] = field(default_factory=dict)

    def leave_out(self, item: LeftOut) -> None:
        """Count what is not part of the report, and keep its name."""
        gap = Gap(item.file, item.reason, item.message, item.line)
        self.gaps.setdefault((item.file, item.reason), gap).n_texts += 1

    @property
    def n_left_out(self) -> int:
        """Texts, files and folders that are not part of the report."""
        return sum(gap.n_texts for gap in self.gaps.values())

    def languages(self) -> list[str]:
        """Those found, most characters first."""
        return sorted(self.by_language, key=lambda label: (-self.by_language[label].n_characters, label))

    def scripts(self) -> list[str]:
        """Those found by any tokenizer, most tokens first."""
        total: Counter[str] = Counter()
        for tokenizer in self.tokenizers:
            total.update(tokenizer.by_script)
        return sorted(total, key=lambda script: (-total[script], script))


def ratio(part: int, whole: int) -> float | None:
    """None where there is nothing to divide by."""
    return part / whole if whole else None
