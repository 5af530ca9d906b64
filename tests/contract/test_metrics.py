"""The metrics port after real requests, and the pages for orchestrators."""

from __future__ import annotations

import gzip
import http.client
import socket

import pytest
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.contract.process import PATIENCE_S, Service, serving

Labels = tuple[tuple[str, str], ...]


def volume(operation: str, language: str, tokenizer: str = "cl100k_base") -> Labels:
    return (("language", language), ("operation", operation), ("tokenizer", tokenizer))


@pytest.mark.case("BR-217")
def test_tokens_grow_by_the_tokens_of_the_call_and_failures_add_none() -> None:
    """Two texts of three tokens each and one bad id: six tokens encoded, one error, nothing else."""
    with serving("--embedded", "cl100k_base") as service:
        before = service.metrics()
        for text in ("one two three", "👍"):
            service.call(
                "Encode", pb.EncodeRequest(tokenizer="gpt-4", inputs=[pb.Input(text=text)]), pb.EncodeResponse
            )
        service.call(
            "Decode",
            pb.DecodeRequest(tokenizer="gpt-4", inputs=[pb.TokenIds(ids=[100256])]),
            pb.DecodeResponse,
        )
        after = service.metrics()
    grown = {key: after[key] - value for key, value in before.items() if after[key] != value}
    tokens = {labels: n for (name, labels), n in grown.items() if name == "tokenwire_tokens_total"}
    failures = {labels: n for (name, labels), n in grown.items() if name == "tokenwire_errors_total"}
    assert tokens == {volume("encode", "und"): 6}
    assert failures == {(("reason", "ID_OUT_OF_RANGE"),): 1}


def test_a_mixed_request_is_counted_by_language(service: Service) -> None:
    """Declared tags, scripts and neither: tokens, bytes and characters go to their own labels."""
    inputs = [
        pb.Input(text="Guten Morgen", language="de-AT"),
        pb.Input(text="こんにちは世界"),
        pb.Input(text="안녕하세요"),
        pb.Input(text="good morning"),
        pb.Input(text="bonjour", language="tlh"),
        pb.Input(utf8=b"\xff", language="de"),
    ]
    before = service.metrics()
    request = pb.CountRequest(tokenizer="cl100k_base", inputs=inputs)
    counts = service.call("Count", request, pb.CountResponse).results
    after = service.metrics()

    def grown(name: str, labels: Labels) -> float:
        return after[name, labels] - before[name, labels]

    assert grown("tokenwire_tokens_total", volume("count", "de")) == counts[0].count.n_tokens
    assert grown("tokenwire_tokens_total", volume("count", "ja")) == counts[1].count.n_tokens
    assert grown("tokenwire_tokens_total", volume("count", "ko")) == counts[2].count.n_tokens
    undetermined = counts[3].count.n_tokens + counts[4].count.n_tokens
    assert grown("tokenwire_tokens_total", volume("count", "und")) == undetermined
    assert grown("tokenwire_input_bytes_total", volume("count", "ja")) == 21
    assert grown("tokenwire_input_characters_total", volume("count", "ja")) == 7
    sources = {
        s: grown("tokenwire_language_decisions_total", (("source", s),))
        for s in ("declared", "script", "none")
    }
    assert sources == {"declared": 1, "script": 2, "none": 2}
    assert grown("tokenwire_errors_total", (("reason", "INVALID_UTF8"),)) == 1
    total = sum(result.count.n_tokens for result in counts)
    assert grown("tokenwire_request_tokens_sum", (("operation", "count"),)) == total


def test_a_stranger_makes_no_new_series(service: Service) -> None:
    """Names and tags that nobody configured add no series."""
    before = service.metrics().keys()
    for number in range(5):
        request = pb.CountRequest(
            tokenizer="cl100k_base", inputs=[pb.Input(text="x", language=f"x{number}"), pb.Input()]
        )
        service.call("Count", request, pb.CountResponse)
        with pytest.raises(Exception, match="UNKNOWN_TOKENIZER"):
            service.call("Count", pb.CountRequest(tokenizer=f"x{number}"), pb.CountResponse)
    assert service.metrics().keys() == before


def test_the_artifact_is_published_with_its_digest(service: Service) -> None:
    """`artifact_info` carries the digest of the ready line."""
    (tokenizer,) = service.ready["tokenizers"]
    labels = (("digest", tokenizer["digest"]), ("format", "tiktoken"), ("tokenizer", "cl100k_base"))
    assert service.metrics()["tokenwire_artifact_info", labels] == 1


