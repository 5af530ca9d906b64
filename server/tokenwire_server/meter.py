"""The meter: what calls used and how the service does, added to the series of the metric table.

`tokens_total` counts tokens computed: a Count with a limit what was walked, a Truncate its whole input once, a Decode
its ids; an input that failed adds none, nor does a request refused whole. Counters begin at zero with the process, as
Prometheus expects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import metadata

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import generate_latest
from tokenwire_core.ledger import Account, Book, Histogram

from tokenwire_server.config import NO_TENANT, OTHER_TENANT
from tokenwire_server.metric_table import METRICS, TEXT_OPERATIONS
from tokenwire_server.series import Series


class Meter:
    """The metrics of one process, in a registry of their own. Safe to use from any thread."""

    def __init__(self, tokenizers: Sequence[str], tenants: Sequence[str] = ()) -> None:
        """`tenants` are the identities that are counted by name."""
        self._series = series = Series(
            (metric for metric in METRICS if metric.kind != "info"),
            {"tokenizer": tokenizers, "tenant": (*tenants, OTHER_TENANT, NO_TENANT)},
        )
        infos = CollectorRegistry()
        self._info = {
            metric.name: Gauge(
                metric.name, metric.help, [label.name for label in metric.labels], registry=infos
            )
            for metric in METRICS
            if metric.kind == "info"
        }
        self._info["tokenwire_build_info"].labels(_version()).set(1)
        self._infos = infos
        self._served: set[tuple[str, str, str]] = set()
        self.registry = CollectorRegistry()
        """All of it, for whoever looks up single samples."""
        self.registry.register(series)
        self.registry.register(infos)

        # Places are looked up once, here; see `Series.places`.
        tokens, (of_tokenizer, of_operation, of_language) = series.places("tokenwire_tokens_total")
        volumes = [
            tokens,
            *(series.places(f"tokenwire_input_{unit}_total")[0] for unit in ("bytes", "characters")),
        ]
        script_tokens, (of_script_tokenizer, of_script) = series.places("tokenwire_script_tokens_total")
        unknown, (of_gap_tokenizer, _) = series.places("tokenwire_unknown_tokens_total")
        gaps = [unknown, series.places("tokenwire_byte_fallback_tokens_total")[0]]
        shares, (of_tenant, of_share_tokenizer, of_share_operation) = series.places(
            "tokenwire_tenant_tokens_total"
        )
        bounds = {metric.name: metric.bounds for metric in METRICS}
        request_tokens = series.places_by_value("tokenwire_request_tokens")
        decisions = series.places_by_value("tokenwire_language_decisions_total")

        def account(tokenizer: str, operation: str) -> Account:
            share = shares + of_share_tokenizer[tokenizer] + of_share_operation[operation]
            return Account(
                series.numbers,
                [place + of_tokenizer[tokenizer] + of_operation[operation] for place in volumes],
                [place + of_gap_tokenizer[tokenizer] for place in gaps],
                of_language,
                {
                    script: script_tokens + of_script_tokenizer[tokenizer] + offset
                    for script, offset in of_script.items()
                },
                decisions,
                {
                    "": share + of_tenant[NO_TENANT],
                    **{name: share + of_tenant[name] for name in tenants},
                },
                share + of_tenant[OTHER_TENANT],
                Histogram(series.numbers, request_tokens[operation], bounds["tokenwire_request_tokens"]),
            )

        name = "tokenwire_request_duration_seconds"
        book = Book(
            series.numbers,
            {
                operation: {tokenizer: account(tokenizer, operation) for tokenizer in tokenizers}
                for operation in TEXT_OPERATIONS
            },
            {
                operation: Histogram(series.numbers, place, bounds[name])
                for operation, place in series.places_by_value(name).items()
            },
            series.places_by_value("tokenwire_errors_total"),
        )
        # What every call does goes straight to compiled code.
        self.answered = book.answered
        """Count what an answered call used; see `Book`."""
        self.took = book.took
        """Record how long a request of an operation took in seconds, answered or refused."""
        self.refused = book.refused
        """Count a request that was refused whole, by its reason."""
        self._shed = series.places_by_value("tokenwire_shed_total")

    def shed(self, cause: str) -> None:
        """Count a request that was refused for overload, by the limit it met. It counts as `refused` too."""
        self._series.numbers.add(self._shed[cause])

    def follow(self, in_flight: Callable[[], int], queue_bytes: Callable[[], int]) -> None:
        """Have the gauges ask for their values when they are scraped."""
        self._series.follow("tokenwire_requests_in_flight", in_flight)
        self._series.follow("tokenwire_queue_bytes", queue_bytes)

    def serving(self, tokenizers: Iterable[tuple[str, str, str]]) -> None:
        """Publish (name, digest, format) of the tokenizers that are proven, and no others."""
        info, served = self._info["tokenwire_artifact_info"], set(tokenizers)
        for labels in served:
            info.labels(*labels).set(1)
        for labels in self._served - served:
            info.remove(*labels)
        self._served = served

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return self._series.text() + generate_latest(self._infos)


def _version() -> str:
    try:
        return metadata.version("tokenwire-server")
    except metadata.PackageNotFoundError:  # run from its sources
        return "unknown"
