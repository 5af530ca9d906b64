"""GetArtifact: the pinned bytes or none at all, from any offset, and a bounded place for every reader."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import tokenwire_core
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.contract import raw_http2
from tests.contract.process import PATIENCE_S, SERVICE, Refused, Service, serving
from tests.server import made_up

KIB = 1024
LARGE = made_up.rank_file() + b"\n" * 700_000
"""A rank file that no flow-control window holds: empty lines are part of the file and make no token."""
COUNT = pb.CountRequest(tokenizer="large", inputs=[pb.Input(text="abc")])


def request(tokenizer: str = "large", **fields: object) -> pb.GetArtifactRequest:
    return pb.GetArtifactRequest(tokenizer=tokenizer, **fields)  # type: ignore[arg-type]  # a field for each


def get(service: Service, tokenizer: str = "large", **fields: object) -> tuple[pb.ArtifactHeader, bytes]:
    """Header and bytes of a stream, which has exactly one header and has it first."""
    head, *rest = service.stream("GetArtifact", request(tokenizer, **fields), pb.GetArtifactResponse)
    assert head.WhichOneof("part") == "header"
    assert {message.WhichOneof("part") for message in rest} <= {"data"}
    assert all(message.data for message in rest)
    return head.header, b"".join(message.data for message in rest)


def refused(service: Service, tokenizer: str = "large", **fields: object) -> Refused:
    """The refusal of a call, before which nothing came."""
    messages = service.stream("GetArtifact", request(tokenizer, **fields), pb.GetArtifactResponse)
    with pytest.raises(Refused) as caught:
        next(messages)
    return caught.value


def held(service: Service) -> float:
    """The bytes that requests and artifacts hold."""
    return service.metrics()["tokenwire_queue_bytes", ()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the rank file `large.tiktoken` and the configuration that serves it."""
    made_up.manifest(tmp_path, made_up.table(tmp_path, "large", data=LARGE, extra='aliases = ["big"]'))
    return tmp_path


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[..., Service]]:
    """Starts a service on the folder, with settings of limits."""
    services: list[Service] = []

    def start(*limits: str) -> Service:
        flags = [part for limit in limits for part in ("--limit", limit)]
        services.append(Service("--config", str(folder / "tokenwire.toml"), *flags))
        return services[-1]

    yield start
    for service in services:
        service.close()


@pytest.fixture
def stalled() -> Iterator[Callable[[Service], raw_http2.Connection]]:
    """Opens a stream of `large`, reads what one window holds, and then nothing."""
    connections: list[raw_http2.Connection] = []

    def start(service: Service) -> raw_http2.Connection:
        connection = raw_http2.Connection(service.addresses["tcp"])
        connections.append(connection)
        connection.call(f"{SERVICE}GetArtifact", request().SerializeToString())
        assert len(connection.read(raw_http2.WINDOW_BYTES)) == raw_http2.WINDOW_BYTES
        return connection

    yield start
    for connection in connections:
        connection.__exit__(None, None, None)


def test_the_bytes_of_an_embedded_tokenizer_equal_their_pin(service: Service) -> None:
    """A compressed artifact comes uncompressed, in messages of 64 KiB to 1 MiB, and makes the same tokenizer."""
    messages = service.stream("GetArtifact", request("gpt-4"), pb.GetArtifactResponse)
    header = next(messages).header
    parts = [message.data for message in messages]
    data = b"".join(parts)
    info = service.call(
        "GetTokenizer", pb.GetTokenizerRequest(tokenizer="gpt-4"), pb.GetTokenizerResponse
    ).tokenizer
    assert hashlib.sha256(data).hexdigest() == header.sha256 == info.sha256
    assert len(data) == header.n_bytes
    assert all(64 * KIB <= len(part) <= 1024 * KIB for part in parts[:-1])
    encoder = tokenwire_core.load(
        data,
        pattern=header.pattern,
        special_tokens={special.token: special.id for special in header.special_tokens},
    )
    assert encoder.digest == header.digest == info.digest


def test_the_bytes_of_a_manifest_tokenizer_are_the_file(serve: Callable[..., Service]) -> None:
    """The file as it is, under its name, its alias, and with the digest that was expected."""
    service = serve()
    header, data = get(service)
    assert data == LARGE
    assert (header.format, header.n_bytes, header.pattern) == ("tiktoken", len(LARGE), made_up.GPT2_PATTERN)
    assert [(special.token, special.id) for special in header.special_tokens] == [
        *made_up.SPECIAL_TOKENS.items()
    ]
    assert get(service, "big", expect_digest=header.digest) == (header, data)


def test_control_tokens_of_the_manifest_are_in_the_header(tmp_path: Path) -> None:
    """What the manifest adds to the control tokens is told, and told only there."""
    table = made_up.table(tmp_path, extra='control_tokens = ["<|pad|>"]')
    with serving("--config", str(made_up.manifest(tmp_path, table))) as service:
        assert list(get(service, "tiny")[0].control_tokens) == ["<|pad|>"]


