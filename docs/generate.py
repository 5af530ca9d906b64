"""Writes the reference pages that have a table in the code as their source: `python docs/generate.py`.

A test compares the pages with a fresh run, so neither the code nor the page changes alone.
"""

from __future__ import annotations

import re
from pathlib import Path

from tokenwire_server import limits
from tokenwire_server.errors import CODES
from tokenwire_server.meter import Meter
from tokenwire_server.metric_table import METRICS, Label
from tokenwire_server.pull import errors as pull_errors
from tokenwire_server.tools import detect, model_config, proving, verifying

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REASONS = ROOT / "proto" / "tokenwire" / "v1" / "error_reason.proto"
REASON = re.compile(r"((?:  //[^\n]*\n)+)  ERROR_REASON_(\w+) = \d+ \[\(grpc_code\) = (\w+)\];")


def errors_page() -> str:
    """Each reason with its status, as the contract comments it."""
    rows = []
    for comment, reason, code in REASON.findall(REASONS.read_text()):
        meaning = " ".join(line.strip().removeprefix("//").strip() for line in comment.splitlines())
        rows.append(f"| `{reason}` | `{code}` | {meaning} |")
    if len(rows) != len(CODES):
        raise SystemExit(f"{REASONS.name} has {len(CODES)} reasons, of which {len(rows)} were read")
    return "\n".join(
        [
            "# Errors",
            "",
            "Every refusal is a `google.rpc.Status` with a `google.rpc.ErrorInfo` whose `domain` is `tokenwire.dev`.",
            "Match on its `reason`; messages are for people and may change. What concerns one input of a request is",
            "the `error` of its result, and the RPC's own status stays OK; what concerns the whole request (the",
            "tokenizer, the digest, the size of the message) is the RPC's status.",
            "",
            "| reason | status | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def pull_errors_page() -> str:
    """The reasons why an artifact could not be had."""
    rows = [f"| `{reason}` | {meaning} |" for reason, meaning in pull_errors.REASONS.items()]
    head = "# Errors of a pull\n\nWhy `tokenwire artifacts add` or `pull` could not have a file; see"
    return (
        f"{head} [artifacts.md](artifacts.md).\n\n| reason | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"
    )


def add_reasons_page() -> str:
    """The reasons of `artifacts add` and `prove` beside those of a pull and of a load."""
    rows = [
        f"| `{reason}` | {meaning} |" for reason, meaning in {**detect.REASONS, **proving.REASONS}.items()
    ]
    head = (
        "# Refusals of an add\n\nWhat `tokenwire artifacts add` makes of bytes that are no artifact, and why a "
        "tokenizer gets no golden vectors;\nsee [adding.md](adding.md). Files that cannot be had are in "
        "[pull-errors.md](pull-errors.md)."
    )
    return f"{head}\n\n| reason | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"


def verify_reasons_page() -> str:
    """The reasons of `artifacts verify` beside those of a load."""
    rows = [
        f"| `{reason}` | {meaning} |"
        for reason, meaning in {**verifying.REASONS, **model_config.REASONS}.items()
    ]
    head = (
        "# Reasons of a verify\n\nWhat `tokenwire artifacts verify` can find; see "
        "[verify-and-diff.md](verify-and-diff.md).\nThe reasons for which a tokenizer is not served, such as "
        "`SHA256_MISMATCH`, `DIGEST_MISMATCH` and `GOLDEN_MISMATCH`,\nare among its findings too."
    )
    return f"{head}\n\n| reason | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"


def limits_page() -> str:
    """The table of limits."""
    head = "# Limits\n\nEvery request has bounds; what is over one gets a clear [error](errors.md)."
    how = "Each can be set under `[limits]` in the configuration file, in the environment or by a flag; see"
    return f"{head}\n{how}\n[configuration.md](configuration.md).\n\n{limits.table()}\n"


def metrics_page() -> str:
    """The metrics and their labels with all values."""
    metrics = []
    for metric in METRICS:
        kind = "gauge" if metric.kind == "info" else metric.kind
        named = ", ".join(f"`{label.name}`" for label in metric.labels)
        metrics.append(f"| `{metric.name}` | {kind} | {metric.unit} | {named} | {metric.help} |")
    used: dict[Label, list[str]] = {}
    for metric in METRICS:
        for label in metric.labels:
            used.setdefault(label, []).append(f"`{metric.name.removeprefix('tokenwire_')}`")
    labels = [
        f"| `{label.name}` | {', '.join(names) if len(names) < len(METRICS) // 2 else 'most'} | {label.origin} | "
        f"{', '.join(f'`{value}`' for value in label.values) if label.values is not None else 'of the deployment'} |"
        for label, names in used.items()
    ]
    per_tokenizer, per_tenant = n_series(2, 0) - n_series(1, 0), n_series(1, 1) - n_series(1, 0)
    fixed = n_series(0, 0)
    bounds = [
        f"- `{metric.name}`: {', '.join(f'{bound:,}' for bound in metric.bounds)}"
        for metric in METRICS
        if metric.bounds
    ]
    return "\n".join(
        [
            "# Metrics",
            "",
            "On the HTTP port, `/metrics`, in Prometheus' text format, compressed for those who ask. `language` is a",
            "reporting label: never bill or limit by it. Label values come from closed sets, whatever clients send,",
            "and every series exists at zero, but for the two `info` ones, whose labels are what the process serves",
            "and is. A scrape sees each call whole or not at all. Counters begin at zero with the process.",
            "",
            "| metric | type | unit | labels | meaning |",
            "|---|---|---|---|---|",
            *metrics,
            "",
            "## Labels",
            "",
            "| label | of | where its values come from | values |",
            "|---|---|---|---|",
            *labels,
            "",
            "## Buckets",
            "",
            *bounds,
            "",
            "## How many series there are",
            "",
            f"{fixed:,}, {per_tokenizer:,} for each tokenizer, and {per_tenant} more for each listed tenant with it.",
            "",
            "## Scripts",
            "",
            "A token belongs to the script of the first of its characters that has one of its own (UAX #24), from the",
            "one that holds its first byte on. So ` the` is `Latn`, and so is a token that is a part of the bytes of",
            "`é`; Devanagari digits are `Deva`, those that all scripts share `Zyyy`. A mark that takes the script of",
            "what it stands on counts for that. Where a tokenizer normalizes, the text as it was sent decides. Han is",
            "`Hani`, and `Jpan` in a text that has kana.",
            "",
            "## What they give",
            "",
            "- Tokens per character of a language: `tokens_total` over `input_characters_total`. Tokens per word",
            "  (fertility) cannot be had: the service counts no words, which many languages do not mark. A Count that",
            "  its limit stops pulls the ratio down, since it walks a part of its text alone.",
            "- The share of unknown tokens: `unknown_tokens_total` over `tokens_total` of encode, count and truncate,",
            "  summed over the operation.",
            "- Requests that were admitted: the `_count` of `request_duration_seconds`.",
            "",
        ]
    )


def n_series(n_tokenizers: int, n_tenants: int) -> int:
    """How many samples a scrape has."""
    meter = Meter(
        [f"t{number}" for number in range(n_tokenizers)], [f"n{number}" for number in range(n_tenants)]
    )
    meter.serving((f"t{number}", "", "") for number in range(n_tokenizers))
    return sum(len(family.samples) for family in meter.registry.collect())


PAGES = {
    "add-reasons.md": add_reasons_page,
    "errors.md": errors_page,
    "limits.md": limits_page,
    "metrics.md": metrics_page,
    "pull-errors.md": pull_errors_page,
    "verify-reasons.md": verify_reasons_page,
}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
