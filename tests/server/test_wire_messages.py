"""Wire messages: what is read of a request before the rest of it."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_server import wire_messages


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


@pytest.mark.parametrize("data", [b"", b"\x0a\x05ab", b"\x0a\x01\xff"])
def test_an_ill_formed_request_names_no_tokenizer(data: bytes) -> None:
    """Nothing, a field cut short and a name that is not UTF-8 are no name, and no exception."""
    assert wire_messages.tokenizer_named(data) == ""
