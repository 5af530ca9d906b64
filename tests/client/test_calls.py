"""What the calls send, and what they make of a reply."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from typing import Any

import pytest
import tokenwire
from hypothesis import given
from hypothesis import strategies as st
from tokenwire import _calls
from tokenwire.v1 import tokenizer_pb2 as pb

from tests.client.fake_service import Ask, FakeService

PAIR = "ok \ud83d\udc4d"
SPELLING = "<x>"


def sent(call: _calls.Call[Any]) -> Any:
    return call.request


def test_defaults_are_those_of_the_contract() -> None:
    """Without options: control tokens as text, no template, no offsets, errors for ill-formed bytes."""
    request = sent(_calls.encode("gpt-4o", ["text", b"bytes"]))
    expected = pb.EncodeRequest(
        tokenizer="gpt-4o",
        inputs=[pb.Input(text="text"), pb.Input(utf8=b"bytes", invalid_utf8=pb.INVALID_UTF8_POLICY_ERROR)],
        options=pb.EncodeOptions(special=pb.SPECIAL_POLICY_AS_TEXT),
    )
    assert request == expected


def test_a_pair_travels_as_one_kind() -> None:
    """Two `str` go as text; where one is bytes, both go as bytes. One for each text of a list."""
    error = pb.INVALID_UTF8_POLICY_ERROR
    request = sent(_calls.encode("t", ["a", "b", b"c", b"d"], pair=["e", b"f", "\u00e9", b"g"]))
    assert list(request.inputs) == [
        pb.Input(text="a", pair_text="e"),
        pb.Input(utf8=b"b", pair_utf8=b"f", invalid_utf8=error),
        pb.Input(utf8=b"c", pair_utf8=b"\xc3\xa9", invalid_utf8=error),
        pb.Input(utf8=b"d", pair_utf8=b"g", invalid_utf8=error),
    ]
    assert list(sent(_calls.count("t", "a", pair="")).inputs) == [pb.Input(text="a", pair_text="")]


@pytest.mark.parametrize(
    ("text", "pair", "error"),
    [
        ("a", ["b"], TypeError),
        (["a"], "b", TypeError),
        (["a"], [5], TypeError),
        (["a", "b"], ["c"], ValueError),
    ],
)
def test_a_pair_that_goes_with_no_text_is_refused(text: Any, pair: Any, error: type[Exception]) -> None:
    """One for one text, as many for a list, and nothing but texts."""
    with pytest.raises(error):
        _calls.encode("t", text, pair=pair)


def test_a_second_text_that_cannot_travel_is_an_error_in_its_place() -> None:
    """A surrogate in either text of a pair is that input's error, and the others are sent."""
    call = _calls.encode("t", ["a", "b", "c\ud800"], pair=["\ud800", "x", b"y"])
    assert list(call.faults) == [0, 2]
    assert list(call.request.inputs) == [pb.Input(text="b", pair_text="x")]  # type: ignore[attr-defined]


def test_options_that_go_together_are_asked_for_together() -> None:
    """Reference offsets without a unit, and reference text as bytes, mean nothing."""
    with pytest.raises(ValueError, match="offsets too"):
        _calls.encode("t", "a", reference_offsets=True)
    with pytest.raises(ValueError, match="as_bytes"):
        _calls.decode("t", [1], reference=True, as_bytes=True)


def test_what_there_is_of_each_token_is_read() -> None:
    """Where there is no number on the wire, there is None here; what was not asked for is None."""
    asked: dict[str, Any] = dict.fromkeys(
        ("type_ids", "special_tokens_mask", "word_ids", "sequence_ids"), True
    )
    answer = pb.EncodeResponse(
        results=[
            pb.EncodeResult(
                encoding=pb.Encoding(
                    ids=[1, 5],
                    type_ids=[0, 1],
                    special_tokens_mask=[True, False],
                    word_ids=[-1, 0],
                    sequence_ids=[-1, 1],
                )
            )
        ]
    )
    (encoding,) = _calls.encode("t", ["a"], **asked).read(answer)
    assert isinstance(encoding, tokenwire.Encoding)
    assert encoding.type_ids == [0, 1]
    assert encoding.special_tokens_mask == [True, False]
    assert encoding.word_ids == [None, 0]
    assert encoding.sequence_ids == [None, 1]
    (encoding,) = _calls.encode("t", ["a"]).read(answer)
    assert isinstance(encoding, tokenwire.Encoding)
    assert {getattr(encoding, name) for name in asked} == {None}


