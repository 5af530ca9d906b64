"""Wire messages: the request classes, with the texts of an `Input` read as bytes.

Stock protobuf refuses a whole message when one `string` field holds ill-formed UTF-8. The contract makes
that an error of the one input, so requests are parsed with classes made from a copy of the descriptors in
which `text` and `pair_text` are `bytes`: the same bytes on the wire, and the encoder checks them anyway. The copy lives
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

_VARINT, _LENGTH_DELIMITED = 0, 2
_FIXED_BYTES = {1: 8, 5: 4}
_MAX_VARINT_BYTES = 10


def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for module in (any_pb2, status_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto.FromString(pb.DESCRIPTOR.serialized_pb)
    message = next(message for message in file.message_type if message.name == "Input")
    for item in message.field:
        if item.name in ("text", "pair_text"):
            item.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL = _pool()


def _bytes_text(stock: type[RequestT]) -> type[RequestT]:
    """The twin of a generated class in our pool. Its shape is the same but for the texts of `Input`."""
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

    In every request `tokenizer` is field 1 and `expect_digest` field 2, which are all of GetTokenizerRequest.
    """
    try:
        return GetTokenizerRequest.FromString(data).tokenizer
    except DecodeError:
        return ""


def count_fields(data: bytes, most: int) -> tuple[int, int, int]:
    """The fields of a text or Decode request, those of its options with them; its inputs; its allowed control tokens.

    Counts without parsing, because 40 MB can hold 20 million empty inputs, and stops as soon as there are more
    than `most` fields. What is ill-formed ends the count and is left to the parser, which ends there too.
    In every request `inputs` is field 3 and `options`, where it has them, field 4.
    """
    n_fields = n_inputs = n_allowed = 0
    at = options_end = 0
    while at < len(data) and n_fields <= most:
        n_fields += 1
        in_options = at < options_end
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            _, at = _varint(data, at)
        elif wire_type == _LENGTH_DELIMITED:
            length, at = _varint(data, at)
            if number == 4 and not in_options:
                options_end = at + length
                continue
            n_inputs += number == 3 and not in_options
            n_allowed += number == 2 and in_options
            at += length
        else:
            at += _FIXED_BYTES.get(wire_type, 0)
    return n_fields, n_inputs, n_allowed


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where it ends: at the end of the data if it is ill-formed."""
    value = 0
    for place, byte in enumerate(data[at : at + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    return 0, len(data)


def text_bytes(item: pb.Input) -> bytes:
    """The bytes of the `text` field of an input parsed by one of these classes."""
    return cast(bytes, item.text)


def pair_text_bytes(item: pb.Input) -> bytes:
    """The same of `pair_text`."""
    return cast(bytes, item.pair_text)
