"""The PromQL of the dashboard: selectors with its variables, and what several panels ask for.

Panels ask for the service's own metrics, not for recorded rules, so the dashboard needs nothing but a Prometheus
that scrapes, and every panel can be narrowed to an instance. Ratios divide sums; where nothing came there is none.
"""

from __future__ import annotations

TARGETS = 'job=~"$job", instance=~"$instance"'
TOKENIZERS = TARGETS + ', tokenizer=~"$tokenizer"'
TEXTS = TOKENIZERS + ', language=~"$language"'
MADE_FROM_TEXT = TEXTS + ', operation!="decode"'
ENGLISH = TOKENIZERS + ', language="en"'
TURNED_AWAY = TARGETS + ', reason=~"OVERLOADED|SHUTTING_DOWN"'
# An artifact is a stream, which lasts as long as its reader takes.
ANSWERED_AT_ONCE = TARGETS + ', operation!="get_artifact"'

TOKENS = "tokenwire_tokens_total"
CHARACTERS = "tokenwire_input_characters_total"
BYTES = "tokenwire_input_bytes_total"
DURATION = "tokenwire_request_duration_seconds"

LEAST = 1000
"""Characters or bytes of a language in the range shown, below which one text says more than the language."""


def rate(metric: str, labels: str, by: str = "") -> str:
    """How fast a counter grows in a second, by the labels named."""
    return f"sum by ({by}) (rate({metric}{{{labels}}}[$__rate_interval]))"


def grown(metric: str, labels: str, by: str) -> str:
    """By how much a counter has grown in the range shown."""
    return f"sum by ({by}) (increase({metric}{{{labels}}}[$__range]))"


def quantile(share: float, metric: str, labels: str, by: str = "") -> str:
    """A quantile of a histogram, by the labels named; nothing where nothing was observed."""
    return f"histogram_quantile({share}, {rate(metric + '_bucket', labels, f'le, {by}'.strip(', '))}) >= 0"


def ratio(numerator: str, denominator: str, least: float = 0) -> str:
    """A ratio of sums; nothing where the denominator is not more than `least`."""
    return f"{numerator} / ({denominator} > {least})"


# What a language costs, over the range shown.
BY_LANGUAGE = "tokenizer, language"
PER_CHARACTER = ratio(grown(TOKENS, TEXTS, BY_LANGUAGE), grown(CHARACTERS, TEXTS, BY_LANGUAGE), LEAST)
PER_BYTE = ratio(grown(TOKENS, TEXTS, BY_LANGUAGE), grown(BYTES, TEXTS, BY_LANGUAGE), LEAST)
OF_ENGLISH = ratio(grown(TOKENS, ENGLISH, "tokenizer"), grown(CHARACTERS, ENGLISH, "tokenizer"), LEAST)
TO_ENGLISH = f"({PER_CHARACTER}) / on (tokenizer) group_left () ({OF_ENGLISH})"

# What came: requests that are turned away at the door have no duration.
CAME = f"({rate(DURATION + '_count', TARGETS)} + {rate('tokenwire_errors_total', TURNED_AWAY)})"
REFUSED = rate("tokenwire_errors_total", TARGETS)

CONFIGURED = f"group by (job, instance, tokenizer) ({TOKENS}{{{TOKENIZERS}}})"
NOT_READY = f"{CONFIGURED} unless on (job, instance, tokenizer) tokenwire_artifact_info"
DIGESTS = f"group by (job, tokenizer, digest) (tokenwire_artifact_info{{{TOKENIZERS}}})"