def test_every_option_is_sent() -> None:
    """Each option of each call arrives in its field."""
    common: dict[str, Any] = {
        "special": "reject",
        "add_special": True,
        "language": ["de"],
        "expect_digest": "d",
    }
    options = pb.EncodeOptions(special=pb.SPECIAL_POLICY_REJECT, add_special=True)
    head: dict[str, Any] = {"tokenizer": "t", "expect_digest": "d", "options": options}
    inputs = [pb.Input(utf8=b"x", invalid_utf8=pb.INVALID_UTF8_POLICY_REPLACE, language="de")]
    common["invalid"] = "replace"
    assert sent(
        _calls.encode(
            "t",
            [b"x"],
            offsets="utf16",
            reference_offsets=True,
            token_bytes=True,
            report_control_tokens=True,
            type_ids=True,
            special_tokens_mask=True,
            word_ids=True,
            sequence_ids=True,
            **common,
        )
    ) == pb.EncodeRequest(
        inputs=inputs,
        offsets=pb.OFFSET_UNIT_UTF16,
        reference_offsets=True,
        token_bytes=True,
        report_control_tokens=True,
        type_ids=True,
        special_tokens_mask=True,
        word_ids=True,
        sequence_ids=True,
        **head,
    )
    assert sent(
        _calls.count_details(
            "t", [b"x"], limit=0, context_size=9, reserved_output_tokens=2, check_nfc=True, **common
        )
    ) == pb.CountRequest(
        inputs=inputs, limit=0, context_size=9, reserved_output_tokens=2, check_nfc=True, **head
    )
    assert sent(
        _calls.truncate("t", [b"x"], 3, keep="end", cut="token", ids_only=True, return_ids=True, **common)
    ) == pb.TruncateRequest(
        inputs=inputs,
        max_tokens=3,
        keep=pb.TRUNCATE_KEEP_END,
        cut=pb.TRUNCATE_CUT_TOKEN,
        ids_only=True,
        return_ids=True,
        **head,
    )
    assert sent(
        _calls.decode("t", [[1, 2]], skip_special=True, as_bytes=True, language="de", expect_digest="d")
    ) == pb.DecodeRequest(
        tokenizer="t",
        expect_digest="d",
        inputs=[pb.TokenIds(ids=[1, 2], language="de")],
        skip_special=True,
        as_bytes=True,
    )


def test_a_limit_of_zero_is_not_no_limit() -> None:
    """0 is sent as a limit; None is not sent."""
    assert sent(_calls.count("t", "x", limit=0)).HasField("limit")
    assert not sent(_calls.count("t", "x")).HasField("limit")


def test_an_empty_set_allows_nothing() -> None:
    """On the wire ALLOW without names means all, so an empty set is sent as text."""
    options = sent(_calls.encode("t", "x", special=frozenset())).options
    assert options == pb.EncodeOptions(special=pb.SPECIAL_POLICY_AS_TEXT)
    options = sent(_calls.encode("t", "x", special={"<b>", "<a>"})).options
    assert options == pb.EncodeOptions(special=pb.SPECIAL_POLICY_ALLOW, allowed_control_tokens=["<a>", "<b>"])


