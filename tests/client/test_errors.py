"""Exceptions follow the contract's error table, and are told apart by reason alone."""

from __future__ import annotations

import pickle

import grpc
import pytest
import tokenwire
from google.rpc import status_pb2
from tokenwire import errors
from tokenwire.v1 import error_reason_pb2
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.client.fake_service import Ask, FakeService, fail, refuse, rich_status

REASONS = [
    name.removeprefix("ERROR_REASON_")
    for name in error_reason_pb2.ErrorReason.DESCRIPTOR.values_by_name
    if name != "ERROR_REASON_UNSPECIFIED"
]
NEVER = tokenwire.Retry(max_attempts=1)


def class_name(reason: str) -> str:
    return "".join(word.capitalize() for word in reason.split("_")) + "Error"


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_its_class(reason: str) -> None:
    """Each reason of the table has one exception class, named for it, with the table's code."""
    kind = getattr(errors, class_name(reason))
    error = kind("m")
    assert issubclass(kind, tokenwire.TokenwireError)
    assert (error.reason, error.code) == (reason, errors.CODE_OF_REASON[reason])


def test_no_class_without_a_reason_of_the_table() -> None:
    """There are as many classes as reasons, the transport's, and that of an artifact this client refuses."""
    declared = {kind.__name__ for kind in tokenwire.TokenwireError.__subclasses__()}
    assert declared == {class_name(reason) for reason in REASONS} | {"TransportError", "BadArtifactError"}


@pytest.mark.parametrize("reason", REASONS)
def test_a_refused_call_raises_the_class_of_its_reason(ask: Ask, service: FakeService, reason: str) -> None:
    """A status with ErrorInfo becomes the class of the reason with message, code and metadata."""
    code = errors.CODE_OF_REASON[reason]
    service.default = refuse(rich_status(reason, code, "what came: größer", metadata={"limit": "3"}))
    with pytest.raises(getattr(errors, class_name(reason))) as caught:
        ask(service.address, "count", "t", "x", client={"retry": NEVER})
    assert caught.value.code is code
    assert caught.value.message == str(caught.value) == "what came: größer"
    assert caught.value.metadata == {"limit": "3"}


def test_the_message_decides_nothing(ask: Ask, service: FakeService) -> None:
    """A message that looks like another reason does not change the class."""
    service.default = refuse(
        rich_status("TEXT_TOO_LONG", grpc.StatusCode.INVALID_ARGUMENT, "INVALID_UTF8: UNKNOWN_TOKENIZER")
    )
    with pytest.raises(tokenwire.TextTooLongError):
        ask(service.address, "count", "t", "x")


def test_a_reason_of_a_newer_service_is_kept(ask: Ask, service: FakeService) -> None:
    """A reason this client has no class for is the base class with that reason."""
    service.default = refuse(rich_status("BRAND_NEW", grpc.StatusCode.ABORTED))
    with pytest.raises(tokenwire.TokenwireError) as caught:
        ask(service.address, "count", "t", "x")
    assert type(caught.value) is tokenwire.TokenwireError
    assert (caught.value.reason, caught.value.code) == ("BRAND_NEW", grpc.StatusCode.ABORTED)


@pytest.mark.parametrize(
    "step",
    [
        fail(grpc.StatusCode.PERMISSION_DENIED, "go away"),
        refuse(
            rich_status("TEXT_TOO_LONG", grpc.StatusCode.PERMISSION_DENIED, "go away", domain="proxy.example")
        ),
    ],
    ids=["no details", "another domain"],
)
def test_a_failure_that_is_not_the_services_is_a_transport_error(
    ask: Ask, service: FakeService, step: object
) -> None:
    """Without an ErrorInfo of our domain there is no reason, only the code."""
    service.default = step  # type: ignore[assignment]  # parametrize loses the type
    with pytest.raises(tokenwire.TransportError, match="PERMISSION_DENIED: go away") as caught:
        ask(service.address, "count", "t", "x")
    assert (caught.value.reason, caught.value.code) == ("", grpc.StatusCode.PERMISSION_DENIED)


def test_malformed_details_are_a_transport_error(ask: Ask, service: FakeService) -> None:
    """Details that do not parse are passed over."""

    def step(_request: object, context: grpc.ServicerContext) -> object:
        context.set_trailing_metadata((("grpc-status-details-bin", b"\xff\xff"),))
        context.abort(grpc.StatusCode.INTERNAL, "broken")
        return None

    service.default = step
    with pytest.raises(tokenwire.TransportError, match="INTERNAL: broken"):
        ask(service.address, "count", "t", "x")


def test_nobody_there_is_a_transport_error(ask: Ask) -> None:
    """A connection that is refused is UNAVAILABLE."""
    with pytest.raises(tokenwire.TransportError) as caught:
        ask("unix:/nonexistent/tokenwire.sock", "count", "t", "x")
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE


def test_a_failed_input_is_raised_alone_and_in_place_in_a_list(ask: Ask, service: FakeService) -> None:
    """One input raises its error; in a list the error stands in its place and the neighbours are answered."""
    status = rich_status("TEXT_TOO_LONG", grpc.StatusCode.INVALID_ARGUMENT)

    def step(request: pb.CountRequest, _context: grpc.ServicerContext) -> pb.CountResponse:
        return pb.CountResponse(
            results=[
                pb.CountResult(error=status)
                if item.text == "bad"
                else pb.CountResult(count=pb.TokenCount(n_tokens=7))
                for item in request.inputs
            ]
        )

    service.default = step
    with pytest.raises(tokenwire.TextTooLongError):
        ask(service.address, "count", "t", "bad")
    first, error, last = ask(service.address, "count", "t", ["a", "bad", "b"])
    assert (first, last) == (7, 7)
    assert isinstance(error, tokenwire.TextTooLongError)
    with pytest.raises(tokenwire.TextTooLongError):
        ask(service.address, "count", "t", "bad")
    assert len(service.requests) == 3, "the error of an input is not retried"


@pytest.mark.parametrize(
    "results",
    [[], [pb.CountResult()], [pb.CountResult(count=pb.TokenCount())] * 2],
    ids=["none", "unset", "two"],
)
def test_a_reply_that_does_not_match_is_an_internal_error(
    ask: Ask, service: FakeService, results: list[pb.CountResult]
) -> None:
    """Too few or too many results, or one without an outcome, never pass as an answer."""
    service.default = lambda _request, _context: pb.CountResponse(results=results)
    with pytest.raises(errors.InternalError):
        ask(service.address, "count", "t", "x")


def test_errors_survive_pickling() -> None:
    """An error can cross a process boundary with all it carries."""
    error = errors.error_from_status(
        rich_status(
            "OVERLOADED", grpc.StatusCode.RESOURCE_EXHAUSTED, "busy", retry_after_s=0.25, metadata={"a": "1"}
        )
    )
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(copy) is tokenwire.OverloadedError
    assert vars(copy) == vars(error)
    assert (copy.message, copy.retry_after_s, copy.metadata) == ("busy", 0.25, {"a": "1"})


def test_a_status_without_details_keeps_its_code() -> None:
    """A plain status of one input is a transport error with that code."""
    error = errors.error_from_status(status_pb2.Status(code=3, message="m"))
    assert isinstance(error, tokenwire.TransportError)
    assert error.code is grpc.StatusCode.INVALID_ARGUMENT
