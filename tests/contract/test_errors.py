"""Each documented error arrives with its status and reason, harms no neighbour, and leaves the service well."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_server import errors

from tests.contract.process import Refused, Service, unpack

GOOD = pb.Input(text="abc")
ALLOW, REJECT = pb.SPECIAL_POLICY_ALLOW, pb.SPECIAL_POLICY_REJECT


def string_field(number: int, data: bytes) -> bytes:
    """A length-delimited field on the wire."""
    size, low = len(data), b""
    while size > 127:
        low += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + low + bytes([size]) + data


def encode(**fields: object) -> pb.EncodeRequest:
    return pb.EncodeRequest(**{"tokenizer": "tiny", "inputs": [GOOD], **fields})  # type: ignore[arg-type]


def check_status(code: int, reason: str) -> None:
    """The code is the one the table has for the reason."""
    assert errors.CODES[reason] == code


INPUT_FAULTS: list[tuple[str, pb.Input, dict[str, str]]] = [
    ("INVALID_REQUEST", pb.Input(), {}),
    ("INVALID_REQUEST", pb.Input(utf8=b"a", invalid_utf8=9), {}),  # type: ignore[arg-type]  # no such policy
    ("INVALID_REQUEST", pb.Input(text="a", invalid_utf8=pb.INVALID_UTF8_POLICY_REPLACE), {}),
    ("INVALID_REQUEST", pb.Input(text="a", pair_text="b"), {}),  # rank files have no template for pairs
    ("INVALID_REQUEST", pb.Input(text="a", pair_utf8=b"b"), {}),
    ("INVALID_REQUEST", pb.Input(utf8=b"a", pair_text="b"), {}),
    ("INVALID_REQUEST", pb.Input(pair_text="b"), {}),
    ("INVALID_UTF8", pb.Input(utf8=b"ab\xff"), {"byte_position": "2"}),
    ("TEXT_TOO_LONG", pb.Input(text="a" * 1001), {"limit": "1000", "got": "1001"}),
    ("TEXT_TOO_LONG", pb.Input(utf8=b"a" * 5000), {"limit": "1000", "got": "5000"}),
    (
        "TEXT_TOO_LONG",
        pb.Input(utf8=b"\xff" * 400, invalid_utf8=pb.INVALID_UTF8_POLICY_REPLACE),
        {"limit": "1000", "got": "1200"},
    ),
    ("CONTROL_TOKEN", pb.Input(text="é<|end|>"), {"token": "<|end|>", "byte_start": "2", "byte_end": "9"}),
]


@pytest.mark.parametrize(("reason", "bad", "metadata"), INPUT_FAULTS)
@pytest.mark.parametrize("method", ["Encode", "Count", "Truncate"])
def test_a_fault_in_one_input_leaves_its_neighbours_intact(
    small: Service, method: str, reason: str, bad: pb.Input, metadata: dict[str, str]
) -> None:
    """The RPC is OK, the bad input has its error, the inputs beside it their values."""
    kinds: dict[str, tuple[Any, Any]] = {
        "Encode": (pb.EncodeRequest, pb.EncodeResponse),
        "Count": (pb.CountRequest, pb.CountResponse),
        "Truncate": (pb.TruncateRequest, pb.TruncateResponse),
    }
    request_class, response_class = kinds[method]
    request = request_class(
        tokenizer="tiny", inputs=[GOOD, bad, GOOD], options=pb.EncodeOptions(special=REJECT)
    )
    if isinstance(request, pb.TruncateRequest):
        request.max_tokens = 10
    results = small.call(method, request, response_class).results
    assert [result.HasField("error") for result in results] == [False, True, False]
    found_reason, found, _ = unpack(results[1].error)
    assert found_reason == reason
    assert {name: found[name] for name in metadata} == metadata
    check_status(results[1].error.code, reason)


@pytest.mark.case("BR-190", "BR-191", "BR-192", "BR-193")
@pytest.mark.parametrize("data", [b"\xe4\xb8", b"\xed\xa0\x80", b"\xc0\xaf", b"abc\xff", b"\xf5\x80\x80\x80"])
@pytest.mark.parametrize("field", [1, 2])
def test_bytes_that_are_no_utf8_are_an_error_of_that_input(service: Service, data: bytes, field: int) -> None:
    """A cut character, a surrogate, an over-long form, in `text` as in `utf8`: INVALID_UTF8 there, and no more."""
    bad, good = string_field(field, data), string_field(1, b"Hello")
    request = string_field(1, b"cl100k_base") + b"".join(string_field(3, item) for item in (good, bad, good))
    results = service.call("Encode", request, pb.EncodeResponse).results
    assert unpack(results[1].error)[0] == "INVALID_UTF8"
    assert [list(results[index].encoding.ids) for index in (0, 2)] == [[9906], [9906]]
    counted = service.call("Count", request, pb.CountResponse).results
    assert [result.WhichOneof("outcome") for result in counted] == ["count", "error", "count"]


def test_ill_formed_parts_are_replaced_where_that_is_asked_for(service: Service) -> None:
    """With REPLACE the ids are those of the repaired text, and offsets refer to the bytes as sent."""
    bad = pb.Input(utf8=b"a\xe4\xb8\xffb", invalid_utf8=pb.INVALID_UTF8_POLICY_REPLACE)
    repaired = pb.Input(text="a\ufffd\ufffdb")
    request = pb.EncodeRequest(tokenizer="cl100k_base", inputs=[bad, repaired], offsets=pb.OFFSET_UNIT_BYTE)
    first, second = service.call("Encode", request, pb.EncodeResponse).results
    assert list(first.encoding.ids) == list(second.encoding.ids)
    assert (first.encoding.ends[-1], second.encoding.ends[-1]) == (5, 8)


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        ([97, -1], "ID_OUT_OF_RANGE"),
        ([97, 302], "ID_OUT_OF_RANGE"),
        ([97, 2**32 + 97], "ID_OUT_OF_RANGE"),
        ([97, 270], "ID_OUT_OF_RANGE"),
        ([97] * 51, "TOO_MANY_IDS"),
        ([97] * 5000, "TOO_MANY_IDS"),
    ],
)
def test_bad_ids_are_an_error_of_that_input(small: Service, ids: list[int], reason: str) -> None:
    """Negative, past the end, wrapping round, in a hole, or too many: an error with its place or its bound."""
    good = pb.TokenIds(ids=[97] * 50)
    request = pb.DecodeRequest(tokenizer="tiny", inputs=[good, pb.TokenIds(ids=ids), good])
    results = small.call("Decode", request, pb.DecodeResponse).results
    assert [result.text for result in results] == ["a" * 50, "", "a" * 50]
    found_reason, metadata, _ = unpack(results[1].error)
    assert found_reason == reason
    expected = {"index": "1"} if reason == "ID_OUT_OF_RANGE" else {"limit": "50", "got": str(len(ids))}
    assert {name: metadata[name] for name in expected} == expected
    check_status(results[1].error.code, reason)


def test_a_budget_that_holds_nothing_says_what_would_do(service: Service) -> None:
    """Where one character needs more than the budget, the error says the least that would do."""
    request = pb.TruncateRequest(
        tokenizer="gpt-4", inputs=[pb.Input(text="🤚"), pb.Input(text="a")], max_tokens=1
    )
    results = service.call("Truncate", request, pb.TruncateResponse).results
    assert results[1].truncation.text == "a"
    if results[0].HasField("error"):
        reason, metadata, _ = unpack(results[0].error)
        assert reason == "BUDGET_TOO_SMALL"
        request.max_tokens = int(metadata["least"])
        assert service.call("Truncate", request, pb.TruncateResponse).results[0].truncation.text
    else:
        assert results[0].truncation.n_tokens <= 1


REQUEST_FAULTS: list[tuple[str, str, pb.EncodeRequest | pb.DecodeRequest | pb.TruncateRequest | bytes]] = [
    ("UNKNOWN_TOKENIZER", "Encode", encode(tokenizer="tinny")),
    ("TOKENIZER_NOT_LOADED", "Encode", encode(tokenizer="gpt-4o")),
    ("TOKENIZER_NOT_READY", "Encode", encode(tokenizer="bad")),
    ("DIGEST_MISMATCH", "Encode", encode(expect_digest="0" * 64)),
    ("INVALID_REQUEST", "Encode", encode(tokenizer="")),
    ("INVALID_REQUEST", "Encode", b"\xff\xff\xff"),
    ("INVALID_REQUEST", "Encode", string_field(1, b"\xff")),
    ("INVALID_REQUEST", "ListTokenizers", b"\x0a"),
    ("INVALID_REQUEST", "Encode", encode(offsets=9)),
    ("INVALID_REQUEST", "Encode", encode(reference_offsets=True)),
    ("INVALID_REQUEST", "Decode", pb.DecodeRequest(tokenizer="tiny", reference=True, as_bytes=True)),
    ("INVALID_REQUEST", "Encode", encode(options={"special": 9})),
    ("INVALID_REQUEST", "Encode", encode(options={"allowed_control_tokens": ["<|end|>"]})),
    (
        "UNKNOWN_CONTROL_TOKEN",
        "Encode",
        encode(options={"special": ALLOW, "allowed_control_tokens": ["the"]}),
    ),
    ("INVALID_REQUEST", "Truncate", pb.TruncateRequest(tokenizer="tiny", keep=9)),  # type: ignore[arg-type]
    ("INVALID_REQUEST", "Truncate", pb.TruncateRequest(tokenizer="tiny", cut=9)),  # type: ignore[arg-type]
    ("INVALID_REQUEST", "Truncate", pb.TruncateRequest(tokenizer="tiny", ids_only=True)),
    ("TOO_MANY_INPUTS", "Encode", encode(inputs=[GOOD] * 11)),
    ("TOO_MANY_INPUTS", "Encode", encode(inputs=[GOOD] * 1000)),
    ("MESSAGE_TOO_LARGE", "Encode", encode(inputs=[pb.Input(text="a" * 20_000)])),
    ("MESSAGE_TOO_LARGE", "Encode", encode(inputs=[pb.Input(text="a" * 500_000)])),
    (
        "MESSAGE_TOO_LARGE",
        "Encode",
        encode(inputs=[pb.Input(text="q" * 990)] * 9, offsets=1, token_bytes=True),
    ),
    ("NOT_SUPPORTED", "Chunk", b""),
]


@pytest.mark.parametrize(("reason", "method", "request_"), REQUEST_FAULTS)
def test_a_fault_of_the_request_is_the_rpcs_status(
    small: Service, reason: str, method: str, request_: pb.EncodeRequest | pb.TruncateRequest | bytes
) -> None:
    """The status has the table's code and the reason, and the next request works."""
    with pytest.raises(Refused) as caught:
        small.call(method, request_, pb.EncodeResponse)
    assert caught.value.reason == reason
    check_status(caught.value.code.value[0], reason)
    assert caught.value.message
    assert list(small.call("Encode", encode(), pb.EncodeResponse).results[0].encoding.ids) == [257]