@pytest.mark.parametrize(
    ("method", "arguments", "options"),
    [
        ("encode", ("t", "x"), {"special": "<|endoftext|>"}),
        ("encode", ("t", "x"), {"offsets": "bytes"}),
        ("count", ("t", "x"), {"invalid": "ignore"}),
        ("truncate", ("t", "x", 1), {"keep": "both"}),
        ("truncate", ("t", "x", 1), {"cut": "word"}),
        ("count", ("t", ["x", "y"]), {"language": ["de"]}),
        ("count_details", ("t", "x"), {"reserved_output_tokens": 1}),
    ],
)
def test_a_senseless_option_is_refused_before_sending(
    ask: Ask, service: FakeService, method: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """A word that is none of an option's is a ValueError, and nothing is sent."""
    with pytest.raises(ValueError, match=r"none of|languages|give both"):
        ask(service.address, method, *arguments, **options)
    assert not service.requests


@pytest.mark.case("BR-189")
@pytest.mark.parametrize("text", [PAIR, "ok \ud800", "ok \udc4dx"], ids=["pair", "lone high", "lone low"])
def test_surrogates_are_refused_before_sending(ask: Ask, service: FakeService, text: str) -> None:
    """A str with surrogates is InvalidUtf8Error with the place and the remedy; nothing is sent."""
    with pytest.raises(tokenwire.InvalidUtf8Error, match="surrogate at code point 3") as caught:
        ask(service.address, "count", "t", text)
    assert caught.value.metadata == {"byte_position": "3", "codepoint_position": "3"}
    assert not service.requests
    assert "ok" not in str(caught.value), "the message quotes no text"


def test_the_remedy_for_surrogates_works() -> None:
    """What the message advises joins pairs and replaces lone ones."""
    repaired = (PAIR + "\ud800").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert repaired == "ok 👍\ufffd"


@given(st.lists(st.text(st.characters(codec=None), max_size=6) | st.binary(max_size=6), max_size=8))
def test_what_cannot_travel_stays_behind_alone(texts: list[str | bytes]) -> None:
    """In a list the refused texts keep their places and the others are sent in order."""

    def is_sound(text: str | bytes) -> bool:
        return isinstance(text, bytes) or not any("\ud800" <= character <= "\udfff" for character in text)

    call = _calls.count("t", texts)
    assert [item.text if item.HasField("text") else item.utf8 for item in sent(call).inputs] == [
        text for text in texts if is_sound(text)
    ]
    numbers = [pb.CountResult(count=pb.TokenCount(n_tokens=n)) for n in range(len(sent(call).inputs))]
    results = call.answer(pb.CountResponse(results=numbers))
    assert isinstance(results, list)
    assert [isinstance(result, int) for result in results] == [is_sound(text) for text in texts]
    assert [result for result in results if isinstance(result, int)] == list(range(len(numbers)))


def test_an_empty_list_asks_nothing(ask: Ask, service: FakeService) -> None:
    """No texts give no results, without a call."""
    assert ask(service.address, "count", "t", []) == []
    assert not service.requests


@pytest.mark.case("BR-139", "BR-140")
def test_ids_are_never_wrapped() -> None:
    """Ids travel signed in 64 bits; a wider one is refused with its place, its neighbours are sent."""
    ids = [-1, 4294967296, 2**63 - 1, -(2**63)]
    assert list(sent(_calls.decode("t", ids)).inputs[0].ids) == ids
    call = _calls.decode("t", [[1], [5, 2**63], [2]])
    assert [list(item.ids) for item in sent(call).inputs] == [[1], [2]]
    reply = pb.DecodeResponse(results=[pb.DecodeResult(text="a"), pb.DecodeResult(text="b")])
    first, error, last = call.answer(reply)
    assert (first, last) == ("a", "b")
    assert isinstance(error, tokenwire.IdOutOfRangeError)
    assert error.metadata == {"index": "1"}


def test_ids_of_one_input_or_of_many() -> None:
    """A sequence of numbers is one input, an empty one too; a sequence of sequences is a list."""
    assert _calls.decode("t", []).single
    assert _calls.decode("t", (1, 2)).single
    assert not _calls.decode("t", [[]]).single
    with pytest.raises(TypeError):
        _calls.decode("t", [1.5])  # type: ignore[arg-type]  # the fault under test


def test_an_encoding_is_read_as_asked(ask: Ask, service: FakeService) -> None:
    """What was not asked for is None; what was is there, even if empty."""
    encoding = pb.Encoding(
        ids=[5, 6],
        starts=[0, 1],
        ends=[2, 3],
        partial_tokens=[1],
        token_bytes=[b"\xe4", b"a"],
        control_tokens=[pb.ControlTokenMatch(token=SPELLING, id=9, byte_start=0, byte_end=3)],
    )
    service.default = lambda _request, _context: pb.EncodeResponse(
        digest="abc", results=[pb.EncodeResult(encoding=encoding)]
    )
    assert ask(service.address, "encode", "t", "x") == tokenwire.Encoding(ids=[5, 6], digest="abc")
    full = ask(
        service.address, "encode", "t", "x", offsets="byte", token_bytes=True, report_control_tokens=True
    )
    assert full == tokenwire.Encoding(
        ids=[5, 6],
        digest="abc",
        offsets=[(0, 2), (1, 3)],
        partial_tokens=[1],
        token_bytes=[b"\xe4", b"a"],
        control_tokens=[tokenwire.ControlTokenMatch(SPELLING, 9, 0, 3)],
    )
    assert len(full) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        full.digest = "other"


def test_a_count_is_read_in_full(ask: Ask, service: FakeService) -> None:
    """count gives the number; count_details all there is, with None for what was not asked."""
    count = pb.TokenCount(
        n_tokens=3, n_bytes=9, n_codepoints=8, n_unknown=1, n_byte_fallback=2, limit_exceeded=True
    )
    service.default = lambda _request, _context: pb.CountResponse(
        digest="d", results=[pb.CountResult(count=count)]
    )
    assert ask(service.address, "count", "t", "x") == 3
    details = tokenwire.TokenCount(3, 9, 8, 1, 2, True, "d")
    assert ask(service.address, "count_details", "t", "x") == details
    count.fits = False
    count.is_nfc = True
    assert ask(service.address, "count_details", "t", ["x"]) == [
        dataclasses.replace(details, fits=False, is_nfc=True)
    ]


def test_a_truncation_is_read_in_full(ask: Ask, service: FakeService) -> None:
    """The text kept, its place and numbers; ids only when asked for."""
    truncation = pb.Truncation(
        text="ab", ids=[1], n_tokens=1, n_tokens_before=5, kept=[pb.ByteRange(start=3, end=5)], truncated=True
    )
    service.default = lambda _request, _context: pb.TruncateResponse(
        digest="d", results=[pb.TruncateResult(truncation=truncation)]
    )
    expected = tokenwire.Truncation("ab", 1, 5, True, "d", [(3, 5)])
    assert ask(service.address, "truncate", "t", "x", 1) == expected
    assert ask(service.address, "truncate", "t", "x", 1, return_ids=True) == dataclasses.replace(
        expected, ids=[1]
    )


@pytest.mark.parametrize("place", [(0, 0), (3, 3)])
def test_a_range_may_be_empty(ask: Ask, service: FakeService, place: tuple[int, int]) -> None:
    """Where nothing fits, the place is an empty range, not no range."""
    kept = [pb.ByteRange(start=place[0], end=place[1])]
    truncation = pb.Truncation(n_tokens_before=1, kept=kept, truncated=True)
    service.default = lambda _request, _context: pb.TruncateResponse(
        digest="d", results=[pb.TruncateResult(truncation=truncation)]
    )
    expected = tokenwire.Truncation("", 0, 1, True, "d", [place])
    assert ask(service.address, "truncate", "t", "x", 0) == expected


def test_decode_gives_text_or_bytes(ask: Ask, service: FakeService) -> None:
    """The type follows what was asked."""

    def step(request: pb.DecodeRequest, _context: object) -> pb.DecodeResponse:
        one = pb.DecodeResult(utf8=b"\xe4") if request.as_bytes else pb.DecodeResult(text="ä")
        return pb.DecodeResponse(results=[one] * len(request.inputs))

    service.default = step
    assert ask(service.address, "decode", "t", [1]) == "ä"
    assert ask(service.address, "decode", "t", [1], as_bytes=True) == b"\xe4"
    assert ask(service.address, "decode", "t", [[1], []], as_bytes=True) == [b"\xe4"] * 2


def test_tokenizers_are_described(ask: Ask, service: FakeService) -> None:
    """A TokenizerInfo has every field of the contract, with a word for the state."""
    info = pb.TokenizerInfo(
        name="n",
        aliases=["a"],
        state=pb.TOKENIZER_STATE_READY,
        control_tokens=[pb.SpecialToken(token=SPELLING, id=4)],
        vocab_size=5,
    )
    newer = pb.TokenizerInfo(state=99)  # type: ignore[arg-type]  # a state of a newer service
    service.script = [
        lambda _request, _context: pb.ListTokenizersResponse(tokenizers=[info, newer]),
        lambda _request, _context: pb.GetTokenizerResponse(tokenizer=info),
    ]
    first, second = ask(service.address, "list_tokenizers")
    assert (first.name, first.aliases, first.state, first.control_tokens) == (
        "n",
        ("a",),
        "ready",
        {SPELLING: 4},
    )
    assert second.state == "unknown"
    assert ask(service.address, "get_tokenizer", "a") == first
    assert service.requests[1] == pb.GetTokenizerRequest(tokenizer="a")
    wire = {field.name for field in pb.TokenizerInfo.DESCRIPTOR.fields}
    assert {field.name for field in dataclasses.fields(tokenwire.TokenizerInfo)} == wire


def test_the_clients_mirror_each_other() -> None:
    """Client and AsyncClient have the same public methods with the same parameters."""

    def methods(kind: type) -> dict[str, list[inspect.Parameter]]:
        return {
            name: list(inspect.signature(method).parameters.values())
            for name, method in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_") or name == "__init__"
        }

    assert methods(tokenwire.Client) == methods(tokenwire.AsyncClient)


def test_public_names_exist_and_stubs_need_no_grpc() -> None:
    """Every public name loads; importing tokenwire.v1's messages alone leaves gRPC out of the process."""
    assert all(hasattr(tokenwire, name) for name in tokenwire.__all__)
    assert set(tokenwire.__all__) <= set(dir(tokenwire))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tokenwire.Nothing  # noqa: B018 - the access is the test
    program = "import sys, tokenwire.v1.tokenizer_pb2 as stubs; sys.exit('grpc' in sys.modules)"
    path = tokenwire.__path__[0].removesuffix("/tokenwire")
    assert (
        subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": path}, check=False).returncode == 0
    )
