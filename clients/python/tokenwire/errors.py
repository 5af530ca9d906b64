"""What a call can raise: one exception per reason of the service's error table, and one for the transport.

The reasons and their gRPC codes come from `tokenwire.v1.error_reason_pb2`, the table the server answers from.
Exceptions are told apart by `ErrorInfo.reason`, never by a message, and no message quotes a text or an id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from tokenwire.v1 import error_reason_pb2

ERROR_DOMAIN = "tokenwire.dev"
"""The `ErrorInfo.domain` of the service. Details of another domain (a proxy's) are none of ours."""

_DETAILS_KEY = "grpc-status-details-bin"
_CODE_OF_NUMBER: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def _read_table() -> dict[str, grpc.StatusCode]:
    prefix = "ERROR_REASON_"
    extension: Any = error_reason_pb2.grpc_code
    return {
        value.name.removeprefix(prefix): _CODE_OF_NUMBER[value.GetOptions().Extensions[extension]]
        for value in error_reason_pb2.ErrorReason.DESCRIPTOR.values
        if value.number != 0
    }


CODE_OF_REASON: Mapping[str, grpc.StatusCode] = _read_table()
"""Every reason of the contract with the status code it travels under."""


class TokenwireError(Exception):
    """A refusal: `message` says what came, the bound, and what to do; `str(error)` is the same.

    `reason` is a name of the error table, one this client does not know yet, or empty where the transport
    failed or this client refuses what came. `code` is the gRPC status code. `metadata` has the numbers of the
    fault by name, as strings. `retry_after_s` is the wait the service asked for, if it did.
    """

    _class_of_reason: ClassVar[dict[str, type[TokenwireError]]] = {}
    reason: str = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "reason" in vars(cls):
            TokenwireError._class_of_reason[cls.reason] = cls

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode | None = None,
        metadata: Mapping[str, str] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or CODE_OF_REASON.get(self.reason, grpc.StatusCode.UNKNOWN)
        self.metadata = dict(metadata or {})
        self.retry_after_s = retry_after_s


class TransportError(TokenwireError):
    """The call failed on its way: no connection, a proxy, a closed client. `code` tells which."""


class BadArtifactError(TokenwireError):
    """What came is not the artifact that was announced, or one that cannot be used here; nothing of it is kept.

    Metadata: `limit`, `got` where it is larger than `max_artifact_bytes`.
    """


class UnknownTokenizerError(TokenwireError):
    """No tokenizer is served and no model known under this name; the message has the nearest names."""

    reason = "UNKNOWN_TOKENIZER"


class TokenizerNotLoadedError(TokenwireError):
    """The model is known, its tokenizer is not loaded there. Metadata: `needs`."""

    reason = "TOKENIZER_NOT_LOADED"


class TokenizerNotReadyError(TokenwireError):
    """The tokenizer is configured but not proven, so it is not served. Metadata: `tokenizer`."""

    reason = "TOKENIZER_NOT_READY"


class DigestMismatchError(TokenwireError):
    """The tokenizer has another digest than `expect_digest`. Metadata: `digest`."""

    reason = "DIGEST_MISMATCH"


class ArtifactUnavailableError(TokenwireError):
    """The tokenizer answers, but the service no longer has its artifact as it was proven. Metadata: `tokenizer`."""

    reason = "ARTIFACT_UNAVAILABLE"


class InvalidRequestError(TokenwireError):
    """A field of the request has no meaning to the service."""

    reason = "INVALID_REQUEST"


class NotSupportedError(TokenwireError):
    """The service is of a version that does not do what was asked."""

    reason = "NOT_SUPPORTED"


class TooManyInputsError(TokenwireError):
    """More inputs than one request may have: send several. Metadata: `limit`, `got`."""

    reason = "TOO_MANY_INPUTS"


class InvalidUtf8Error(TokenwireError):
    """The bytes are not UTF-8. Metadata: `byte_position`.

    A `str` that holds surrogates is refused before it is sent, with `codepoint_position` too.
    """

    reason = "INVALID_UTF8"


class TextTooLongError(TokenwireError):
    """The text has more bytes than the tokenizer accepts. Metadata: `limit`, `got`."""

    reason = "TEXT_TOO_LONG"


class ControlTokenError(TokenwireError):
    """The text spells a control token and `special="reject"`. Metadata: `token`, `byte_start`, `byte_end`."""

    reason = "CONTROL_TOKEN"


class UnknownControlTokenError(TokenwireError):
    """The set given as `special` names something that is no control token of this tokenizer."""

    reason = "UNKNOWN_CONTROL_TOKEN"


class TooManyIdsError(TokenwireError):
    """More ids than one input of `decode` may have. Metadata: `limit`, `got`."""

    reason = "TOO_MANY_IDS"


class IdOutOfRangeError(TokenwireError):
    """An id is negative, past the vocabulary or in a hole of it. Metadata: `index`, its place in the list."""

    reason = "ID_OUT_OF_RANGE"


class BudgetTooSmallError(TokenwireError):
    """`max_tokens` cannot hold what must be kept. Metadata: `least`, which would do."""

    reason = "BUDGET_TOO_SMALL"


class PatternTooSlowError(TokenwireError):
    """The tokenizer's pattern took too long on this text. Metadata: `limit`."""

    reason = "PATTERN_TOO_SLOW"


class MessageTooLargeError(TokenwireError):
    """The whole request is larger than the client sends or the service accepts: send several.

    Metadata: `limit`, `got`, in bytes; a `got` of 2 GiB stands for all that is more.
    """

    reason = "MESSAGE_TOO_LARGE"


class OverloadedError(TokenwireError):
    """The service's queue was full on every attempt; try again after `retry_after_s`."""

    reason = "OVERLOADED"


class ShuttingDownError(TokenwireError):
    """The service is shutting down and no other instance answered."""

    reason = "SHUTTING_DOWN"


class DeadlineExceededError(TokenwireError):
    """`timeout_s` passed, whether the service or this client noticed it first."""

    reason = "DEADLINE_EXCEEDED"


class InternalError(TokenwireError):
    """A fault in the service itself; its log has the details."""

    reason = "INTERNAL"


def error_from_status(status: status_pb2.Status, code: grpc.StatusCode | None = None) -> TokenwireError:
    """The exception for a status, by the `ErrorInfo` in it; without one, a `TransportError`."""
    code = code or _CODE_OF_NUMBER.get(status.code, grpc.StatusCode.UNKNOWN)
    info = error_details_pb2.ErrorInfo()
    retry_info = error_details_pb2.RetryInfo()
    retry_after_s: float | None = None
    for detail in status.details:
        if detail.Is(info.DESCRIPTOR):
            detail.Unpack(info)
        elif detail.Unpack(retry_info):
            retry_after_s = retry_info.retry_delay.seconds + retry_info.retry_delay.nanos / 1e9
    if info.domain != ERROR_DOMAIN or not info.reason:
        return _transport_error(code, status.message, retry_after_s)
    kind = TokenwireError._class_of_reason.get(info.reason, TokenwireError)
    error = kind(status.message, code=code, metadata=info.metadata, retry_after_s=retry_after_s)
    error.reason = info.reason
    return error


def error_from_rpc(fault: grpc.RpcError) -> TokenwireError:
    """The exception for a failed call, of `grpc` or of `grpc.aio`."""
    # Both kinds of failed call have these methods; the common base class declares none of them.
    call: Any = fault
    code: grpc.StatusCode = call.code()
    for key, value in call.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            try:
                return error_from_status(status_pb2.Status.FromString(value), code)
            except DecodeError:
                break  # not ours: what is left is the plain status
    return _transport_error(code, call.details() or "", None)


def _transport_error(code: grpc.StatusCode, details: str, retry_after_s: float | None) -> TokenwireError:
    """The client's own deadline is the same event as the service's, so it is the same exception."""
    kind = DeadlineExceededError if code is grpc.StatusCode.DEADLINE_EXCEEDED else TransportError
    return kind(f"{code.name}: {details}" if details else code.name, code=code, retry_after_s=retry_after_s)
