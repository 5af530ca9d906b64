"""The meter: what its table says and nothing else, at zero from the start, and sums that add up."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from tokenwire_core.ledger import InputUsage
from tokenwire_core.tally import Tally
from tokenwire_server import language
from tokenwire_server.call import Call
from tokenwire_server.meter import Meter
from tokenwire_server.metric_table import METRICS, TEXT_OPERATIONS

Labels = tuple[tuple[str, str], ...]
DIGEST = "d" * 64
CONFIGURED = {
    "tokenizer": {"a", "b"},
    "tenant": {"acme", "other", "none"},
    "digest": {DIGEST},
}


def samples(meter: Meter) -> dict[tuple[str, Labels], float]:
    """Every sample of the exposition by name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(meter.exposition().decode())
        for sample in family.samples
    }


def grown(meter: Meter) -> dict[tuple[str, Labels], float]:
    """The samples that are not zero, without what only tells of the process."""
    found = samples(meter)
    return {key: value for key, value in found.items() if value and not key[0].endswith("_info")}


def call(operation: str = "count", identity: str = "", tokenizer: str = "a") -> Call:
    return Call(operation, time.monotonic(), identity=identity, tokenizer=tokenizer)


def used(
    language: str,
    decided_by: str,
    n_tokens: int,
    n_bytes: int,
    n_characters: int,
    n_unknown: int = 0,
    n_byte_fallback: int = 0,
) -> InputUsage:
    tally = Tally(n_tokens, n_unknown, n_byte_fallback, {})
    return InputUsage(language, decided_by, n_bytes, n_characters, tally)


def answer(meter: Meter, call: Call) -> None:
    meter.answered(call.operation, call.tokenizer, call.identity, call.usage, call.input_faults)


def test_the_exposition_is_what_the_table_says() -> None:
    """Names in order, types, help, labels and the values of each: the table has no more and no less."""
    meter = Meter(["a", "b"], ["acme"])
    meter.serving([("a", DIGEST, "tiktoken"), ("b", DIGEST, "hf_json")])
    text = meter.exposition().decode()
    assert re.findall(r"^# HELP (\S+) (.*)$", text, re.M) == [(m.name, m.help) for m in METRICS]
    kinds = [(m.name, "gauge" if m.kind == "info" else m.kind) for m in METRICS]
    assert re.findall(r"^# TYPE (\S+) (.*)$", text, re.M) == kinds
    families = {family.name: family for family in text_string_to_metric_families(text)}
    for metric in METRICS:
        family = families.pop(metric.name.removesuffix("_total"))
        beside = {"le"} if metric.kind == "histogram" else set()
        names = [label.name for label in metric.labels]
        for sample in family.samples:
            assert set(sample.labels) - beside == set(names)
        for label in metric.labels:
            shown = {sample.labels[label.name] for sample in family.samples}
            if label.values is not None and metric.kind != "info":
                assert shown == set(label.values)
            elif label.values is not None:
                assert shown <= set(label.values)
            elif label.name != "version":
                assert shown == CONFIGURED[label.name]
        bounds = {float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels}
        assert bounds == ({*metric.bounds, float("inf")} if metric.bounds else set())
    assert families == {}


def test_names_say_kind_and_unit() -> None:
    """Counters end in `_total`, nothing else does; a histogram's bounds rise; every row has words."""
    for metric in METRICS:
        assert metric.name.startswith("tokenwire_")
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.name.endswith("_info") == (metric.kind == "info")
        assert metric.help.endswith(".")
        assert bool(metric.unit) == (metric.kind != "info")
        assert list(metric.bounds) == sorted(set(metric.bounds))
        assert bool(metric.bounds) == (metric.kind == "histogram")
        for label in metric.labels:
            assert label.origin


