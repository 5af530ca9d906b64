"""Tables: the numbers of a report in the words and figures that the terminal and the page have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tokenwire_server.cli_render import one_line, well_formed
from tokenwire_server.tools.cli_progress import place
from tokenwire_server.tools.report.numbers import Report, TokenizerNumbers, TokenSums, ratio

UNITS = {"file": "each file", "line": "each line", "field": "each string in the field"}


@dataclass(frozen=True, slots=True)
class Table:
    """`columns` are their heads; a row's first cell says what it is. The first `n_words` columns are words."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    n_words: int = 1


def headline(report: Report) -> str:
    """How much text there is."""
    texts = report.texts
    return (
        f"{texts.n_texts:,} texts ({UNITS[report.unit]}) of {report.n_files:,} files: {texts.n_bytes:,} bytes, "
        f"{texts.n_characters:,} characters; not NFC: {report.n_not_nfc:,} ({percent(report.n_not_nfc, texts.n_texts)})"
    )


def tables(report: Report) -> list[Table]:
    """All that has numbers, in the order to show it."""
    return [summary(report), tokens_by_language(report), cost_by_language(report), by_script(report)]


def left_out(report: Report) -> Table:
    """What is not part of the report, by file and reason, in the order it was found."""
    rows = [
        [place(gap), gap.reason, one_line(well_formed(gap.message)), f"{gap.n_texts:,}"]
        for gap in report.gaps.values()
    ]
    return Table(
        "What is left out, by file and reason", ["first place", "reason", "message", "texts"], rows, n_words=3
    )


def notes(report: Report) -> list[str]:
    """What a reader has to know of these very numbers."""
    found = []
    if any(each.n_same < report.texts.n_texts for each in report.tokenizers):
        found.append(
            "A tokenizer that normalizes (lower case, NFKC, single blanks) or has an unknown token does not give back "
            "every text: that is its design, not a fault."
        )
    if "und" in report.by_language:
        found.append("und: nothing decides the language of these texts.")
    if report.add_special:
        found.append("The tokens of each template are counted too, once for each text.")
    return found


def figure(value: float | None) -> str:
    """A number as a person reads it; `-` where there is none."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def percent(part: int | None, whole: int) -> str:
    """A share that is written 0% or 100% only where it is that; `-` where there is none."""
    if part is None or not whole:
        return "-"
    if part in (0, whole):
        return "100%" if part else "0%"
    if part * 10_000 < whole:
        return "<0.01%"
    return ">99.99%" if (whole - part) * 10_000 < whole else f"{part / whole:.2%}"


def summary(report: Report) -> Table:
    """The numbers of each tokenizer over all texts."""
    texts = report.texts

    def row(name: str, cell: Callable[[TokenizerNumbers], str]) -> list[str]:
        return [name, *map(cell, report.tokenizers)]

    def share(name: str) -> Callable[[TokenizerNumbers], str]:
        return lambda each: percent(getattr(each.total, name), each.total.n_tokens)

    def length(name: str) -> Callable[[TokenizerNumbers], str]:
        return lambda each: figure(each.percentiles()[name])

    rows = [
        row("tokens", lambda each: figure(each.total.n_tokens)),
        row("bytes per token", lambda each: figure(ratio(texts.n_bytes, each.total.n_tokens))),
        row("tokens per character", lambda each: figure(ratio(each.total.n_tokens, texts.n_characters))),
        row("unknown tokens", share("n_unknown")),
        row("byte-fallback tokens", share("n_byte_fallback")),
        row("tokens of a text, P50", length("p50")),
        row("tokens of a text, P95", length("p95")),
        row("tokens of a text, P99", length("p99")),
        row("tokens of a text, most", length("max")),
        row("context limit", lambda each: figure(each.limit_tokens)),
        row("texts over it", lambda each: percent(each.n_over_limit, texts.n_texts)),
        row("texts given back by decoding", lambda each: percent(each.n_same, texts.n_texts)),
    ]
    return Table("Numbers of all texts", ["number", *(each.name for each in report.tokenizers)], rows)


def tokens_by_language(report: Report) -> Table:
    """Most characters first."""
    return _by_language(report, "Tokens by language", lambda tokens, _: figure(tokens.n_tokens))


def cost_by_language(report: Report) -> Table:
    """Most characters first."""
    return _by_language(
        report,
        "Tokens per character by language",
        lambda tokens, n_characters: figure(ratio(tokens.n_tokens, n_characters)),
    )


def _by_language(report: Report, title: str, cell: Callable[[TokenSums, int], str]) -> Table:
    rows = []
    for label in report.languages():
        texts = report.by_language[label]
        cells = (cell(each.by_language[label], texts.n_characters) for each in report.tokenizers)
        rows.append([label, f"{texts.n_texts:,}", f"{texts.n_characters:,}", *cells])
    return Table(title, ["language", "texts", "characters", *(each.name for each in report.tokenizers)], rows)


def by_script(report: Report) -> Table:
    """Numbers of tokens and their shares, most tokens first."""
    rows = [
        [
            script,
            *(
                f"{each.by_script[script]:,}  {percent(each.by_script[script], each.total.n_tokens):>7}"
                for each in report.tokenizers
            ),
        ]
        for script in report.scripts()
    ]
    return Table("Tokens by script", ["script", *(each.name for each in report.tokenizers)], rows)
