"""The report as one HTML page: no script, nothing from elsewhere, in the reader's light or dark."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

from tokenwire_server.cli_render import one_line, well_formed
from tokenwire_server.tools.report import tables
from tokenwire_server.tools.report.charts import Curve, Row, bars, curves
from tokenwire_server.tools.report.markup import Markup, element
from tokenwire_server.tools.report.numbers import Report, ratio
from tokenwire_server.tools.report.tables import Table, figure, names, percent

_TITLE = "What these texts cost in tokens"
_SHOWN_ROWS = 24
"""Of languages and scripts in a chart; the table below it has all."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(report: Report) -> str:
    """The page. Whatever others wrote, as names of files, is text in it."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("title", f"{_TITLE}: {_inputs(report)}"),
        element("style", Markup(resources.files(__package__).joinpath("page.css").read_text("utf-8"))),
    )
    sections = [
        _section("Summary", "", _table(tables.summary(report))),
        _languages(report),
        _lengths(report),
        _scripts(report),
        *([_left_out(report)] if report.gaps else []),
        _about(report),
    ]
    body = element("body", element("main", _header(report), sections))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _inputs(report: Report) -> str:
    return ", ".join(one_line(well_formed(name)) for name in report.inputs)


def _header(report: Report) -> Markup:
    texts = report.texts
    facts = {
        "texts": f"{texts.n_texts:,}",
        "characters": f"{texts.n_characters:,}",
        "bytes": f"{texts.n_bytes:,}",
        "texts not NFC": percent(report.n_not_nfc, texts.n_texts),
        "left out": f"{report.n_left_out:,}",
    }
    what = f"; a text is {tables.UNITS[report.unit]}."
    return element(
        "header",
        element("h1", _TITLE),
        element("p", "Of ", element("bdi", _inputs(report)), what, class_="soft"),
        element(
            "dl",
            (element("div", element("dt", name), element("dd", value)) for name, value in facts.items()),
            class_="facts",
        ),
    )


def _languages(report: Report) -> Markup:
    rows = []
    for label in report.languages()[:_SHOWN_ROWS]:
        n_characters = report.by_language[label].n_characters
        costs = [ratio(each.by_language[label].n_tokens, n_characters) or 0.0 for each in report.tokenizers]
        rows.append(Row(label, costs, list(map(figure, costs))))
    rows.sort(key=lambda row: -max(row.values))
    return _section(
        "Languages",
        "Tokens per character, dearest first: what equally many characters cost in each language.",
        _figure(bars("Tokens per character by language", rows, names(report))),
        map(_table, tables.by_language(report)),
    )


def _lengths(report: Report) -> Markup:
    series = []
    for each in report.tokenizers:
        marks = {name: length for name, length in each.percentiles().items() if name != "max"}
        series.append(Curve(each.name, each.lengths, marks, each.limit_tokens))
    return _section(
        "Lengths",
        "Share of texts with at most so many tokens; dots are P50, P95, P99. What is right of a limit does not fit.",
        _figure(curves("Share of texts with at most so many tokens", series)),
    )


def _scripts(report: Report) -> Markup:
    rows = []
    for script in report.scripts()[:_SHOWN_ROWS]:
        counts = [(each.by_script[script], each.total.n_tokens) for each in report.tokenizers]
        shares = [100 * (ratio(n, n_all) or 0.0) for n, n_all in counts]
        rows.append(Row(script, shares, [percent(n, n_all) for n, n_all in counts]))
    return _section(
        "Scripts",
        "Share of tokens by the script (ISO 15924) of what they stand for; Zyyy is blanks, digits and punctuation.",
        _figure(bars("Share of tokens by script", rows, names(report), "%")),
        _table(tables.by_script(report)),
    )


def _left_out(report: Report) -> Markup:
    lead = f"{report.n_left_out:,} texts, files or folders are no part of any other number here."
    return _section("Left out", lead, _table(tables.left_out(report)))


def _about(report: Report) -> Markup:
    digests = Table(
        "Tokenizers and their digests",
        ["tokenizer", "digest"],
        [[each.name, each.digest] for each in report.tokenizers],
        n_words=2,
    )
    notes = (element("p", note, class_="soft") for note in tables.notes(report))
    return _section("About these numbers", "", notes, _table(digests))


def _section(title: str, lead: str, *content: Markup | Iterable[Markup]) -> Markup:
    leads = [element("p", lead, class_="soft")] if lead else []
    return element("section", element("h2", title), leads, *content)


def _figure(chart: Markup) -> Markup:
    """It scrolls sideways, also by keyboard, where it would be too small to read."""
    return element("figure", chart, tabindex="0")


def _table(table: Table) -> Markup:
    """A region that scrolls sideways, also by keyboard, where the table is wider than the reader's window."""
    kinds = [{"class_": "word"} if column < table.n_words else {} for column in range(len(table.columns))]
    heads = (
        element("th", column, scope="col", **kind) for column, kind in zip(table.columns, kinds, strict=True)
    )
    rows = (
        element(
            "tr",
            element("th", element("bdi", row[0]), scope="row"),
            (element("td", cell, **kind) for cell, kind in zip(row[1:], kinds[1:], strict=True)),
        )
        for row in table.rows
    )
    return element(
        "div",
        element(
            "table",
            element("caption", table.title),
            element("thead", element("tr", heads)),
            element("tbody", rows),
        ),
        class_="wide",
        role="region",
        aria_label=table.title,
        tabindex="0",
    )
