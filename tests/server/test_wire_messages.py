"""Wire messages: what is read of a request before the rest of it."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_server import requests, wire_messages
from tokenwire_server.errors import Fault
from tokenwire_server.limits import Limits


@pytest.mark.parametrize(
    "request_",
    [
        pb.EncodeRequest(tokenizer="tiny", expect_digest="x", inputs=[pb.Input(text="a")]),
        pb.DecodeRequest(tokenizer="tiny", inputs=[pb.TokenIds(ids=[1])]),
        pb.CountRequest(tokenizer="tiny", inputs=[pb.Input(utf8=b"\xff")], limit=1),
        pb.TruncateRequest(tokenizer="tiny", inputs=[pb.Input(text="a")], max_tokens=1),
        pb.GetTokenizerRequest(tokenizer="tiny"),
    ],
)
def test_the_tokenizer_of_any_request_is_read_alone(request_: Message) -> None:
    """Whatever else a request holds, its tokenizer is found."""
    assert wire_messages.tokenizer_named(request_.SerializeToString()) == "tiny"


@given(
    n_inputs=st.integers(0, 9),
    n_allowed=st.integers(0, 9),
    text=st.text(max_size=300),
    most=st.integers(0, 30),
)
def test_fields_are_counted_as_the_parser_would(n_inputs: int, n_allowed: int, text: str, most: int) -> None:
    """All inputs and allowed control tokens are found where the fields are no more than asked for, no more ever."""
    request = pb.CountRequest(
        tokenizer=text,
        inputs=[pb.Input(text=text)] * n_inputs,
        options=pb.EncodeOptions(allowed_control_tokens=[text] * n_allowed, add_special=True),
        limit=2**60,
    )
    n_all = n_inputs + n_allowed + bool(text) + 3
    data = request.SerializeToString()
    n_fields, found_inputs, found_allowed = wire_messages.count_fields(data, most)
    assert n_fields == min(n_all, most + 1)
    if n_all <= most:
        assert (found_inputs, found_allowed) == (n_inputs, n_allowed)
    assert found_inputs <= n_inputs
    assert found_allowed <= n_allowed


@given(data=st.binary(max_size=200))
def test_counting_ends_on_any_bytes(data: bytes) -> None:
    """Ill-formed requests are counted to some end, in no more steps than they have bytes."""
    assert wire_messages.count_fields(data, 1000)[0] <= len(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x1a\x00", "TOO_MANY_INPUTS"),
        (b"\x13\x1a\x00\x14", "TOO_MANY_INPUTS"),
        (b"\x0a\x00", "INVALID_REQUEST"),
        (b"\x13\x14", "INVALID_REQUEST"),
    ],
)
def test_a_request_of_many_small_fields_is_refused_unparsed(data: bytes, reason: str) -> None:
    """Empty inputs, in groups too, and any other fields are refused by their number alone."""
    with pytest.raises(Fault) as refused:
        requests.check_fields(data * 200_000, Limits())
    assert refused.value.reason == reason


def test_many_allowed_control_tokens_are_refused_unparsed() -> None:
    """The names that a request allows are bounded, as its inputs are."""
    n_names = 200_000
    request = pb.EncodeRequest(options=pb.EncodeOptions(allowed_control_tokens=[""] * n_names))
    with pytest.raises(Fault, match="allowed_control_tokens") as refused:
        requests.check_fields(request.SerializeToString(), Limits())
    assert refused.value.reason == "INVALID_REQUEST"


@pytest.mark.parametrize("data", [b"", b"\x0a\x05ab", b"\x0a\x01\xff"])
def test_an_ill_formed_request_names_no_tokenizer(data: bytes) -> None:
    """Nothing, a field cut short and a name that is not UTF-8 are no name, and no exception."""
    assert wire_messages.tokenizer_named(data) == ""