def test_requests_at_the_limits_are_answered(small: Service) -> None:
    """As many inputs as allowed, and a text as long as allowed, are no error."""
    assert len(small.call("Encode", encode(inputs=[GOOD] * 10), pb.EncodeResponse).results) == 10
    for tokenizer, n_bytes in (("tiny", 1000), ("own", 100)):
        request = encode(tokenizer=tokenizer, inputs=[pb.Input(text="a" * n_bytes)])
        assert small.call("Encode", request, pb.EncodeResponse).results[0].HasField("encoding")
    request = encode(tokenizer="own", inputs=[pb.Input(text="a" * 101)])
    assert unpack(small.call("Encode", request, pb.EncodeResponse).results[0].error)[1]["limit"] == "100"


def test_a_message_at_the_limit_is_answered(small: Service) -> None:
    """A request of exactly the limit passes, one byte more does not."""
    request = encode().SerializeToString()
    padded = request + string_field(15, bytes(20_000 - len(request) - 4))  # as a newer client might send
    assert len(padded) == 20_000
    assert small.call("Encode", padded, pb.EncodeResponse).results
    with pytest.raises(Refused) as caught:
        small.call("Encode", padded + string_field(15, b""), pb.EncodeResponse)
    assert caught.value.metadata == {"limit": "20000", "got": "20002"}


