"""How often each detector, and the label that the service gives, is right or wrong: tables by language and length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import eldc
import pycld2
from tokenwire_core.appearance import look
from tokenwire_server import detector, language

from tests.languages.catalogues import names
from tests.languages.samples import LENGTHS, corpora, locale_language, messages, windows, without_language

Label = Callable[[str], str | None]
"""A text to its language, or None where that is not told."""

_SAME = {"no": "nb", "nn": "nb", "tl": "fil", "iw": "he", "zh-Hant": "zh"}
_LEAST_WINDOWS = 20


class Cell(NamedTuple):
    """Shares of texts in percent. `none` are labelled `zxx` or `mul`; what is missing at 100 got no label."""

    right: float
    wrong: float
    none: float


def labels() -> dict[str, Label]:
    """What is compared: each library by itself, at its own word for certain, and the service."""
    eldc.init()
    instance = eldc.instance()
    both = detector.EldcAndPycld2()

    def by_eldc(text: str) -> str | None:
        result = instance.detect_details(detector.without_controls(text))
        return _SAME.get(result.language, result.language) if result.reliable else None

    def by_pycld2(text: str) -> str | None:
        is_reliable, _, ((_, code, percent, _), *_) = pycld2.detect(
            detector.without_controls(text), isPlainText=True
        )
        return _SAME.get(code, code) if is_reliable and percent >= 80 else None

    def by_service(text: str) -> str | None:
        found = language.label("", text.encode(), both)[0]
        return None if found == "und" else found

    return {"eldc": by_eldc, "pycld2": by_pycld2, "label": by_service}


def script_of(texts: Iterable[str]) -> str:
    """The script of at least 70% of the letters."""
    return look("".join(texts).encode(), 1 << 30).script


def language_tables() -> str:
    """Right and wrong for every language in a shared script, on messages and on corpora."""
    compared = labels()
    parts = []
    for title, sources in (("Django's messages", messages()), ("Corpora", corpora())):
        if sources:
            parts += [f"**{title}**", "", *_table(sources, compared), ""]
    return "\n".join(parts)


def _table(sources: Mapping[str, Sequence[str]], compared: Mapping[str, Label]) -> list[str]:
    rows: list[tuple[bool, str, list[Cell]]] = []
    for name, lines in sources.items():
        texts = {n: windows(lines, n) for n in LENGTHS}
        if script_of(lines) in detector.SCRIPTS and len(texts[LENGTHS[-1]]) >= _LEAST_WINDOWS:
            expected = locale_language(name)
            cells = [_cell(texts[n], label, expected) for n in LENGTHS for label in compared.values()]
            title = f"{names().get(name, name)} (`{name}`)"
            rows.append((expected in detector.LANGUAGES, title, cells))
    lines = _head("language", compared, "`zxx` or `mul`, 200")
    for is_known, kind in ((True, "languages that the service tells"), (False, "others")):
        group = sorted((title, cells) for known, title, cells in rows if known is is_known)
        if group:
            columns = zip(*(cells for _, cells in group), strict=True)
            lines.append(_row(f"**{len(group)} {kind}, mean**", [_mean(column) for column in columns]))
            lines += [_row(*row) for row in group]
    return lines


def _head(first: str, compared: Mapping[str, Label], *more: str) -> list[str]:
    cells = [first, *(f"{name}, {n}" for n in LENGTHS for name in compared), *more]
    return ["| " + " | ".join(cells) + " |", "|---" * len(cells) + "|"]


def _cell(texts: Sequence[str], label: Label, expected: str) -> Cell:
    found = Counter(map(label, texts))
    n_none = found["zxx"] + found["mul"]
    n_wrong = found.total() - found[expected] - found[None] - n_none
    return Cell(*(100 * n / found.total() for n in (found[expected], n_wrong, n_none)))


def _mean(cells: Sequence[Cell]) -> Cell:
    return Cell(*(sum(shares) / len(cells) for shares in zip(*cells, strict=True)))


def _row(title: str, cells: Sequence[Cell]) -> str:
    shown = [f"{cell.right:.0f} / {percent(cell.wrong)}" for cell in cells]
    return "| " + " | ".join([title, *shown, percent(cells[-1].none)]) + " |"


def percent(share: float) -> str:
    """A share as the tables show it."""
    return "0" if share == 0 else "<0.1" if share < 0.05 else f"{share:.1f}" if share < 10 else f"{share:.0f}"


def no_language_table() -> str:
    """The share of code and data that is taken for a language, and that the service calls `zxx`."""
    compared = labels()
    lines = _head("texts", compared)
    for name, texts in sorted(without_language().items()):
        cells = []
        for n in LENGTHS:
            pieces = windows(texts, n)
            for who, label in compared.items():
                found = Counter(map(label, pieces))
                n_natural = found.total() - found[None] - found["zxx"]
                cell = percent(100 * n_natural / found.total())
                cells.append(cell if who != "label" else f"{cell} ({100 * found['zxx'] / found.total():.0f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])