@pytest.mark.parametrize("offset", [0, 1, 256 * KIB - 1, 256 * KIB, len(LARGE) - 1, len(LARGE)])
def test_an_offset_leaves_out_what_came_before(serve: Callable[..., Service], offset: int) -> None:
    """From every place, the end included, come the header of the whole and the rest of the bytes."""
    header, data = get(serve(), offset=offset)
    assert header.n_bytes == len(LARGE)
    assert data == LARGE[offset:]


def test_an_offset_beyond_the_end_is_refused(serve: Callable[..., Service]) -> None:
    """One byte beyond, and as far as the field goes."""
    service = serve()
    for offset in (len(LARGE) + 1, 2**64 - 1):
        fault = refused(service, offset=offset)
        assert (fault.reason, fault.code) == ("INVALID_REQUEST", grpc.StatusCode.INVALID_ARGUMENT)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(LARGE[:-1] + b" "),
        lambda file: file.write_bytes(b"x" + LARGE[1:]),
        lambda file: file.write_bytes(LARGE[:-1]),
        lambda file: file.write_bytes(LARGE + b"\n"),
        lambda file: file.write_bytes(b""),
        lambda file: file.unlink(),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: (file.unlink(), file.symlink_to("/etc/hostname")),
    ],
    ids=[
        "last byte",
        "first byte",
        "shorter",
        "longer",
        "empty",
        "gone",
        "a folder",
        "a link out of the folder",
    ],
)
def test_a_file_that_changed_is_not_sent(
    serve: Callable[..., Service], folder: Path, spoil: Callable[[Path], object]
) -> None:
    """Whatever became of the file since the start: not one byte is sent, the tokenizer answers on, the log says why."""
    service = serve()
    spoil(folder / "large.tiktoken")
    for offset in (0, len(LARGE) - 1):
        fault = refused(service, offset=offset)
        assert (fault.reason, fault.code) == ("ARTIFACT_UNAVAILABLE", grpc.StatusCode.FAILED_PRECONDITION)
        assert fault.metadata == {"tokenizer": "large"}
    assert service.wait_for_event("artifact_unavailable")["tokenizer"] == "large"
    assert service.call("Count", COUNT, pb.CountResponse).results[0].count.n_tokens == 1
    assert service.wait_until_idle()["tokenwire_queue_bytes", ()] == 0


def test_a_file_that_is_restored_is_sent_again(serve: Callable[..., Service], folder: Path) -> None:
    """Nothing is remembered of a failure, or of the bytes: they are read at each call."""
    service = serve()
    file = folder / "large.tiktoken"
    file.unlink()
    assert refused(service).reason == "ARTIFACT_UNAVAILABLE"
    file.write_bytes(LARGE)
    assert get(service)[1] == LARGE


def test_requests_are_refused_like_any_other(small: Service) -> None:
    """A digest that differs, names unknown or not proven, no name, and what is no request."""
    fault = refused(small, "tiny", expect_digest="0" * 64)
    assert fault.reason == "DIGEST_MISMATCH"
    assert fault.metadata == {"digest": get(small, "tiny")[0].digest}
    assert refused(small, "nothing").reason == "UNKNOWN_TOKENIZER"
    assert refused(small, "bad").reason == "TOKENIZER_NOT_READY"
    assert refused(small, "").reason == "INVALID_REQUEST"
    with pytest.raises(Refused) as caught:
        next(small.stream("GetArtifact", b"\xff", pb.GetArtifactResponse))
    assert caught.value.reason == "INVALID_REQUEST"


def test_a_stream_is_metered_and_counts_no_tokens(serve: Callable[..., Service]) -> None:
    """Its duration is recorded under its operation, and no token, byte or character is."""
    service = serve()
    before = service.metrics()
    get(service)
    after = service.wait_until_idle()
    count = ("tokenwire_request_duration_seconds_count", (("operation", "get_artifact"),))
    assert after[count] == before[count] + 1
    volumes = [key for key in before if key[0].startswith(("tokenwire_tokens", "tokenwire_input"))]
    assert volumes
    assert [key for key in volumes if after[key] != before[key]] == []
    assert after.keys() == before.keys()


def test_a_reader_that_goes_away_leaves_nothing_behind(serve: Callable[..., Service]) -> None:
    """A stream that is cancelled after its first message gives back its place and its bytes."""
    service = serve()
    messages = service.stream("GetArtifact", request(), pb.GetArtifactResponse)
    next(messages)
    messages.close()
    assert service.wait_until_idle()["tokenwire_queue_bytes", ()] == 0
    assert get(service)[1] == LARGE


def test_a_reader_that_stops_holds_its_bytes_until_it_goes(
    serve: Callable[..., Service], stalled: Callable[[Service], raw_http2.Connection]
) -> None:
    """The bytes of a stalled stream count against the queue; they are free once its connection is closed."""
    service = serve()
    connection = stalled(service)
    assert held(service) == len(LARGE) + request().ByteSize()
    connection.__exit__(None, None, None)
    assert service.wait_until_idle()["tokenwire_queue_bytes", ()] == 0