def test_the_version_is_published(service: Service) -> None:
    """`build_info` is one series, 1, with a version."""
    found = {labels: n for (name, labels), n in service.metrics().items() if name == "tokenwire_build_info"}
    (((label, version),),) = found
    assert (label, list(found.values())) == ("version", [1])
    assert version


def test_readiness_names_the_condition_that_is_false(service: Service, small: Service) -> None:
    """All conditions true is 200; with a tokenizer that could not be proven it is 503 and says why."""
    assert service.page("/readyz") == (200, "listening: yes\ntokenizers: yes\nnot_draining: yes\n")
    assert small.page("/readyz") == (
        503,
        "listening: yes\ntokenizers: no\nnot_draining: yes\ntokenizer bad: FAILED SHA256_MISMATCH\n",
    )
    for running in (service, small):
        assert running.page("/healthz") == (200, "ok\n")
    assert service.page("/other")[0] == 404


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz", "/other"])
def test_head_is_get_without_the_body(service: Service, path: str) -> None:
    """Probes that ask with HEAD get the status and headers of the page."""
    got = service.ask_page("GET", path)
    asked = service.ask_page("HEAD", path)
    assert (asked.status, asked.headers["Content-Type"]) == (got.status, got.headers["Content-Type"])
    assert int(asked.headers["Content-Length"]) > 0
    assert asked.body == b""


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"),
        ("deflate, GZIP;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.00", None),
        ("identity", None),
        ("", None),
    ],
)
def test_metrics_are_compressed_for_who_takes_it(
    service: Service, accepted: str, encoding: str | None
) -> None:
    """Whoever takes gzip gets the same page in a twentieth of the bytes; short pages stay as they are."""
    answer = service.ask_page("GET", "/metrics", {"Accept-Encoding": accepted})
    assert answer.headers["Content-Encoding"] == encoding
    assert answer.headers["Vary"] == "Accept-Encoding"
    text = answer.body if encoding is None else gzip.decompress(answer.body)
    assert text.startswith(b"# HELP tokenwire_tokens_total ")
    if encoding is not None:
        assert len(answer.body) * 10 < len(text)
    short = service.ask_page("GET", "/healthz", {"Accept-Encoding": accepted})
    assert (short.headers["Content-Encoding"], short.body) == (None, b"ok\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "BREW"])
def test_other_methods_are_told_what_is_allowed(service: Service, method: str) -> None:
    """Whatever else is asked of a page gets 405 in plain text, with the methods that do."""
    answer = service.ask_page(method, "/metrics")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert (answer.headers["Content-Type"], answer.body) == ("text/plain; charset=utf-8", b"only GET, HEAD\n")


def test_the_http_port_takes_only_so_many_connections() -> None:
    """Connections that send nothing use up the places of the page server; the rest are closed, and gRPC goes on."""
    with serving("--embedded", "cl100k_base", "--limit", "http_connections=2") as service:
        host, _, port = service.addresses["http"].rpartition(":")
        idle = [socket.create_connection((host, int(port)), timeout=PATIENCE_S) for _ in range(3)]
        assert idle[2].recv(1) == b""
        request = pb.CountRequest(tokenizer="gpt-4", inputs=[pb.Input(text="x")])
        assert service.call("Count", request, pb.CountResponse).results[0].count.n_tokens == 1
        for connection in idle:
            connection.close()
        while True:  # until the closed connections have been noticed
            try:
                assert service.page("/healthz")[0] == 200
                break
            except (OSError, http.client.HTTPException):
                continue


def test_no_text_reaches_the_log(service: Service) -> None:
    """Whatever is sent, good or bad, the log has nothing of it."""
    text = "zebra-crossing-42"
    for item in (
        pb.Input(text=text),
        pb.Input(utf8=text.encode() + b"\xff"),
        pb.Input(text=text, language=text),
    ):
        request = pb.EncodeRequest(tokenizer="cl100k_base", inputs=[item])
        service.call("Encode", request, pb.EncodeResponse)
    with pytest.raises(Exception, match="UNKNOWN_TOKENIZER"):
        service.call("Encode", pb.EncodeRequest(tokenizer=text), pb.EncodeResponse)
    assert text not in "".join(service.stderr)
