"""The options of the calls: what is documented is what is taken, and nothing else is."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import pytest
import tokenwire
from tokenwire import _calls, _options

from tests.client.fake_service import Ask, FakeService
from tests.service import ROOT

PAGE = (ROOT / "docs/client.md").read_text()
KINDS = {
    "encode": _options.EncodeOptions,
    "count": _options.CountOptions,
    "count_details": _options.CountDetailsOptions,
    "truncate": _options.TruncateOptions,
}
CALLS = [*KINDS, "decode"]
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "encode": ("t", "x"),
    "count": ("t", "x"),
    "count_details": ("t", "x"),
    "truncate": ("t", "x", 1),
    "decode": ("t", [1]),
}


def defaults(function: Any) -> dict[str, object]:
    """The keyword options of a function with their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is not parameter.empty
    }


def taken(call: str) -> dict[str, object]:
    """What a call takes, by the code that takes it."""
    own = defaults(getattr(_calls, call))
    if call == "decode":
        return own
    if call == "count":
        own = {name: defaults(_calls.count_details)[name] for name in ("pair", "limit")}
    return {**own, **defaults(_calls._text_call)}


def table(heading: str) -> dict[str, object]:
    """The options and defaults of the first table after a heading."""
    start = PAGE.index(heading)
    rows = PAGE[start:].split("\n\n")[1]
    return {
        name: ast.literal_eval(default)
        for name, default in re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", rows, re.M)
    }


@pytest.mark.parametrize("call", CALLS)
def test_docstrings_list_every_option(call: str) -> None:
    """`help` of each method has every option with its default, and no other."""
    listed = re.findall(r"^ +(\w+) \(([^)]*)\): ", getattr(tokenwire.Client, call).__doc__, re.M)
    found = {name: ast.literal_eval(default) for name, default in listed}
    assert found == {**taken(call), "timeout_s": None}
    assert f"`Client.{call}`" in getattr(tokenwire.AsyncClient, call).__doc__


@pytest.mark.parametrize("call", CALLS)
def test_the_page_lists_every_option(call: str) -> None:
    """docs/client.md has a table for each call, and one for all that take text."""
    common = {} if call == "decode" else table("Every call that takes text")
    heading = "\n`truncate`, whose" if call == "truncate" else f"\n`{call}`:\n"
    assert {**common, **table(heading)} == taken(call)


@pytest.mark.parametrize("call", KINDS)
def test_type_checkers_know_every_option(call: str) -> None:
    """The TypedDict of a call has the options that the call takes."""
    assert set(KINDS[call].__annotations__) == set(taken(call))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("option", ["max_length", "Special"])
def test_an_unknown_option_is_refused(ask: Ask, service: FakeService, call: str, option: str) -> None:
    """An option that a method does not take is a TypeError with both names, and nothing is sent."""
    with pytest.raises(TypeError, match=rf"{call}\(\).*'{option}'"):
        ask(service.address, call, *ARGUMENTS[call], **{option: 1})
    assert not service.requests


@pytest.mark.parametrize("option", ["context_size", "reserved_output_tokens", "check_nfc"])
def test_count_ignores_no_option_of_count_details(ask: Ask, service: FakeService, option: str) -> None:
    """What `count` could not answer is refused, though `count_details` takes it."""
    with pytest.raises(TypeError, match=rf"count\(\) takes no option '{option}'; it takes .*limit"):
        ask(service.address, "count", "t", "x", **{option: 1})
    assert not service.requests


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "text must be str, bytes or a sequence of them, not NoneType"),
        (7, "text must be str, bytes or a sequence of them, not int"),
        ({"x": 1}, "text must be str, bytes or a sequence of them, not dict"),
        (["x", None], "text 1 of the sequence must be str or bytes, not NoneType"),
        (bytearray(b"x"), "text 0 of the sequence must be str or bytes, not int"),
    ],
)
@pytest.mark.parametrize("call", KINDS)
def test_what_is_no_text_is_refused(
    ask: Ask, service: FakeService, call: str, text: object, complaint: str
) -> None:
    """Another type is a TypeError that says what came and what is meant; nothing is sent."""
    with pytest.raises(TypeError, match=f"^{re.escape(complaint)}$"):
        ask(service.address, call, "t", text, *ARGUMENTS[call][2:])
    assert not service.requests


@pytest.mark.parametrize("ids", [None, 7, "12", b"12", {1}])
def test_what_is_no_list_of_ids_is_refused(ask: Ask, service: FakeService, ids: object) -> None:
    """Neither text nor a single id is taken for a list of ids."""
    with pytest.raises(TypeError, match=f"^ids must be a sequence of int.*, not {type(ids).__name__}$"):
        ask(service.address, "decode", "t", ids)
    assert not service.requests


@pytest.mark.parametrize(
    ("value", "kind"), [(-1, ValueError), (2**63, ValueError), ("9", TypeError), (1.5, TypeError)]
)
@pytest.mark.parametrize("option", ["limit", "context_size", "reserved_output_tokens", "max_tokens"])
def test_a_number_of_tokens_is_one(
    ask: Ask, service: FakeService, option: str, value: object, kind: type[Exception]
) -> None:
    """What is none is refused with the option's name; nothing is sent."""
    call, options = "count_details", {"context_size": 1, option: value}
    if option == "max_tokens":
        call, options = "truncate", {option: value}
    with pytest.raises(kind, match=f"^{option} must be a"):
        ask(service.address, call, "t", "x", **options)
    assert not service.requests


def test_no_budget_is_not_a_budget_of_nothing(ask: Ask, service: FakeService) -> None:
    """protobuf takes None for an unset field, which would be 0."""
    with pytest.raises(TypeError, match="max_tokens must be a whole number, not NoneType"):
        ask(service.address, "truncate", "t", "x", None)
    assert not service.requests
