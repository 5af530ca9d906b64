"""Tables: the numbers of a report in the words and figures that the terminal and the page have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tokenwire_server.cli_render import one_line, well_formed
from tokenwire_server.tools.cli_progress import place
from tokenwire_server.tools.report.numbers import Report, TextSums, TokenizerNumbers, TokenSums, ratio

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


def summary(report: Report) -> Table:
    """The numbers of each tokenizer over all texts."""
    texts = report.texts

    def row(name: str, cell: Callable[[TokenizerNumbers], str]) -> list[str]:
        return [name, *map(cell, report.tokenizers)]

    def length(name: str) -> Callable[[TokenizerNumbers], str]:
        return lambda each: figure(each.percentiles()[name])

    rows = [
        row("tokens", lambda each: figure(each.total.n_tokens)),
        row("bytes per token", lambda each: figure(ratio(texts.n_bytes, each.total.n_tokens))),
        row("tokens per character", lambda each: figure(ratio(each.total.n_tokens, texts.n_characters))),
        row("unknown tokens", lambda each: percent(each.total.n_unknown, each.total.n_tokens)),
        row("byte-fallback tokens", lambda each: percent(each.total.n_byte_fallback, each.total.n_tokens)),
        row("tokens of a text, P50", length("p50")),
        row("tokens of a text, P95", length("p95")),
        row("tokens of a text, P99", length("p99")),
        row("tokens of a text, most", length("max")),
        row("context limit", lambda each: figure(each.limit_tokens)),
        row("texts over it", lambda each: percent(each.n_over_limit, texts.n_texts)),
        row("texts given back by decoding", lambda each: percent(each.n_same, texts.n_texts)),
    ]
    return Table("All texts", ["measure", *names(report)], rows)


def by_language(report: Report) -> list[Table]:
    """Tokens, tokens per character, and what the vocabularies lack, if anything; most characters first."""

    def table(title: str, cell: Callable[[TextSums, TokenSums], str]) -> Table:
        rows = []
        for label in report.languages():
            texts = report.by_language[label]
            cells = (cell(texts, each.by_language[label]) for each in report.tokenizers)
            rows.append([label, f"{texts.n_texts:,}", f"{texts.n_characters:,}", *cells])
        return Table(title, ["language", "texts", "characters", *names(report)], rows)

    found = [
        table("Tokens by language", lambda _, tokens: figure(tokens.n_tokens)),
        table(
            "Tokens per character by language",
            lambda texts, tokens: figure(ratio(tokens.n_tokens, texts.n_characters)),
        ),
    ]
    if any(each.total.n_unknown for each in report.tokenizers):
        found.append(
            table("Unknown tokens by language", lambda _, tokens: percent(tokens.n_unknown, tokens.n_tokens))
        )
    if any(each.total.n_byte_fallback for each in report.tokenizers):
        found.append(
            table(
                "Byte-fallback tokens by language",
                lambda _, tokens: percent(tokens.n_byte_fallback, tokens.n_tokens),
            )
        )
    return found


def by_script(report: Report) -> Table:
    """Numbers of tokens and their shares, most tokens first."""
    rows = []
    for script in report.scripts():
        counts = ((each.by_script[script], each.total.n_tokens) for each in report.tokenizers)
        rows.append([script, *(f"{n:,}  {percent(n, n_all):>7}" for n, n_all in counts)])
    return Table("Tokens by script", ["script", *names(report)], rows)


def left_out(report: Report) -> Table:
    """What is not part of the report, by file and reason, in the order it was found."""
    rows = [
        [place(gap), gap.reason, one_line(well_formed(gap.message)), f"{gap.n_texts:,}"]
        for gap in report.gaps.values()
    ]
    return Table("By file and reason", ["first place", "reason", "message", "texts"], rows, n_words=3)


def notes(report: Report) -> list[str]:
    """What a reader has to know of these very numbers."""
    found = []
    if any(each.total.n_unknown for each in report.tokenizers):
        found.append(
            "An unknown token stands for text that the model cannot see, a whole word often: where there are many, "
            "few tokens are no saving."
        )
    if any(each.n_same < report.texts.n_texts for each in report.tokenizers):
        found.append(
            "A tokenizer that normalizes (lower case, NFKC, single blanks) or has an unknown token does not give back "
            "every text: that is its design, not a fault."
        )
    if "und" in report.by_language:
        found.append(
            "und: nothing decides the language of these texts; languages that share a script are told by the "
            f"detector: {report.language_detector}."
        )
    if report.add_special:
        found.append("The tokens of each template are counted too, once for each text.")
    return found


def names(report: Report) -> list[str]:
    """The tokenizers' names, in their order."""
    return [each.name for each in report.tokenizers]


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
