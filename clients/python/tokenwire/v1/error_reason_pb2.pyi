from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.rpc import code_pb2 as _code_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_TOKENIZER: _ClassVar[ErrorReason]
    ERROR_REASON_TOKENIZER_NOT_LOADED: _ClassVar[ErrorReason]
    ERROR_REASON_TOKENIZER_NOT_READY: _ClassVar[ErrorReason]
    ERROR_REASON_DIGEST_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_ARTIFACT_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID_REQUEST: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_SUPPORTED: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_MANY_INPUTS: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID_UTF8: _ClassVar[ErrorReason]
    ERROR_REASON_TEXT_TOO_LONG: _ClassVar[ErrorReason]
    ERROR_REASON_CONTROL_TOKEN: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_CONTROL_TOKEN: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_MANY_IDS: _ClassVar[ErrorReason]
    ERROR_REASON_ID_OUT_OF_RANGE: _ClassVar[ErrorReason]
    ERROR_REASON_BUDGET_TOO_SMALL: _ClassVar[ErrorReason]
    ERROR_REASON_PATTERN_TOO_SLOW: _ClassVar[ErrorReason]
    ERROR_REASON_MESSAGE_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_OVERLOADED: _ClassVar[ErrorReason]
    ERROR_REASON_SHUTTING_DOWN: _ClassVar[ErrorReason]
    ERROR_REASON_DEADLINE_EXCEEDED: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_UNKNOWN_TOKENIZER: ErrorReason
ERROR_REASON_TOKENIZER_NOT_LOADED: ErrorReason
ERROR_REASON_TOKENIZER_NOT_READY: ErrorReason
ERROR_REASON_DIGEST_MISMATCH: ErrorReason
ERROR_REASON_ARTIFACT_UNAVAILABLE: ErrorReason
ERROR_REASON_INVALID_REQUEST: ErrorReason
ERROR_REASON_NOT_SUPPORTED: ErrorReason
ERROR_REASON_TOO_MANY_INPUTS: ErrorReason
ERROR_REASON_INVALID_UTF8: ErrorReason
ERROR_REASON_TEXT_TOO_LONG: ErrorReason
ERROR_REASON_CONTROL_TOKEN: ErrorReason
ERROR_REASON_UNKNOWN_CONTROL_TOKEN: ErrorReason
ERROR_REASON_TOO_MANY_IDS: ErrorReason
ERROR_REASON_ID_OUT_OF_RANGE: ErrorReason
ERROR_REASON_BUDGET_TOO_SMALL: ErrorReason
ERROR_REASON_PATTERN_TOO_SLOW: ErrorReason
ERROR_REASON_MESSAGE_TOO_LARGE: ErrorReason
ERROR_REASON_OVERLOADED: ErrorReason
ERROR_REASON_SHUTTING_DOWN: ErrorReason
ERROR_REASON_DEADLINE_EXCEEDED: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
GRPC_CODE_FIELD_NUMBER: _ClassVar[int]
grpc_code: _descriptor.FieldDescriptor
