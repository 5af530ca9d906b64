"""The meter: what calls used and how the service does, added to the series of the metric table.

`tokens_total` counts tokens computed: a Count with a limit what was walked, a Truncate its whole input once, a Decode
its ids; an input that failed adds none, nor does a request refused whole. Counters begin at zero with the process, as
Prometheus expects.

What a call used is put on a queue, and added to the numbers with that of a few hundred calls, or when it is scraped:
code that runs once between a socket and an encoder is out of every cache and takes four times as long as in a loop.
Cost: half a microsecond for a call, two where it is added, 0.3 µs for each further input.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import generate_latest

from tokenwire_server.call import Call, InputUsage
from tokenwire_server.config import NO_TENANT, OTHER_TENANT
from tokenwire_server.metric_table import METRICS, TEXT_OPERATIONS
from tokenwire_server.series import Series

_MOST_WAITING = 256  # Calls; adding so many takes half a millisecond.
_MOST_INPUTS = 16  # Of a call that waits, so that what waits stays below a megabyte.


class _Places(NamedTuple):
    """Where the numbers of a tokenizer's operation lie, before the offsets of language and tenant."""

    volumes: int
    scripts: int
    gaps: int
    shares: int
    request_tokens: int


class Meter:
    """The metrics of one process, in a registry of their own. Safe to use from any thread."""

    def __init__(self, tokenizers: Sequence[str], tenants: Sequence[str] = ()) -> None:
        """`tenants` are the identities that are counted by name."""
        self._series = series = Series(
            (metric for metric in METRICS if metric.kind != "info"),
            {"tokenizer": tokenizers, "tenant": (*tenants, OTHER_TENANT, NO_TENANT)},
            self._add_waiting,
        )
        self._answered: deque[tuple[str, str, str, Sequence[InputUsage], Sequence[str]]] = deque()
        self._took: deque[tuple[str, float]] = deque()
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
        scripts, (of_script_tokenizer, self._of_script) = series.places("tokenwire_script_tokens_total")
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
                scripts + of_script_tokenizer[tokenizer],
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
        self._answered.append((call.tokenizer, call.operation, call.identity, call.usage, call.input_faults))
        if len(self._answered) >= _MOST_WAITING or len(call.usage) > _MOST_INPUTS:
            with self._series.lock:
                self._add_waiting()

    def took(self, operation: str, duration_s: float) -> None:
        """Record how long a request took, answered or refused."""
        self._took.append((operation, duration_s))
        if len(self._took) >= _MOST_WAITING:
            with self._series.lock:
                self._add_waiting()

    def refused(self, reason: str) -> None:
        """Count a request that was refused whole."""
        with self._series.lock:
            self._series.numbers[self._errors[reason]] += 1

    def shed(self, cause: str) -> None:
        """Count a request that was refused for overload, by the limit it met. It counts as `refused` too."""
        with self._series.lock:
            self._series.numbers[self._shed[cause]] += 1

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

    def _add_waiting(self) -> None:
        """Add all calls that wait to the numbers. Needs the lock held, so that each is added once."""
        for _ in range(len(self._answered)):
            self._add(*self._answered.popleft())
        for _ in range(len(self._took)):
            operation, duration_s = self._took.popleft()
            self._series.observe(self._durations[operation], self._second_bounds, duration_s)

    def _add(
        self,
        tokenizer: str,
        operation: str,
        identity: str,
        usage: Sequence[InputUsage],
        faults: Sequence[str],
    ) -> None:
        places = self._places.get((tokenizer, operation))
        if places is None:  # An operation without inputs.
            return
        numbers = self._series.numbers
        n_all_tokens = 0
        for language, decided_by, n_inputs, amounts in _sums(usage):
            n_tokens, n_bytes, n_characters, n_unknown, n_byte_fallback = amounts
            place = places.volumes + self._of_language[language]
            numbers[place] += n_tokens
            numbers[place + self._to_bytes] += n_bytes
            numbers[place + self._to_characters] += n_characters
            place = places.gaps + self._of_gap_language[language]
            numbers[place] += n_unknown
            numbers[place + self._to_byte_fallback] += n_byte_fallback
            numbers[self._decisions[decided_by]] += n_inputs
            n_all_tokens += n_tokens
        for used in usage:
            for script, n_tokens in used.scripts.items():
                numbers[places.scripts + self._of_script[script]] += n_tokens
        numbers[places.shares + self._of_tenant.get(identity, self._of_other_tenant)] += n_all_tokens
        self._series.observe(places.request_tokens, self._token_bounds, n_all_tokens)
        for reason in faults:
            numbers[self._errors[reason]] += 1

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return self._series.text() + generate_latest(self._infos)


def _sums(usage: Sequence[InputUsage]) -> Iterator[tuple[str, str, int, Iterable[int]]]:
    """Language, what decided it, the number of inputs that have both, and the sum of each amount."""
    if len(usage) == 1:
        language, decided_by, *amounts, _ = usage[0]
        yield language, decided_by, 1, amounts
        return
    groups: defaultdict[tuple[str, str], list[InputUsage]] = defaultdict(list)
    for used in usage:
        groups[used[:2]].append(used)
    for (language, decided_by), group in groups.items():
        _, _, *columns, _ = zip(*group, strict=True)
        yield language, decided_by, len(group), map(sum, columns)


def _version() -> str:
    try:
        return metadata.version("tokenwire-server")
    except metadata.PackageNotFoundError:  # run from its sources
        return "unknown"
