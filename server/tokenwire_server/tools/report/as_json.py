"""The report as one JSON object; `docs/report.md` says what each member is."""

from __future__ import annotations

import dataclasses
from typing import Any

from tokenwire_server.cli_render import well_formed
from tokenwire_server.tools.report.numbers import Report, TextSums, TokenizerNumbers, TokenSums, ratio

VERSION = 1


def fields(report: Report) -> dict[str, Any]:
    """What `--json` prints. Ratios and shares are not rounded, and null where there is nothing to divide by."""
    return {
        "report_version": VERSION,
        "inputs": list(map(well_formed, report.inputs)),
        "unit": report.unit,
        "add_special": report.add_special,
        "language_detector": report.language_detector,
        "n_files": report.n_files,
        **dataclasses.asdict(report.texts),
        "n_not_nfc": report.n_not_nfc,
        "not_nfc_share": ratio(report.n_not_nfc, report.texts.n_texts),
        "by_language": {label: dataclasses.asdict(report.by_language[label]) for label in report.languages()},
        "tokenizers": [_tokenizer(each, report) for each in report.tokenizers],
        "n_left_out": report.n_left_out,
        "left_out": [
            {**dataclasses.asdict(gap), "file": well_formed(gap.file), "message": well_formed(gap.message)}
            for gap in report.gaps.values()
        ],
    }


def _tokenizer(numbers: TokenizerNumbers, report: Report) -> dict[str, Any]:
    n_texts = report.texts.n_texts
    n_over = numbers.n_over_limit
    return {
        "name": numbers.name,
        "digest": numbers.digest,
        **_sums(numbers.total, report.texts),
        "by_language": {
            label: _sums(numbers.by_language[label], report.by_language[label])
            for label in report.languages()
        },
        "by_script": {script: numbers.by_script[script] for script in report.scripts()},
        "length_tokens": numbers.percentiles(),
        "limit_tokens": numbers.limit_tokens,
        "limit_from": numbers.limit_from,
        "n_over_limit": n_over,
        "over_limit_share": None if n_over is None else ratio(n_over, n_texts),
        "n_same": numbers.n_same,
        "same_share": ratio(numbers.n_same, n_texts),
    }


def _sums(tokens: TokenSums, texts: TextSums) -> dict[str, Any]:
    return {
        **dataclasses.asdict(tokens),
        "bytes_per_token": ratio(texts.n_bytes, tokens.n_tokens),
        "tokens_per_character": ratio(tokens.n_tokens, texts.n_characters),
        "unknown_share": ratio(tokens.n_unknown, tokens.n_tokens),
        "byte_fallback_share": ratio(tokens.n_byte_fallback, tokens.n_tokens),
    }
