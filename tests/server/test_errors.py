"""The error table: complete, documented, and the only place codes come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from google.rpc import code_pb2, error_details_pb2
from hypothesis import given
from hypothesis import strategies as st
from tokenwire.v1 import error_reason_pb2
from tokenwire_core import errors as core_errors
from tokenwire_server import errors
from tokenwire_server.errors import Fault

PROTO = Path(__file__).parents[2] / "proto" / "tokenwire" / "v1" / "error_reason.proto"


def test_every_reason_has_a_code_of_an_error() -> None:
    """Each value of the enum but the first has the gRPC code it travels under, and none is OK or UNKNOWN."""
    names = {
        name.removeprefix("ERROR_REASON_") for name in error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name
    }
    assert set(errors.CODES) == names - {"UNSPECIFIED"}
    assert not {code_pb2.OK, code_pb2.UNKNOWN} & set(errors.CODES.values())


def test_every_reason_is_documented() -> None:
    """In the contract, a comment stands above each value."""
    text = PROTO.read_text()
    for name in errors.CODES:
        assert re.search(rf"// [^\n]+\n  ERROR_REASON_{name} = ", text), name


def test_every_fault_of_the_core_is_in_the_table() -> None:
    """Each exception of the core carries a reason of the table."""
    kinds = [kind for kind in vars(core_errors).values() if isinstance(kind, type)]
    reasons = {kind.reason for kind in kinds if issubclass(kind, core_errors.TokenizerError)}
    assert "INVALID_UTF8" in reasons
    assert reasons <= set(errors.CODES)


def test_a_fault_of_the_core_keeps_its_numbers() -> None:
    """The status of a core fault has its code, reason, domain and numbers."""
    status = errors.from_core(core_errors.ControlTokenError("<|end|>", 3, 10)).status()
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert status.code == code_pb2.INVALID_ARGUMENT
    assert (info.reason, info.domain) == ("CONTROL_TOKEN", "tokenwire.dev")
    assert dict(info.metadata) == {"token": "<|end|>", "byte_start": "3", "byte_end": "10"}


def test_a_fault_that_asks_to_wait_says_how_long() -> None:
    """`retry_after_s` travels as RetryInfo beside the ErrorInfo."""
    status = Fault("OVERLOADED", "full", retry_after_s=0.5).status()
    retry = error_details_pb2.RetryInfo()
    assert status.details[1].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 500


def test_a_reason_outside_the_table_is_a_defect() -> None:
    """A fault cannot be made with a reason that clients do not know."""
    with pytest.raises(ValueError, match="error table"):
        Fault("NO_SUCH_REASON", "x")


@given(st.text(alphabet=st.characters(), max_size=1200), st.text(alphabet=st.characters(), max_size=600))
def test_messages_and_metadata_are_short_and_well_formed(message: str, value: str) -> None:
    """Whatever goes in, also lone surrogates, comes out as one short line of valid UTF-8."""
    fault = Fault("INVALID_REQUEST", message, {"known": value})
    assert len(fault.message.encode()) <= errors.MAX_MESSAGE_BYTES
    assert len(fault.metadata["known"].encode()) <= errors.MAX_METADATA_VALUE_BYTES
    assert "\n" not in fault.message
    assert fault.status().message == fault.message


@given(st.text(max_size=30))
def test_short_printable_text_is_left_as_it_is(text: str) -> None:
    """Shortening changes nothing that is short and printable."""
    if text.isprintable():
        assert errors.shorten(text, 200) == text
