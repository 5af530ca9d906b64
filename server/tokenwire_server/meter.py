"""The meter: what calls used and how the service does, added to the series of the metric table.

`tokens_total` counts tokens computed: a Count with a limit what was walked, a Truncate its whole input once, a Decode
its ids; an input that failed adds none, nor does a request refused whole. Counters begin at zero with the process,
as Prometheus expects. Cost: a microsecond or two for a call, and 0.3 µs for each further input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from itertools import islice
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import generate_latest

from tokenwire_server.call import Call, InputUsage
from tokenwire_server.config import NO_TENANT, OTHER_TENANT
from tokenwire_server.metric_table import METRICS, TEXT_OPERATIONS
from tokenwire_server.series import Series

_Sum = tuple[int, str, str, int, int, int, int, int]
"""A number of inputs, and what they took together: the fields of `InputUsage`."""


class _Places(NamedTuple):
    """Where the numbers of a tokenizer's operation lie, before the offsets of language and tenant."""

    volumes: int
    gaps: int
    share: int
    request_tokens: int


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
        volumes, (of_tokenizer, of_operation, self._of_language) = series.places("tokenwire_tokens_total")
        self._to_bytes = series.places("tokenwire_input_bytes_total")[0] - volumes
        self._to_characters = series.places("tokenwire_input_characters_total")[0] - volumes
        gaps, (of_gap_tokenizer, self._of_gap_language) = series.places("tokenwire_unknown_tokens_total")
        self._to_byte_fallback = series.places("tokenwire_byte_fallback_tokens_total")[0] - gaps
        shares, (of_tenant, of_share_tokenizer, of_share_operation) = series.places(
            "tokenwire_tenant_tokens_total"
        )
        self._of_tenant = {"": of_tenant[NO_TENANT], **{name: of_tenant[name] for name in tenants}}
        self._of_other_tenant = of_tenant[OTHER_TENANT]
        request_tokens = series.places_by_value("tokenwire_request_tokens")
        self._places = {
            (tokenizer, operation): _Places(
                volumes + of_tokenizer[tokenizer] + of_operation[operation],
                gaps + of_gap_tokenizer[tokenizer],
                shares + of_share_tokenizer[tokenizer] + of_share_operation[operation],
                request_tokens[operation],
            )
            for tokenizer in tokenizers
            for operation in TEXT_OPERATIONS
        }
        bounds = {metric.name: metric.bounds for metric in METRICS}
        self._token_bounds = bounds["tokenwire_request_tokens"]
        self._second_bounds = bounds["tokenwire_request_duration_seconds"]
        self._durations = series.places_by_value("tokenwire_request_duration_seconds")
        self._decisions = series.places_by_value("tokenwire_language_decisions_total")
        self._errors = series.places_by_value("tokenwire_errors_total")
        self._shed = series.places_by_value("tokenwire_shed_total")

    def answered(self, call: Call) -> None:
        """Count what an answered call used: tokens of its good inputs, errors of the others."""
        places = self._places.get((call.tokenizer, call.operation))
        if places is None:  # An operation without inputs.
            return
        volumes, gaps, share, request_tokens = places
        share += self._of_tenant.get(call.identity, self._of_other_tenant)
        sums = _sums(call.usage)  # Before the lock is taken.
        n_all_tokens = 0
        series = self._series
        numbers = series.numbers
        with series.lock:
            for sum_ in sums:
                (
                    n_inputs,
                    language,
                    decided_by,
                    n_tokens,
                    n_bytes,
                    n_characters,
                    n_unknown,
                    n_byte_fallback,
                ) = sum_
                place = volumes + self._of_language[language]
                numbers[place] += n_tokens
                numbers[place + self._to_bytes] += n_bytes
                numbers[place + self._to_characters] += n_characters
                numbers[self._decisions[decided_by]] += n_inputs
                if n_unknown or n_byte_fallback:
                    place = gaps + self._of_gap_language[language]
                    numbers[place] += n_unknown
                    numbers[place + self._to_byte_fallback] += n_byte_fallback
                n_all_tokens += n_tokens
            numbers[share] += n_all_tokens
            series.observe(request_tokens, self._token_bounds, n_all_tokens)
            for reason in call.input_faults:
                numbers[self._errors[reason]] += 1

    def refused(self, reason: str) -> None:
        """Count a request that was refused whole."""
        with self._series.lock:
            self._series.numbers[self._errors[reason]] += 1

    def shed(self, cause: str) -> None:
        """Count a request that was refused for overload, by the limit it met. It counts as `refused` too."""
        with self._series.lock:
            self._series.numbers[self._shed[cause]] += 1

    def took(self, operation: str, duration_s: float) -> None:
        """Record how long a request took, answered or refused."""
        with self._series.lock:
            self._series.observe(self._durations[operation], self._second_bounds, duration_s)

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


def _sums(usage: Sequence[InputUsage]) -> list[_Sum]:
    """How many inputs have each language and decision, and what they took together."""
    if len(usage) == 1:
        return [(1, *usage[0])]
    groups: dict[tuple[str, str], list[InputUsage]] = {}
    for used in usage:
        groups.setdefault((used.language, used.decided_by), []).append(used)
    sums: list[_Sum] = []
    for (language, decided_by), group in groups.items():
        n_tokens, n_bytes, n_characters, n_unknown, n_byte_fallback = map(
            sum, islice(zip(*group, strict=True), 2, None)
        )
        sums.append(
            (
                len(group),
                language,
                decided_by,
                n_tokens,
                n_bytes,
                n_characters,
                n_unknown,
                n_byte_fallback,
            )
        )
    return sums


def _version() -> str:
    try:
        return metadata.version("tokenwire-server")
    except metadata.PackageNotFoundError:  # run from its sources
        return "unknown"