def test_a_reader_that_stops_loses_its_place(
    serve: Callable[..., Service], stalled: Callable[[Service], raw_http2.Connection]
) -> None:
    """After `artifact_stream_s` nothing is held for it, and its connection counts as idle and is closed."""
    service = serve("artifact_stream_s=1", "connection_idle_s=0.2")
    connection = stalled(service)
    metrics = service.wait_until_idle()
    assert metrics["tokenwire_errors_total", (("reason", "OVERLOADED"),)] == 1
    assert metrics["tokenwire_shed_total", (("cause", "artifact_stream_s"),)] == 1
    assert metrics["tokenwire_queue_bytes", ()] == 0
    assert connection.read_to_end() == b""


def test_a_reader_that_was_too_slow_is_told(serve: Callable[..., Service]) -> None:
    """One that reads on gets what was under way, and then that it has to come back."""
    service = serve("artifact_stream_s=1")
    a_window = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", raw_http2.WINDOW_BYTES)]
    with grpc.insecure_channel(service.addresses["tcp"], options=a_window) as channel:
        call: Any = channel.unary_stream(f"{SERVICE}GetArtifact", None, None)(request().SerializeToString())
        next(call)
        service.wait_until_idle()
        parts: list[bytes] = []
        with pytest.raises(grpc.RpcError) as caught:
            parts += (pb.GetArtifactResponse.FromString(message).data for message in call)
        fault = Refused(caught.value)
    assert (fault.reason, fault.code) == ("OVERLOADED", grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert fault.retry_s > 0
    assert 0 < len(b"".join(parts)) < len(LARGE)
    assert LARGE.startswith(b"".join(parts))


def test_streams_are_bounded_in_number(
    serve: Callable[..., Service], stalled: Callable[[Service], raw_http2.Connection]
) -> None:
    """Beside as many as the limit a further stream is told to come back, and every other call passes."""
    service = serve("artifact_streams=2")
    connections = [stalled(service) for _ in range(2)]
    fault = refused(service)
    assert (fault.reason, fault.code) == ("OVERLOADED", grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert fault.retry_s > 0
    assert service.call("Count", COUNT, pb.CountResponse).results[0].count.n_tokens == 1
    connections[0].__exit__(None, None, None)
    while service.metrics()["tokenwire_requests_in_flight", ()] > 1:
        pass
    assert get(service)[1] == LARGE


def test_streams_are_bounded_in_bytes(
    serve: Callable[..., Service], stalled: Callable[[Service], raw_http2.Connection]
) -> None:
    """Artifacts share the bound on queued bytes with requests: two do not fit where one and a half do."""
    service = serve("message_bytes=300000", f"queue_bytes={len(LARGE) * 3 // 2}")
    connection = stalled(service)
    assert refused(service).reason == "OVERLOADED"
    connection.__exit__(None, None, None)
    assert service.wait_until_idle()["tokenwire_queue_bytes", ()] == 0
    assert get(service)[1] == LARGE


def test_an_artifact_over_the_whole_queue_is_refused_for_good(serve: Callable[..., Service]) -> None:
    """At the bound it is sent; over it the refusal names the limit and asks for no repetition."""
    n_bytes = len(LARGE) + request().ByteSize()
    assert get(serve("message_bytes=300000", f"queue_bytes={n_bytes}"))[1] == LARGE
    fault = refused(serve("message_bytes=300000", f"queue_bytes={len(LARGE) - 1}"))
    assert (fault.reason, fault.retry_s) == ("MESSAGE_TOO_LARGE", 0)
    assert fault.metadata == {"limit": str(len(LARGE) - 1), "got": str(len(LARGE))}


def test_small_messages_are_kept_small(serve: Callable[..., Service]) -> None:
    """Under a low message limit the parts are smaller, and still make the whole."""
    assert get(serve("message_bytes=5000"))[1] == LARGE


def test_a_drain_waits_for_a_stream(
    serve: Callable[..., Service], stalled: Callable[[Service], raw_http2.Connection]
) -> None:
    """After SIGTERM a new stream is refused, and one under way brings the rest to a reader that reads on."""
    service = serve()
    connection = stalled(service)
    service.process.send_signal(signal.SIGTERM)
    service.wait_for_event("draining")
    assert refused(service).reason == "SHUTTING_DOWN"
    connection.allow(2 * len(LARGE))
    assert len(connection.read_to_end()) > len(LARGE) - raw_http2.WINDOW_BYTES
    assert service.process.wait(PATIENCE_S) == 0


def test_a_drain_cuts_a_stalled_stream_off(
    serve: Callable[..., Service], stalled: Callable[[Service], raw_http2.Connection]
) -> None:
    """A reader that never reads on keeps the process alive no longer than `drain_s`."""
    service = serve("drain_s=0.2")
    stalled(service)
    assert service.stop() == 0
    assert service.wait_for_event("drain_cut_off")