def test_the_exposition_is_the_librarys_own() -> None:
    """Names that need escaping, numbers whole and broken: filled in, the text says what prometheus_client writes."""
    name = 'quo"ted back\\slash line\nfeed 日本'
    meter = Meter([name], ['O\'Brien & "sons"'])
    answered = call(tokenizer=name, identity='O\'Brien & "sons"')
    answered.usage.append(used("ja", "script", 5, 15, 5, 1, 2))
    for duration_s in (1e-9, 123.4):
        answer(meter, answered)
        meter.took("count", duration_s)
        theirs = text_string_to_metric_families(generate_latest(meter.registry).decode())
        ours = text_string_to_metric_families(meter.exposition().decode())
        assert list(ours) == list(theirs)


def test_every_series_exists_at_zero() -> None:
    """Before the first call each metric has all its label values, at zero."""
    found = samples(Meter(["a", "b"], ["acme"]))
    build_info = [found.pop(sample) for sample in list(found) if sample[0] == "tokenwire_build_info"]
    assert build_info == [1]
    assert set(found.values()) == {0.0}
    n_volumes = 2 * len(TEXT_OPERATIONS) * len(language.LANGUAGES)
    for name in ("tokens", "input_bytes", "input_characters"):
        assert sum(key[0] == f"tokenwire_{name}_total" for key in found) == n_volumes


def test_an_answered_call_adds_what_each_input_took() -> None:
    """Good inputs add tokens, bytes and characters under their label; bad ones add one error each."""
    meter = Meter(["a"])
    answered = call()
    answered.usage += [
        used("ja", "script", 5, 15, 5, 1, 2),
        used("en", "declared", 1, 1, 1),
        used("ja", "declared", 2, 6, 2, 0, 1),
        used("ja", "declared", 3, 6, 2, 1, 0),
    ]
    answered.input_faults += ["INVALID_UTF8"]
    answer(meter, answered)
    japanese = (("language", "ja"), ("operation", "count"), ("tokenizer", "a"))
    english = (("language", "en"), *japanese[1:])
    gaps = (("language", "ja"), ("tokenizer", "a"))
    found = {key: value for key, value in grown(meter).items() if "_bucket" not in key[0]}
    assert found == {
        ("tokenwire_tokens_total", japanese): 10,
        ("tokenwire_input_bytes_total", japanese): 27,
        ("tokenwire_input_characters_total", japanese): 9,
        ("tokenwire_tokens_total", english): 1,
        ("tokenwire_input_bytes_total", english): 1,
        ("tokenwire_input_characters_total", english): 1,
        ("tokenwire_unknown_tokens_total", gaps): 2,
        ("tokenwire_byte_fallback_tokens_total", gaps): 3,
        (
            "tokenwire_tenant_tokens_total",
            (("operation", "count"), ("tenant", "none"), ("tokenizer", "a")),
        ): 11,
        ("tokenwire_language_decisions_total", (("source", "declared"),)): 3,
        ("tokenwire_language_decisions_total", (("source", "script"),)): 1,
        ("tokenwire_request_tokens_count", (("operation", "count"),)): 1,
        ("tokenwire_request_tokens_sum", (("operation", "count"),)): 11,
        ("tokenwire_errors_total", (("reason", "INVALID_UTF8"),)): 1,
    }


def test_a_tenant_counts_by_name_only_if_it_is_listed() -> None:
    """Others count as `other`, whatever they are called, and a call without an identity as `none`."""
    meter = Meter(["a"], ["acme"])
    tenants = {"": "none", "acme": "acme", "Acme": "other", "none": "other", "other": "other", "x\n": "other"}
    expected: dict[str, int] = {}
    for n_tokens, (identity, tenant) in enumerate(tenants.items(), 1):
        answered = call(identity=identity)
        answered.usage.append(used("en", "declared", n_tokens, 1, 1))
        answer(meter, answered)
        expected[tenant] = expected.get(tenant, 0) + n_tokens
    found = {
        dict(labels)["tenant"]: value
        for (name, labels), value in grown(meter).items()
        if name == "tokenwire_tenant_tokens_total"
    }
    assert found == expected


