"""Writes the Grafana dashboard beside it: `python -m deploy.grafana.build`.

A test compares the committed file with a fresh build. What each panel answers stands in docs/operating.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

from deploy.grafana.panels import DATASOURCE, Panel, bars, lines, number, rows
from deploy.grafana.queries import (
    ANSWERED_AT_ONCE,
    BY_LANGUAGE,
    BYTES,
    CAME,
    CHARACTERS,
    DIGESTS,
    DURATION,
    MADE_FROM_TEXT,
    NOT_READY,
    PER_BYTE,
    PER_CHARACTER,
    REFUSED,
    TARGETS,
    TEXTS,
    TO_ENGLISH,
    TOKENIZERS,
    TOKENS,
    grown,
    quantile,
    rate,
    ratio,
)

FILE = Path(__file__).with_name("tokenwire.json")

DASHBOARD: Sequence[tuple[str, Sequence[Panel]]] = (
    (
        "At a glance",
        (
            number("Tokens per second", "Tokens computed in a second.", rate(TOKENS, TEXTS), "short"),
            number("Requests per second", "Requests in a second, those turned away included.", CAME, "reqps"),
            number(
                "Refused",
                "Errors per request that came. An error may be that of one input among many of a request.",
                ratio(REFUSED, CAME),
                "percentunit",
                (0.01, 0.05),
            ),
            number(
                "P99 of duration",
                "Of 100 requests 99 took no longer, artifacts aside.",
                quantile(0.99, DURATION, ANSWERED_AT_ONCE),
                "s",
                (0.3, 1),
            ),
            number(
                "Tokenizers not ready",
                "Configured on an instance, and not proven there yet or any more. /readyz names the reason.",
                f"count({NOT_READY}) or vector(0)",
                "short",
                (1,),
            ),
            number(
                "Digests of one tokenizer",
                "The most that any tokenizer of a job has. With 2, replicas give different ids under one name.",
                f"max(count by (job, tokenizer) ({DIGESTS}))",
                "short",
                (2,),
            ),
        ),
    ),
    (
        "Tokens",
        (
            lines(
                "Tokens by language",
                "Tokens computed in a second. The language is a label for reports: never bill or limit by it.",
                [(rate(TOKENS, TEXTS, "language") + " > 0", "{{language}}")],
                "short",
                stacked=True,
            ),
            lines(
                "Tokens by script",
                "Tokens of encoded and counted text in a second, by the script of each token's first character: exact.",
                [(rate("tokenwire_script_tokens_total", TOKENIZERS, "script") + " > 0", "{{script}}")],
                "short",
                stacked=True,
            ),
            lines(
                "Tokens by tokenizer and operation",
                "Tokens computed in a second.",
                [(rate(TOKENS, TEXTS, "tokenizer, operation") + " > 0", "{{tokenizer}} {{operation}}")],
                "short",
                stacked=True,
                width=8,
            ),
            lines(
                "Tokens by tenant",
                "Tokens computed in a second, by who asked: tenants of the configuration, `other`, or `none`.",
                [(rate("tokenwire_tenant_tokens_total", TOKENIZERS, "tenant") + " > 0", "{{tenant}}")],
                "short",
                stacked=True,
                width=8,
            ),
            lines(
                "What decided the language",
                "Texts in a second. `declared`: the caller's tag; `none`: nothing could, and the label is `und`.",
                [(rate("tokenwire_language_decisions_total", TARGETS, "source"), "{{source}}")],
                "short",
                stacked=True,
                width=8,
            ),
        ),
    ),
    (
        "What a language costs",
        (
            bars(
                "Tokens per character, relative to English",
                "Over the range shown: 1 is what a character of English text takes with the same tokenizer. Characters "
                "are code points; those of Chinese or Japanese say more than a letter does, so this is no price of the "
                "same message. Languages with more than 1,000 characters, and nothing where English has fewer.",
                (TO_ENGLISH, "{{language}}, {{tokenizer}}"),
                "short",
            ),
            rows(
                "Cost by language",
                "Over the range shown. Tokens per word are not measured: many languages put no blanks between words.",
                [
                    (grown(TOKENS, TEXTS, BY_LANGUAGE) + " > 0", "tokens"),
                    (grown(CHARACTERS, TEXTS, BY_LANGUAGE) + " > 0", "characters"),
                    (PER_CHARACTER, "tokens per character"),
                    (PER_BYTE, "tokens per byte"),
                    (TO_ENGLISH, "relative to English"),
                ],
            ),
            lines(
                "Tokens per character",
                "Tokens over code points of the same texts. A step is a change of the texts or of the tokenizer.",
                [
                    (
                        ratio(rate(TOKENS, TEXTS, BY_LANGUAGE), rate(CHARACTERS, TEXTS, BY_LANGUAGE)),
                        "{{language}}, {{tokenizer}}",
                    )
                ],
                "short",
            ),
            lines(
                "Tokens per byte",
                "Tokens over bytes in UTF-8 of the same texts. 1 is a token for each byte, the worst a byte-level "
                "vocabulary does.",
                [
                    (
                        ratio(rate(TOKENS, TEXTS, BY_LANGUAGE), rate(BYTES, TEXTS, BY_LANGUAGE)),
                        "{{language}}, {{tokenizer}}",
                    )
                ],
                "short",
            ),
        ),
    ),
    (
        "Text that a vocabulary lacks",
        (
            lines(
                "Unknown tokens",
                "Share of the tokens made from text that are the unknown token: what stood there is lost to the model.",
                [
                    (
                        ratio(
                            rate("tokenwire_unknown_tokens_total", TEXTS, BY_LANGUAGE),
                            rate(TOKENS, MADE_FROM_TEXT, BY_LANGUAGE),
                        ),
                        "{{language}}, {{tokenizer}}",
                    )
                ],
                "percentunit",
            ),
            lines(
                "Byte-fallback tokens",
                "Share of the tokens made from text that are one byte of a character the vocabulary lacks: nothing "
                "is lost, at up to four tokens a character.",
                [
                    (
                        ratio(
                            rate("tokenwire_byte_fallback_tokens_total", TEXTS, BY_LANGUAGE),
                            rate(TOKENS, MADE_FROM_TEXT, BY_LANGUAGE),
                        ),
                        "{{language}}, {{tokenizer}}",
                    )
                ],
                "percentunit",
            ),
        ),
    ),
    (
        "Requests",
        (
            lines(
                "Requests by operation",
                "In a second, once their work has ended.",
                [(rate(DURATION + "_count", TARGETS, "operation") + " > 0", "{{operation}}")],
                "reqps",
                width=8,
            ),
            lines(
                "Duration",
                "From the arrival of a whole request to its answer, artifacts aside. Estimated within buckets.",
                [
                    (quantile(share, DURATION, ANSWERED_AT_ONCE), f"P{share * 100:.0f}")
                    for share in (0.5, 0.95, 0.99)
                ],
                "s",
                width=8,
            ),
            lines(
                "P95 of duration by operation",
                "The same by operation, artifacts too: those last as long as their reader takes.",
                [(quantile(0.95, DURATION, TARGETS, "operation"), "{{operation}}")],
                "s",
                width=8,
            ),
            lines(
                "Tokens in one request",
                "Half of the requests have fewer, and 95 in 100. Estimated within buckets that grow by four.",
                [
                    (quantile(share, "tokenwire_request_tokens", TARGETS), f"P{share * 100:.0f}")
                    for share in (0.5, 0.95)
                ],
                "short",
            ),
            lines(
                "Errors per request, by reason",
                "Errors over requests that came. What each reason means stands in docs/errors.md.",
                [
                    (
                        f"{rate('tokenwire_errors_total', TARGETS, 'reason')} / on () group_left () ({CAME} > 0) > 0",
                        "{{reason}}",
                    )
                ],
                "percentunit",
            ),
        ),
    ),
    (
        "Saturation",
        (
            lines(
                "Requests in flight",
                "Being worked on, by instance.",
                [(f"tokenwire_requests_in_flight{{{TARGETS}}}", "{{instance}}")],
                "short",
                width=8,
            ),
            lines(
                "Queue",
                "Bytes of the larger requests that wait or run, and of artifacts being sent, by instance. Bounded by "
                "the limit `queue_bytes`, 256 MiB by default.",
                [(f"tokenwire_queue_bytes{{{TARGETS}}}", "{{instance}}")],
                "bytes",
                width=8,
            ),
            lines(
                "Requests shed",
                "In a second: turned away because an instance had no room, by the limit they met.",
                [(rate("tokenwire_shed_total", TARGETS, "instance, cause"), "{{cause}}, {{instance}}")],
                "reqps",
                width=8,
            ),
        ),
    ),
    (
        "Artifacts",
        (
            rows(
                "Tokenizers served",
                "With the digest that decides their ids, and by how many instances.",
                [
                    (
                        f"count by (job, tokenizer, digest, format) (tokenwire_artifact_info{{{TOKENIZERS}}})",
                        "instances",
                    )
                ],
                width=16,
            ),
            rows(
                "Versions of the server",
                "And how many instances run them.",
                [(f"count by (job, version) (tokenwire_build_info{{{TARGETS}}})", "instances")],
                width=8,
            ),
        ),
    ),
)


def choice(name: str, label: str, query: str, regex: str = "") -> dashboard.QueryVariable:
    """A variable whose values Prometheus knows; any number of them can be chosen, at first all."""
    variable = (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query(query)
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(models.VariableOption(selected=True, text=["All"], value=["$__all"]))
    )
    return variable.regex(regex) if regex else variable


VARIABLES = (
    dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"),
    choice("job", "Job", "label_values(tokenwire_build_info, job)"),
    choice("instance", "Instance", 'label_values(tokenwire_build_info{job=~"$job"}, instance)'),
    choice("tokenizer", "Tokenizer", f"label_values({TOKENS}{{{TARGETS}}}, tokenizer)"),
    # Every language has its series from the start, so only those with tokens are offered.
    choice(
        "language",
        "Language",
        f"query_result({grown(TOKENS, TOKENIZERS, 'language')} > 0)",
        '/language="([^"]+)"/',
    ),
)


def build() -> str:
    """The dashboard as the text of its file."""
    board = (
        dashboard.Dashboard("Tokenwire")
        .uid("tokenwire")
        .description("What Tokenwire computes, what each language costs in tokens, and how the service does.")
        .tags(["tokenwire"])
        .timezone("browser")
        .time("now-6h", "now")
        .refresh("1m")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .readonly()
    )
    for variable in VARIABLES:
        board.with_variable(variable)
    numbers = iter(range(1, 100))
    for title, panels in DASHBOARD:
        board.with_row(dashboard.Row(title).id(next(numbers)))
        for panel in panels:
            board.with_panel(panel.id(next(numbers)))
    return json.dumps(board.build(), cls=JSONEncoder, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(build())