def test_far_over_the_message_limit_the_transport_itself_refuses(small: Service) -> None:
    """Megabytes over the limit come back as RESOURCE_EXHAUSTED without being read, and the service goes on."""
    with pytest.raises(Refused) as caught:
        small.call("Encode", bytes(8 << 20), pb.EncodeResponse)
    assert caught.value.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert small.call("Encode", encode(), pb.EncodeResponse).results


@pytest.mark.case("BR-195")
def test_a_name_that_is_not_ascii_arrives_readable(service: Service) -> None:
    """The message quotes the name intact and short, in the plain status as in the details."""
    for name in ("modèle-東京", "東京" * 10_000, "a\nb\x00c"):
        with pytest.raises(Refused) as caught:
            service.call("Encode", pb.EncodeRequest(tokenizer=name), pb.EncodeResponse)
        assert caught.value.reason == "UNKNOWN_TOKENIZER"
        assert len(caught.value.message.encode()) <= errors.MAX_MESSAGE_BYTES
        assert caught.value.message.isprintable()
    with pytest.raises(Refused, match="modèle-東京"):
        service.call("Encode", pb.EncodeRequest(tokenizer="modèle-東京"), pb.EncodeResponse)


@pytest.mark.case("BR-214")
def test_no_name_is_never_some_default(service: Service) -> None:
    """An empty and an unknown name are refused; no other vocabulary answers."""
    codes: list[grpc.StatusCode] = []
    text = pb.Input(text="Tôi muốn uống cà phê sữa đá")
    for name in ("", "nothing-like-it"):
        with pytest.raises(Refused) as caught:
            service.call("Count", pb.CountRequest(tokenizer=name, inputs=[text]), pb.CountResponse)
        codes.append(caught.value.code)
    assert codes == [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND]
    request = pb.CountRequest(tokenizer="cl100k_base", inputs=[text])
    assert service.call("Count", request, pb.CountResponse).results[0].count.n_tokens == 17
