"""Truncation: what is left fits when it is encoded again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tokenwire_core import (
    BudgetTooSmallError,
    ControlTokenError,
    Encoder,
    InvalidUtf8Error,
    SpecialPolicy,
    TokenizerError,
)
from tokenwire_core.truncate import N_SINGLE_STEPS, Truncation, _Graphemes, truncate
from tokenwire_core.utf8 import repair

from tests.core import made_up
from tests.rank_files import ours
from tests.strategies import texts

Keep = Literal["start", "end"]
Cut = Literal["token", "grapheme"]

keeps = st.sampled_from(["start", "end"])
cuts = st.sampled_from(["token", "grapheme"])
specials: st.SearchStrategy[SpecialPolicy] = st.sampled_from(["text", "allow", frozenset({"<|endoftext|>"})])
budgets = st.one_of(st.integers(0, 12), st.integers(0, 400))

CLUSTERS = [
    "👨‍👩‍👧",
    "🇫🇷",
    "🇫",
    "👍🏽",
    "क्ष",
    "नि",
    "각",
    "\u1100\u1161",
    "글",
    "e\u0308",
    "\u0308",
    "\r\n",
    "\r",
    "a",
    " ",
    "中",
    "\u200d",
]
clustered = st.lists(st.sampled_from([*CLUSTERS, "<|endoftext|>"]), max_size=30).map("".join)


def boundaries(text: str) -> list[int]:
    """All grapheme boundaries, by reading the text from its start."""
    return [0, *(match.end() for match in regex.finditer(r"\X", text))]


def check(
    encoder: Encoder, text: str, result: Truncation, max_tokens: int, keep: str, special: SpecialPolicy
) -> None:
    """The laws that every truncation keeps."""
    utf8 = text.encode()
    encoding = encoder.encode(result.text, special=special)
    assert result.ids == encoding.ids
    assert result.n_tokens == len(result.ids) <= max_tokens
    assert result.n_tokens_before == encoder.count(text, special=special)
    n_bytes = len(result.text.encode())
    start, end = (0, n_bytes) if keep == "start" else (len(utf8) - n_bytes, len(utf8))
    assert utf8[start:end].decode() == result.text
    assert result.kept == [(start, end)]
    assert result.truncated == (result.text != text)
    if result.n_tokens_before <= max_tokens:
        assert result.text == text


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@given(text=st.one_of(texts(), clustered), max_tokens=budgets, keep=keeps, cut=cuts, special=specials)
def test_what_is_left_fits_when_it_is_encoded_again(
    name: str, text: str, max_tokens: int, keep: Keep, cut: Cut, special: SpecialPolicy
) -> None:
    """A prefix or suffix, its own ids, never over the budget, and the whole text where that fits."""
    encoder = ours(name)
    check(
        encoder,
        text,
        encoder.truncate(text, max_tokens, keep, cut, special=special),
        max_tokens,
        keep,
        special,
    )


@given(
    tokens=st.lists(st.text("ab1 ", min_size=2, max_size=5).map(str.encode), unique=True, max_size=30),
    pattern=st.sampled_from(
        [r"[\s\S]+", r"\d{1,3}|\w+|[\s\S]", r"a{1,2}(?=[\s\S]*b)|[\s\S]", r" ?\w+|\s+(?!\S)|\s"]
    ),
    text=st.text("ab1 ", max_size=60),
    max_tokens=st.integers(0, 30),
    keep=keeps,
    cut=cuts,
)
def test_it_fits_whatever_a_cut_does_to_pattern_and_merges(
    tokens: list[bytes], pattern: str, text: str, max_tokens: int, keep: Keep, cut: Cut
) -> None:
    """Also where most cuts raise the count: pieces of three digits from the left, a look at what is cut off."""
    encoder = made_up.encoder(tokens, pattern)
    check(encoder, text, encoder.truncate(text, max_tokens, keep, cut), max_tokens, keep, "text")


@given(text=clustered, max_tokens=st.integers(0, 40), keep=keeps)
def test_a_grapheme_is_cut_only_where_it_alone_is_over_the_budget(
    text: str, max_tokens: int, keep: Keep
) -> None:
    """The default cut is between user-perceived characters as long as one of them fits."""
    encoder = ours("cl100k_base")
    result = encoder.truncate(text, max_tokens, keep)
    edges = boundaries(text)
    at = len(result.text) if keep == "start" else len(text) - len(result.text)
    if at not in edges or (result.text == "" and text):
        outermost = text[: edges[1]] if keep == "start" else text[edges[-2] :]
        assert encoder.count(outermost) > max_tokens
        assert len(result.text) < len(outermost)


@given(text=st.one_of(texts(), clustered), max_tokens=budgets, keep=keeps)
def test_a_token_cut_is_at_a_token_edge(text: str, max_tokens: int, keep: Keep) -> None:
    """The cut is where a token of the whole text ends (begins), and the nearest such place where that fits."""
    encoder = ours("cl100k_base")
    encoding = encoder.encode(text)
    assume(len(encoding) > max_tokens)
    utf8 = text.encode()
    starts, ends = encoding.spans()
    edges = [0, *ends] if keep == "start" else [*starts, len(utf8)]
    whole = [edge for edge in edges if edge == len(utf8) or utf8[edge] & 0xC0 != 0x80]
    first = edges[max_tokens] if keep == "start" else edges[-1 - max_tokens]
    nearest = max(e for e in whole if e <= first) if keep == "start" else min(e for e in whole if e >= first)
    kept = (utf8[:nearest] if keep == "start" else utf8[nearest:]).decode()
    result = encoder.truncate(text, max_tokens, keep, "token")
    n_bytes = len(result.text.encode())
    assert (n_bytes if keep == "start" else len(utf8) - n_bytes) in whole
    assert (result.text == kept) == (encoder.count(kept) <= max_tokens)


@given(text=texts(), max_tokens=budgets, keep=keeps)
def test_ids_only_gives_the_outermost_ids(text: str, max_tokens: int, keep: Keep) -> None:
    """Exactly the first or last ids of the whole text, and no text."""
    encoder = ours("cl100k_base")
    encoding = encoder.encode(text)
    result = encoder.truncate(text, max_tokens, keep, "token", ids_only=True)
    n = min(max_tokens, len(encoding))
    spans = encoding.offsets()
    first, last = (0, n) if keep == "start" else (len(encoding) - n, len(encoding))
    assert result.ids == encoding.ids[first:last]
    assert (result.text, result.n_tokens, result.n_tokens_before) == ("", n, len(encoding))
    edges = [0, *(end for _, end in spans)]
    assert result.kept == [(edges[first], edges[last])]
    assert result.truncated == (n < len(encoding))


@pytest.mark.case("BR-170")
def test_a_cut_never_leaves_half_a_character() -> None:
    """An emoji of three tokens is kept whole or not at all, at either end."""
    encoder = ours("cl100k_base")
    text = "café 🫠🫠 ok"
    from_start = [encoder.truncate(text, n, "start", "token").text for n in range(11)]
    assert from_start == ["", "ca", *["café"] * 3, *["café 🫠"] * 3, "café 🫠🫠", text, text]
    from_end = [encoder.truncate(text, n, "end", "token").text for n in range(11)]
    assert from_end[:5] == ["", *[" ok"] * 3, "🫠 ok"]


@pytest.mark.parametrize(("keep", "expected"), [("start", "e\u0308\u0308"), ("end", "\u0308\u0308")])
def test_a_grapheme_over_the_budget_is_cut_between_code_points(keep: Keep, expected: str) -> None:
    """Something is better than nothing where one grapheme is longer than the budget."""
    encoder = made_up.encoder(["\u0308".encode()], r"[\s\S]")
    text = "e" + "\u0308" * 50
    result = encoder.truncate(text, len(expected), keep)
    assert result.text == expected


def test_the_edge_of_a_control_token_is_a_place_to_cut() -> None:
    """A mark behind a control token is not part of it: the token is kept whole or not at all."""
    encoder = ours("cl100k_base")
    text = "ab<|endoftext|>\u0308\u0308\u0308 c"
    kept = {encoder.truncate(text, n, special="allow").text for n in range(8)}
    assert "ab<|endoftext|>" in kept
    assert not any("<" in part and "<|endoftext|>" not in part for part in kept)


class CountingEncoder:
    """An encoder that counts how often it is asked to encode, and how many bytes in all."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.control_tokens = encoder.control_tokens
        self.n_calls = 0

    def encode(self, text: str | bytes, **options: Any) -> object:
        self.n_calls += 1
        return self.encoder.encode(text, **options)


