"""Health and reflection as their standard clients see them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.contract.process import PATIENCE_S, Refused, Service, serving, unpack
from tests.server import made_up

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
NAME = "tokenwire.v1.TokenizerService"


def check(service: Service, name: str) -> int:
    stub = health_pb2_grpc.HealthStub(service.channel)
    response = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=PATIENCE_S)
    return int(response.status)


def test_everything_proven_is_serving(service: Service) -> None:
    """The whole, the service by name, and the tokenizer are SERVING; an unknown name is NOT_FOUND."""
    for name in ("", NAME, "tokenizer/cl100k_base"):
        assert check(service, name) == SERVING
    with pytest.raises(grpc.RpcError) as caught:
        check(service, "tokenizer/other")
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


def test_one_failed_tokenizer_makes_the_whole_not_serving(small: Service) -> None:
    """With one tokenizer unproven the whole is NOT_SERVING, while each of the others is SERVING."""
    assert [check(small, name) for name in ("", NAME)] == [NOT_SERVING, NOT_SERVING]
    states = {name: check(small, f"tokenizer/{name}") for name in ("tiny", "own", "bad")}
    assert states == {"tiny": SERVING, "own": SERVING, "bad": NOT_SERVING}


@pytest.mark.case("BR-275")
def test_a_failed_load_is_reported_on_every_call_and_done_once(tmp_path: Path) -> None:
    """A hundred calls for a tokenizer whose file is missing: each is told so, and the file is looked for once."""
    good = made_up.table(tmp_path)
    missing = made_up.table(tmp_path, "missing")
    (tmp_path / "missing.tiktoken").unlink()
    with serving("--config", str(made_up.manifest(tmp_path, good, missing))) as service:
        (tmp_path / "missing.tiktoken").write_bytes(made_up.rank_file())
        for _ in range(100):
            with pytest.raises(Refused) as caught:
                service.call("Count", pb.CountRequest(tokenizer="missing"), pb.CountResponse)
            assert caught.value.reason == "TOKENIZER_NOT_READY"
        assert check(service, "tokenizer/tiny") == SERVING
        assert sum("tokenizer_failed" in line for line in service.stderr) == 1


@pytest.mark.case("BR-274")
def test_health_answers_while_large_texts_are_encoded(service: Service) -> None:
    """With 4 MiB texts under way all the time, each health check is answered at once, before they are done."""
    text = "The quick brown fox jumps over the lazy dog. 東京 " * (4 * 2**20 // 52)
    request = pb.EncodeRequest(tokenizer="gpt-4", inputs=[pb.Input(text=text)])
    calls = [service.start_call("Encode", request) for _ in range(8)]
    n_while_working = 0
    while not all(call.done() for call in calls):
        assert check(service, "") == SERVING
        n_while_working += 1
    assert n_while_working
    for call in calls:
        assert pb.EncodeResponse.FromString(call.result()).results[0].encoding.ids


def test_slow_patterns_keep_nobody_waiting(tmp_path: Path) -> None:
    """While short texts keep a pattern busy until it gives up, another tokenizer and health answer before them."""
    slow = made_up.table(tmp_path, "slow", pattern=made_up.SLOW_PATTERN)
    path = made_up.manifest(tmp_path, made_up.table(tmp_path), slow)
    request = pb.EncodeRequest(tokenizer="slow", inputs=[pb.Input(text="a" * 5000)])
    with serving("--config", str(path), "--limit", "encoder_threads=1") as service:
        calls = [service.start_call("Encode", request) for _ in range(3)]
        service.wait_until_admitted("encode", len(calls))
        quick = pb.CountRequest(tokenizer="tiny", inputs=[pb.Input(text="abc")])
        assert service.call("Count", quick, pb.CountResponse).results[0].count.n_tokens == 1
        assert check(service, "") == SERVING
        assert not calls[-1].done()
        for call in calls:
            (result,) = pb.EncodeResponse.FromString(call.result()).results
            assert unpack(result.error)[0] == "PATTERN_TOO_SLOW"


def reflect(
    service: Service, request: reflection_pb2.ServerReflectionRequest
) -> reflection_pb2.ServerReflectionResponse:
    def requests() -> Iterator[reflection_pb2.ServerReflectionRequest]:
        yield request

    stub = reflection_pb2_grpc.ServerReflectionStub(service.channel)
    (response,) = stub.ServerReflectionInfo(requests(), timeout=PATIENCE_S)
    assert isinstance(response, reflection_pb2.ServerReflectionResponse)
    return response


def test_reflection_lists_the_service_and_describes_it(service: Service) -> None:
    """A reflection client finds the service and gets the descriptor of its methods."""
    listed = reflect(service, reflection_pb2.ServerReflectionRequest(list_services=""))
    names = {item.name for item in listed.list_services_response.service}
    assert {NAME, "grpc.health.v1.Health"} <= names
    found = reflect(service, reflection_pb2.ServerReflectionRequest(file_containing_symbol=NAME))
    files = [
        descriptor_pb2.FileDescriptorProto.FromString(data)
        for data in found.file_descriptor_response.file_descriptor_proto
    ]
    (file,) = [file for file in files if file.name == "tokenwire/v1/tokenizer.proto"]
    assert [method.name for method in file.service[0].method] == [
        "Encode",
        "Decode",
        "Count",
        "Truncate",
        "ListTokenizers",
        "GetTokenizer",
        "GetArtifact",
    ]
