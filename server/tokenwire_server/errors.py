"""Faults: one exception for everything a caller is told, and the status derived from the contract's table.

The table is `error_reason.proto`: each reason carries its gRPC code as an option. Nothing here lists
reasons a second time. This module knows protobuf but not grpc, so that a process that must not start gRPC
can import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from google.protobuf import any_pb2
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from tokenwire.v1 import error_reason_pb2
from tokenwire_core.errors import TokenizerError

DOMAIN = "tokenwire.dev"
MAX_MESSAGE_BYTES = 512  # Percent-encoded in `grpc-message` it triples and must stay within a client's 8 KiB.
MAX_METADATA_VALUE_BYTES = 256
_PREFIX = "ERROR_REASON_"


def _read_table() -> dict[str, int]:
    table = {}
    for value in error_reason_pb2.ErrorReason.DESCRIPTOR.values:
        if value.number != error_reason_pb2.ERROR_REASON_UNSPECIFIED:
            extensions: Any = value.GetOptions().Extensions  # The stubs lose the type of the option.
            table[value.name.removeprefix(_PREFIX)] = int(extensions[error_reason_pb2.grpc_code])
    return table


CODES = MappingProxyType(_read_table())
"""The gRPC status code (its number) of each reason."""


class ConfigError(Exception):
    """The configuration cannot be used; the message names the key, what came and what would do."""


class Fault(Exception):  # noqa: N818  the contract's word
    """What a caller is told about a request, or one input of it, that was refused.

    `reason` is a key of `CODES`; `message` says what came, the bound and what to do, and is cut to
    `MAX_MESSAGE_BYTES`; `metadata` are the numbers and names of the fault; `retry_after_s` asks the caller to
    wait before trying again.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        metadata: Mapping[str, object] | None = None,
        *,
        retry_after_s: float | None = None,
    ) -> None:
        if reason not in CODES:
            raise ValueError(f"{reason} is not a reason of the error table")
        self.reason = reason
        self.message = shorten(message, MAX_MESSAGE_BYTES)
        self.metadata = {
            name: shorten(str(value), MAX_METADATA_VALUE_BYTES) for name, value in (metadata or {}).items()
        }
        self.retry_after_s = retry_after_s
        super().__init__(f"{reason}: {self.message}")

    @property
    def code(self) -> int:
        """The number of the gRPC status code this fault travels under."""
        return CODES[self.reason]

    def status(self) -> status_pb2.Status:
        """The `google.rpc.Status` with its `ErrorInfo`, and a `RetryInfo` where the caller should wait."""
        status = status_pb2.Status(code=self.code, message=self.message)
        info = error_details_pb2.ErrorInfo(reason=self.reason, domain=DOMAIN, metadata=self.metadata)
        packed = any_pb2.Any()
        packed.Pack(info)
        status.details.append(packed)
        if self.retry_after_s is not None:
            delay = Duration()
            delay.FromMilliseconds(int(self.retry_after_s * 1000))
            packed = any_pb2.Any()
            packed.Pack(error_details_pb2.RetryInfo(retry_delay=delay))
            status.details.append(packed)
        return status


def from_core(error: TokenizerError) -> Fault:
    """The fault for something the core refused: its own reason, message and numbers."""
    return Fault(error.reason, str(error), error.metadata)


def internal() -> Fault:
    """The fault for an exception nobody foresaw. It says nothing of the exception: that is for the log."""
    return Fault("INTERNAL", "the service failed on this request; its log has the details")


def message_too_large(what: str, n_bytes: int, limit: int) -> Fault:
    """The fault for a message over the limit; `what` is `request` or `response`."""
    advice = "send fewer inputs in one request"
    if what == "response":
        advice += ", or ask for less about each (offsets, token bytes)"
    return Fault(
        "MESSAGE_TOO_LARGE",
        f"the {what} has {n_bytes} bytes, the limit is {limit}; {advice}",
        {"limit": limit, "got": n_bytes},
    )


def shorten(text: str, max_bytes: int) -> str:
    """`text` as well-formed Unicode of at most `max_bytes` bytes in UTF-8, cut between characters.

    Control characters become blanks, so that a message stays one line.
    """
    line = "".join(character if character.isprintable() else " " for character in text[:max_bytes])
    encoded = line.encode("utf-8", "replace")
    if len(encoded) > max_bytes:
        return encoded[: max_bytes - 3].decode("utf-8", "ignore") + "…"
    return encoded.decode("utf-8")
