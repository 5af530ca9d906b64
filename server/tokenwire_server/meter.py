"""The meter: tokens, bytes and characters by tokenizer, operation and language, and how the service does.

Label values come from closed sets and every series exists at zero, so a dashboard needs no guess and a
stranger can make no series. Children are looked up once, here. `tokens_total` counts tokens computed: a
Count with a limit what was walked, a Truncate its whole input once, a Decode its ids; an input that failed
adds none.
"""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable, Sequence
from importlib import metadata

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import generate_latest

from tokenwire_server import language
from tokenwire_server.call import Call
from tokenwire_server.errors import CODES

TEXT_OPERATIONS = ("encode", "decode", "count", "truncate")
"""The operations that compute tokens."""
OPERATIONS = (*TEXT_OPERATIONS, "list_tokenizers", "get_tokenizer", "get_artifact")

# A `_created` beside every series would double the exposition. The library has this switch for the process alone.
disable_created_metrics()  # type: ignore[no-untyped-call]

_TOKEN_BUCKETS = tuple(4**power for power in range(1, 13))
_SECOND_BUCKETS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Meter:
    """The metrics of one process, in a registry of their own. Safe to use from any thread."""

    def __init__(self, tokenizers: Sequence[str]) -> None:
        self.registry = registry = CollectorRegistry()
        labels = ("tokenizer", "operation", "language")
        volumes = (
            Counter("tokenwire_tokens", "Tokens computed.", labels, registry=registry),
            Counter(
                "tokenwire_input_bytes",
                "Bytes of text, in UTF-8, the tokens stand for.",
                labels,
                registry=registry,
            ),
            Counter("tokenwire_input_characters", "Code points of that text.", labels, registry=registry),
        )
        self._volumes = {
            (tokenizer, operation, label): tuple(
                counter.labels(tokenizer, operation, label) for counter in volumes
            )
            for tokenizer in tokenizers
            for operation in TEXT_OPERATIONS
            for label in sorted(language.LANGUAGES)
        }
        decisions = Counter(
            "tokenwire_language_decisions",
            "What decided the language of an input.",
            ("source",),
            registry=registry,
        )
        self._decisions = {source: decisions.labels(source) for source in language.SOURCES}
        request_tokens = Histogram(
            "tokenwire_request_tokens",
            "Tokens computed in one request.",
            ("operation",),
            buckets=_TOKEN_BUCKETS,
            registry=registry,
        )
        self._request_tokens = {operation: request_tokens.labels(operation) for operation in TEXT_OPERATIONS}
        durations = Histogram(
            "tokenwire_request_duration_seconds",
            "From the arrival of a whole request to its answer, or the end of the stream that answers it.",
            ("operation",),
            buckets=_SECOND_BUCKETS,
            registry=registry,
        )
        self._durations = {operation: durations.labels(operation) for operation in OPERATIONS}
        errors = Counter(
            "tokenwire_errors",
            "Requests and single inputs refused, by reason.",
            ("reason",),
            registry=registry,
        )
        self._errors = {reason: errors.labels(reason) for reason in CODES}
        self.in_flight = Gauge("tokenwire_requests_in_flight", "Requests being worked on.", registry=registry)
        self.queue_bytes = Gauge(
            "tokenwire_queue_bytes",
            "Bytes of the larger requests that wait or run, and of artifacts being sent.",
            registry=registry,
        )
        build_info = Gauge(
            "tokenwire_build_info", "1, with the version of the server.", ("version",), registry=registry
        )
        build_info.labels(_version()).set(1)
        self._artifact_info = Gauge(
            "tokenwire_artifact_info",
            "1 for each tokenizer that is proven and served.",
            ("tokenizer", "digest", "format"),
            registry=registry,
        )

    def answered(self, call: Call) -> None:
        """Count what an answered call used: tokens of its good inputs, errors of the others."""
        # Summed first: a large batch has few labels, and a counter costs more than an addition.
        sums: dict[str, list[int]] = {}
        for used in call.usage:
            volume = sums.setdefault(used.language, [0, 0, 0])
            volume[0] += used.n_tokens
            volume[1] += used.n_bytes
            volume[2] += used.n_characters
        for label, volume in sums.items():
            for counter, amount in zip(
                self._volumes[call.tokenizer, call.operation, label], volume, strict=True
            ):
                counter.inc(amount)
        for source, n_inputs in Counts(used.decided_by for used in call.usage).items():
            self._decisions[source].inc(n_inputs)
        if call.operation in self._request_tokens:
            self._request_tokens[call.operation].observe(sum(used.n_tokens for used in call.usage))
        for reason in call.input_faults:
            self._errors[reason].inc()

    def refused(self, reason: str) -> None:
        """Count a request that was refused whole."""
        self._errors[reason].inc()

    def took(self, operation: str, duration_s: float) -> None:
        """Record how long a request took, answered or refused."""
        self._durations[operation].observe(duration_s)

    def serving(self, tokenizers: Iterable[tuple[str, str, str]]) -> None:
        """Publish (name, digest, format) of the tokenizers that are proven."""
        for name, digest, format_name in tokenizers:
            self._artifact_info.labels(name, digest, format_name).set(1)

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self.registry)


def _version() -> str:
    try:
        return metadata.version("tokenwire-server")
    except metadata.PackageNotFoundError:  # run from its sources
        return "unknown"