def test_operations_without_inputs_add_no_tokens() -> None:
    """What lists or sends tokenizers takes time, and nothing else."""
    meter = Meter(["a"])
    for operation in ("list_tokenizers", "get_tokenizer", "get_artifact"):
        answer(meter, call(operation))
    assert grown(meter) == {}
    meter.took("get_artifact", 0.25)
    assert grown(meter)["tokenwire_request_duration_seconds_sum", (("operation", "get_artifact"),)] == 0.25


def test_a_bucket_holds_what_is_at_most_its_bound() -> None:
    """Cumulative, its own bound included, as Prometheus reads buckets."""
    meter = Meter(["a"])
    for n_tokens in (0, 4, 5, 16, 17, 10**9):
        answered = call()
        answered.usage.append(used("en", "declared", n_tokens, 1, 1))
        answer(meter, answered)
    buckets = {
        dict(labels)["le"]: value
        for (name, labels), value in samples(meter).items()
        if name == "tokenwire_request_tokens_bucket" and ("operation", "count") in labels
    }
    assert [buckets[bound] for bound in ("4.0", "16.0", "64.0", "1.6777216e+07", "+Inf")] == [2, 4, 5, 5, 6]


@pytest.fixture
def _hurried_threads() -> Iterator[None]:
    """Threads that take turns every few instructions, so that what is not guarded is interrupted."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before_s)


@pytest.mark.usefixtures("_hurried_threads")
def test_sums_are_exact_from_many_threads() -> None:
    """No addition is lost, and each scrape in between sees each call whole: as many tokens as bytes and requests."""
    meter = Meter(["a"])
    n_threads, n_calls = 4, 2_000
    answered = call()
    answered.usage.append(used("en", "declared", 1, 1, 1))
    started = threading.Barrier(n_threads + 1)

    def work() -> None:
        started.wait()
        for _ in range(n_calls):
            answer(meter, answered)

    def scrapes() -> Iterator[dict[tuple[str, Labels], float]]:
        while any(thread.is_alive() for thread in threads):
            yield samples(meter)
        yield samples(meter)

    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    started.wait()
    volume = (("language", "en"), ("operation", "count"), ("tokenizer", "a"))
    n_before = 0.0
    for found in scrapes():
        n_tokens = found["tokenwire_tokens_total", volume]
        assert n_tokens >= n_before
        assert n_tokens == found["tokenwire_input_bytes_total", volume]
        assert n_tokens == found["tokenwire_request_tokens_count", (("operation", "count"),)]
        assert n_tokens == found["tokenwire_language_decisions_total", (("source", "declared"),)]
        n_before = n_tokens
    assert n_before == n_threads * n_calls


def test_large_sums_stay_exact() -> None:
    """Beyond 2**53, where adding one to a float is lost."""
    meter = Meter(["a"])
    for n_tokens in (2**53, 1):
        answered = call()
        answered.usage.append(used("en", "declared", n_tokens, 1, 1))
        answer(meter, answered)
    assert (
        f'tokenwire_tenant_tokens_total{{operation="count",tenant="none",tokenizer="a"}} {2**53 + 1}\n'
        in (meter.exposition().decode())
    )


def test_proven_tokenizers_are_published_with_their_digests() -> None:
    """`artifact_info` names each tokenizer that is served, with digest and format, and no former one."""
    meter = Meter(["a", "b"])
    before, after = (("a", "d" * 64, "tiktoken"), ("b", "e" * 64, "hf_json")), (("a", "f" * 64, "tiktoken"),)
    for served in (before[:1], before, after):
        meter.serving(served)
        found = {
            labels: value
            for (name, labels), value in samples(meter).items()
            if name == "tokenwire_artifact_info"
        }
        expected = [
            (("digest", digest), ("format", kind), ("tokenizer", name)) for name, digest, kind in served
        ]
        assert found == dict.fromkeys(expected, 1.0)
