"""The report as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from tokenwire_server.tools.report.numbers import Report
from tokenwire_server.tools.report.tables import (
    Table,
    by_language,
    by_script,
    headline,
    left_out,
    notes,
    summary,
)

_SHOWN_GAPS = 20


def lines(report: Report) -> Iterator[str]:
    """The report, line by line; no character of a name acts on the terminal."""
    yield headline(report)
    for table in (summary(report), *by_language(report), by_script(report)):
        yield ""
        yield from _lines(table)
    if report.gaps:
        yield ""
        yield f"{report.n_left_out:,} left out"
        shown = left_out(report)
        for where, reason, message, n_texts in shown.rows[:_SHOWN_GAPS]:
            number = f" ({n_texts} texts, the first here)" if n_texts != "1" else ""
            yield f"  {where}: {reason}: {message}{number}"
        if len(shown.rows) > _SHOWN_GAPS:
            yield f"  and {len(shown.rows) - _SHOWN_GAPS} more places; --json and --html list all"
    if found := notes(report):
        yield ""
        yield from found


def _lines(table: Table) -> Iterator[str]:
    cells = [table.columns, *table.rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.columns))]
    yield table.title
    for first, *others in cells:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield f"{first:<{widths[0]}}  {numbers}"
