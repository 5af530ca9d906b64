"""The table of metrics: what each is called, what it counts and in which unit, and the values its labels can take.

The meter makes its series from this table and nothing else, and `docs/metrics.md` is generated from it. A label has a
closed set of values: those of a table in the code, or those that the configuration lists. What a stranger sends makes
no value of its own. The label sets of `tokenwire_artifact_info` and `tokenwire_build_info` are what the process serves
and is; all other series exist at zero from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tokenwire_core.tally import SCRIPTS

from tokenwire_server import language
from tokenwire_server.config import NO_TENANT, OTHER_TENANT
from tokenwire_server.errors import CODES
from tokenwire_server.manifest import FORMATS

TEXT_OPERATIONS = ("encode", "decode", "count", "truncate")
"""The operations that compute tokens."""
OPERATIONS = (*TEXT_OPERATIONS, "list_tokenizers", "get_tokenizer", "get_artifact")

SHED_CAUSES = ("queue_bytes", "artifact_streams", "artifact_stream_s")
"""Why a request is refused with OVERLOADED: the limit that it met."""

_TOKEN_BUCKETS = tuple(4**power for power in range(1, 13))
_SECOND_BUCKETS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True)
class Label:
    """One label: `values` are all it can have, or None where they come from the deployment, as `origin` says."""

    name: str
    origin: str
    values: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One row. `bounds` are the upper bounds of a histogram's buckets, without the infinite one.

    An `info` is a gauge that is always 1: what it tells is in its labels, whose values the process sets.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram", "info"]
    unit: str
    help: str
    labels: tuple[Label, ...] = ()
    bounds: tuple[float, ...] = ()


TOKENIZER = Label("tokenizer", "the tokenizers of the configuration, by `name`")
TENANT = Label(
    "tenant",
    f"`tenants` of the configuration, `{OTHER_TENANT}` for any other identity, `{NO_TENANT}` for a call without one",
)
_TEXT_OPERATION = Label("operation", "RPCs that compute tokens", TEXT_OPERATIONS)
_OPERATION = Label("operation", "RPCs", OPERATIONS)
_LANGUAGE = Label(
    "language",
    "the declared tag's primary language, or what the text tells ([languages.md](languages.md)): `zxx` for code and "
    "data, `mul` for several scripts, `und` where nothing decides",
    tuple(sorted(language.LANGUAGES)),
)
_VOLUME = (TOKENIZER, _TEXT_OPERATION, _LANGUAGE)

METRICS = (
    Metric(
        "tokenwire_tokens_total",
        "counter",
        "tokens",
        "Tokens computed: of a Count with a limit those walked, of a Truncate those of its input once, of a Decode "
        "its ids. Inputs that fail add none.",
        _VOLUME,
    ),
    Metric(
        "tokenwire_input_bytes_total",
        "counter",
        "bytes",
        "Bytes of text, in UTF-8, that the tokens stand for. A Count that its limit stops adds all of its text, a "
        "Decode its answer.",
        _VOLUME,
    ),
    Metric(
        "tokenwire_input_characters_total", "counter", "code points", "Code points of that text.", _VOLUME
    ),
    Metric(
        "tokenwire_script_tokens_total",
        "counter",
        "tokens",
        "Tokens of encode, count and truncate by script: together they are as many as those in tokenwire_tokens_total.",
        (
            TOKENIZER,
            Label(
                "script",
                "ISO 15924, see Scripts below: `Zyyy` for tokens without one, `Jpan` for Han beside kana; `special` "
                "for control tokens and those of the template",
                SCRIPTS,
            ),
        ),
    ),
    Metric(
        "tokenwire_unknown_tokens_total",
        "counter",
        "tokens",
        "Tokens of encode, count and truncate that are the unknown token.",
        (TOKENIZER, _LANGUAGE),
    ),
    Metric(
        "tokenwire_byte_fallback_tokens_total",
        "counter",
        "tokens",
        "Tokens of the same that are single bytes of a character which the vocabulary lacks. Byte-level tokenizers "
        "have none.",
        (TOKENIZER, _LANGUAGE),
    ),
    Metric(
        "tokenwire_tenant_tokens_total",
        "counter",
        "tokens",
        "Tokens as in tokenwire_tokens_total, by who asked: the common name of the client's certificate.",
        (TENANT, TOKENIZER, _TEXT_OPERATION),
    ),
    Metric(
        "tokenwire_language_decisions_total",
        "counter",
        "inputs",
        "What decided the language of an input.",
        (
            Label(
                "source",
                "declared: the tag; script: that of most letters, or that there are several; signs: those of code and "
                "data; detector; none: nothing",
                language.SOURCES,
            ),
        ),
    ),
    Metric(
        "tokenwire_request_tokens",
        "histogram",
        "tokens",
        "Tokens computed in one answered request.",
        (_TEXT_OPERATION,),
        _TOKEN_BUCKETS,
    ),
    Metric(
        "tokenwire_request_duration_seconds",
        "histogram",
        "seconds",
        "From the arrival of a whole request to its answer, or the end of the stream that answers it.",
        (_OPERATION,),
        _SECOND_BUCKETS,
    ),
    Metric("tokenwire_requests_in_flight", "gauge", "requests", "Requests being worked on."),
    Metric(
        "tokenwire_queue_bytes",
        "gauge",
        "bytes",
        "Bytes of the larger requests that wait or run, and of artifacts being sent.",
    ),
    Metric(
        "tokenwire_shed_total",
        "counter",
        "requests",
        "Requests refused for overload (OVERLOADED), by the limit they met.",
        (Label("cause", "limits whose excess is OVERLOADED", SHED_CAUSES),),
    ),
    Metric(
        "tokenwire_errors_total",
        "counter",
        "requests and inputs",
        "Requests and single inputs refused, by reason.",
        (Label("reason", "the reasons of errors.md", tuple(CODES)),),
    ),
    Metric(
        "tokenwire_artifact_info",
        "info",
        "",
        "1 for each tokenizer that is proven and served, with the digest that replies carry.",
        (
            TOKENIZER,
            Label("digest", "sha256 identity, one for each tokenizer"),
            Label("format", "what the artifact is", FORMATS),
        ),
    ),
    Metric(
        "tokenwire_build_info",
        "info",
        "",
        "1, with the version of the server.",
        (Label("version", "the version that is installed"),),
    ),
)
