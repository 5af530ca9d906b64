"""Wire messages: the request classes, with `Input.text` read as bytes.

Stock protobuf refuses a whole message when one `string` field holds ill-formed UTF-8. The contract makes
that an error of the one input, so requests are parsed with classes made from a copy of the descriptors in
which that field is `bytes`: the same bytes on the wire, and the encoder checks them anyway. The copy lives
in a pool of its own. Every other string of a request (names, digests, tags) is still checked by the parser.
"""

from __future__ import annotations

from typing import TypeVar, cast

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError, Message
from google.rpc import status_pb2
from tokenwire.v1 import tokenizer_pb2 as pb

from tokenwire_server.errors import Fault

RequestT = TypeVar("RequestT", bound=Message)


def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for module in (any_pb2, status_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto.FromString(pb.DESCRIPTOR.serialized_pb)
    message = next(message for message in file.message_type if message.name == "Input")
    text = next(item for item in message.field if item.name == "text")
    text.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL = _pool()


def _bytes_text(stock: type[RequestT]) -> type[RequestT]:
    """The twin of a generated class in our pool. Its shape is the same but for `Input.text`."""
    descriptor = _POOL.FindMessageTypeByName(stock.DESCRIPTOR.full_name)
    return cast(type[RequestT], message_factory.GetMessageClass(descriptor))


EncodeRequest = _bytes_text(pb.EncodeRequest)
DecodeRequest = _bytes_text(pb.DecodeRequest)
CountRequest = _bytes_text(pb.CountRequest)
TruncateRequest = _bytes_text(pb.TruncateRequest)
GetTokenizerRequest = _bytes_text(pb.GetTokenizerRequest)


def parse(message_class: type[RequestT], data: bytes) -> RequestT:
    """`data` as a message. Raises the fault INVALID_REQUEST where it is none."""
    try:
        return message_class.FromString(data)
    except DecodeError:
        raise Fault(
            "INVALID_REQUEST",
            f"the request is not a well-formed {message_class.DESCRIPTOR.name}; "
            "check the message type, and that names and tags are valid UTF-8",
        ) from None


def tokenizer_named(data: bytes) -> str:
    """The tokenizer that a request of any kind names, with nothing else of it read; empty where it is ill-formed.

    In every request `tokenizer` is field 1, the only one of GetTokenizerRequest.
    """
    try:
        return GetTokenizerRequest.FromString(data).tokenizer
    except DecodeError:
        return ""


def text_bytes(item: pb.Input) -> bytes:
    """The bytes of the `text` field of an input parsed by one of these classes."""
    return cast(bytes, item.text)