@pytest.mark.parametrize("n", [64, 1024])
def test_steps_back_double(n: int) -> None:
    """Where every cut doubles the count, a logarithmic number of steps finds a place, not far from the best."""
    encoder = made_up.encoder([b"aa"], r"aa(?=a*b)|a|b")
    counting = CountingEncoder(encoder)
    text = "aa" * n + "b"
    result = truncate(counting, text, n // 2)  # type: ignore[arg-type]
    check(encoder, text, result, n // 2, "start", "text")
    assert counting.n_calls <= 2 + N_SINGLE_STEPS + n.bit_length()
    assert result.n_tokens >= n // 8


@given(
    st.lists(st.sampled_from(CLUSTERS), max_size=24).map("".join), st.lists(st.integers(0, 60), max_size=6)
)
@example("🇫" * 9 + "a" + "🇷" * 4, [11, 9, 6, 5, 1])
def test_graphemes_near_a_place_are_those_of_the_whole_text(text: str, places: list[int]) -> None:
    """Scans from a certain boundary find what a scan from the start finds."""
    edges = boundaries(text)
    places = sorted(min(place, len(text)) for place in places)
    rising, falling = _Graphemes(text), _Graphemes(text)
    assert [rising.ceil(place) for place in places] == [
        min(e for e in edges if e >= place) for place in places
    ]
    places.reverse()
    assert [falling.floor(place) for place in places] == [
        max(e for e in edges if e <= place) for place in places
    ]


@given(
    data=st.lists(
        st.sampled_from([b"\xff", b"\xe2\x82", b"\xf0\x9f\x91", b"ab ", "é".encode(), b"\xc3"])
    ).map(b"".join),
    max_tokens=st.integers(0, 20),
    keep=keeps,
    cut=cuts,
)
def test_kept_bytes_are_those_that_were_sent(data: bytes, max_tokens: int, keep: Keep, cut: Cut) -> None:
    """Ill-formed parts become U+FFFD in the text; the kept range is in the bytes as sent and repairs to the text."""
    encoder = ours("cl100k_base")
    result = encoder.truncate(data, max_tokens, keep, cut, invalid="replace")
    whole = repair(data)[0].decode()
    assert (whole.startswith if keep == "start" else whole.endswith)(result.text)
    assert result.n_tokens == encoder.count(result.text) <= max_tokens
    assert result.n_tokens_before == encoder.count(whole)
    ((start, end),) = result.kept
    assert repair(data[start:end])[0].decode() == result.text
    assert result.truncated == (result.text != whole)


def test_faults_of_the_text_are_those_of_encoding_it() -> None:
    """Ill-formed text and rejected control tokens are reported with their place in the text as sent."""
    encoder = ours("cl100k_base")
    with pytest.raises(InvalidUtf8Error):
        encoder.truncate(b"ab\xff", 1)
    with pytest.raises(InvalidUtf8Error):
        encoder.truncate("ab\ud800", 1)
    assert encoder.truncate("ab\ud800", 5, invalid="replace").text == "ab\ufffd"
    with pytest.raises(ControlTokenError) as caught:
        encoder.truncate(b"\xff\xff<|endoftext|>", 1, special="reject", invalid="replace")
    assert caught.value.byte_start == 2


BAD_CALLS: dict[str, Callable[[Encoder], object]] = {
    "a negative budget": lambda encoder: encoder.truncate("a", -1),
    "an unknown end": lambda encoder: encoder.truncate("a", 1, "middle"),  # type: ignore[arg-type]
    "an unknown cut": lambda encoder: encoder.truncate("a", 1, cut="word"),  # type: ignore[arg-type]
    "ids only at a grapheme": lambda encoder: encoder.truncate("a", 1, ids_only=True),
}


@pytest.mark.parametrize("call", BAD_CALLS.values(), ids=BAD_CALLS)
def test_an_option_that_cannot_be_is_an_error(call: Callable[[Encoder], object]) -> None:
    """Nothing is guessed, also where the text would fit."""
    with pytest.raises(TokenizerError):
        call(made_up.encoder())


def test_a_budget_below_what_is_always_added_is_an_error() -> None:
    """Where even the empty text has tokens, the error says how many."""

    class AddsOne(CountingEncoder):
        def encode(self, text: str | bytes, **options: Any) -> object:
            return super().encode(b"!" + (text.encode() if isinstance(text, str) else text), **options)

    with pytest.raises(BudgetTooSmallError) as caught:
        truncate(AddsOne(made_up.encoder()), "abc", 0)  # type: ignore[arg-type]
    assert (caught.value.max_tokens, caught.value.least) == (0, 1)
