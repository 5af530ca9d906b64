"""The meter: closed label sets that exist at zero, and sums that add up."""

from __future__ import annotations

import time

from prometheus_client.parser import text_string_to_metric_families
from tokenwire_server import language
from tokenwire_server.call import Call, InputUsage
from tokenwire_server.errors import CODES
from tokenwire_server.meter import Meter
from tokenwire_server.metric_table import OPERATIONS, TEXT_OPERATIONS


def samples(meter: Meter) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Every sample of the exposition by name and labels."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(meter.exposition().decode())
        for sample in family.samples
    }


def test_every_series_exists_at_zero() -> None:
    """Before the first call each metric has all its label values, at zero."""
    found = samples(Meter(["a", "b"]))
    build_info = [found.pop(sample) for sample in list(found) if sample[0] == "tokenwire_build_info"]
    assert build_info == [1]
    assert set(found.values()) == {0.0}
    per_name: dict[str, int] = {}
    for name, _ in found:
        per_name[name] = per_name.get(name, 0) + 1
    n_volumes = 2 * len(TEXT_OPERATIONS) * len(language.LANGUAGES)
    for name in ("tokens", "input_bytes", "input_characters"):
        assert per_name[f"tokenwire_{name}_total"] == n_volumes
    assert per_name["tokenwire_errors_total"] == len(CODES)
    assert per_name["tokenwire_language_decisions_total"] == len(language.SOURCES)
    assert per_name["tokenwire_request_duration_seconds_count"] == len(OPERATIONS)
    assert per_name["tokenwire_request_tokens_count"] == len(TEXT_OPERATIONS)
    assert {"tokenwire_requests_in_flight", "tokenwire_queue_bytes"} <= set(per_name)


def test_an_answered_call_adds_what_each_input_took() -> None:
    """Good inputs add tokens, bytes and characters under their label; bad ones add one error each."""
    meter = Meter(["a"])
    call = Call("count", time.monotonic(), tokenizer="a")
    call.usage += [InputUsage("ja", "script", 5, 15, 5), InputUsage("ja", "declared", 2, 6, 2)]
    call.input_faults += ["INVALID_UTF8"]
    meter.answered(call)
    found = {key: value for key, value in samples(meter).items() if value}
    labels = (("language", "ja"), ("operation", "count"), ("tokenizer", "a"))
    assert found["tokenwire_tokens_total", labels] == 7
    assert found["tokenwire_input_bytes_total", labels] == 21
    assert found["tokenwire_input_characters_total", labels] == 7
    assert found["tokenwire_errors_total", (("reason", "INVALID_UTF8"),)] == 1
    assert found["tokenwire_language_decisions_total", (("source", "script"),)] == 1
    assert found["tokenwire_request_tokens_sum", (("operation", "count"),)] == 7


def test_a_proven_tokenizer_is_published_with_its_digest() -> None:
    """`artifact_info` names each tokenizer that is served, with digest and format."""
    meter = Meter(["a"])
    meter.serving([("a", "d" * 64, "tiktoken")])
    labels = (("digest", "d" * 64), ("format", "tiktoken"), ("tokenizer", "a"))
    assert samples(meter)["tokenwire_artifact_info", labels] == 1
