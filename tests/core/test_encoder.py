"""Laws of the encoder: counts, spans in three units, ill-formed bytes, limits, and many threads at once."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import (
    IdOutOfRangeError,
    InvalidUtf8Error,
    PatternTooSlowError,
    Segment,
    TextTooLongError,
    TokenizerError,
)

from tests.core.made_up import encoder
from tests.strategies import texts

ENC = encoder(
    [b"th", b"the", b" the", b"\xe4\xb8", b"\xf0\x9f", b"\x91\x8d", b"  ", b"\xcc\x81", b"e\xcc"],
    pattern=r" ?\p{L}+|\s+|[^\s\p{L}]+",
    special_tokens={"<|end|>": 400},
)
POLICIES = ["text", "allow", frozenset({"<|end|>"})]
ill_formed = st.lists(
    st.sampled_from(
        [b"a", b"\xff", b"\xe4\xb8", b"\xe4\xb8\xad", b"\xf0\x9f\x91", b"\xed\xa0\x80", b"\xc0\xaf", b" "]
    ),
    max_size=12,
).map(b"".join)


@pytest.mark.parametrize("ids", [[-1], [1 << 40], [401], [0, 399]])
def test_the_bytes_of_what_is_no_id(ids: list[int]) -> None:
    """They are an error with its place, also in a hole."""
    with pytest.raises(IdOutOfRangeError):
        ENC.token_bytes(ids)


@given(texts(), st.sampled_from(POLICIES))
def test_count_is_the_length_of_encode(text: str, special: str | frozenset[str]) -> None:
    """Counting makes no ids and agrees with encoding for every policy, for text and for its bytes."""
    encoding = ENC.encode(text, special=special)  # type: ignore[arg-type]
    assert ENC.count(text, special=special) == len(encoding) == len(encoding.ids)  # type: ignore[arg-type]
    assert ENC.encode(text.encode(), special=special).ids == encoding.ids  # type: ignore[arg-type]
    assert encoding.ids_u32.tolist() == encoding.ids


@given(texts(), st.integers(0, 50))
def test_a_limit_stops_no_earlier_than_it_is_passed(text: str, limit: int) -> None:
    """With a limit the count is exact up to it, and some number above it beyond."""
    exact = ENC.count(text)
    counted = ENC.count(text, limit=limit)
    assert counted == exact if exact <= limit else limit < counted <= exact


@given(texts())
def test_byte_spans_tile_the_text(text: str) -> None:
    """Spans follow each other from the first byte to the last, and are the tokens' bytes."""
    utf8 = text.encode()
    encoding = ENC.encode(text)
    edge = 0
    for (start, end), token in zip(encoding.offsets(), encoding.token_bytes(), strict=True):
        assert start == edge
        assert utf8[start:end] == token
        edge = end
    assert edge == len(utf8) == encoding.n_bytes


@given(texts(), st.sampled_from(["codepoint", "utf16"]))
def test_character_spans_cover_what_a_token_touches(text: str, unit: str) -> None:
    """In other units a span is the characters its bytes touch; tokens that split one are listed."""
    width = [1 if unit == "codepoint" or ord(character) < 0x10000 else 2 for character in text]
    at_byte: list[tuple[int, int, int, int]] = []  # of each byte: span of its character in unit, in bytes
    position = byte = 0
    for character, step in zip(text, width, strict=True):
        size = len(character.encode())
        at_byte += [(position, position + step, byte, byte + size)] * size
        position += step
        byte += size
    encoding = ENC.encode(text)
    expected, partial = [], []
    for i, (start, end) in enumerate(encoding.offsets()):
        expected.append((at_byte[start][0], at_byte[end - 1][1]))
        if start != at_byte[start][2] or end != at_byte[end - 1][3]:
            partial.append(i)
    assert encoding.offsets(unit) == expected  # type: ignore[arg-type]
    assert encoding.partial_tokens() == partial


@given(ill_formed)
def test_ill_formed_bytes_are_refused_or_replaced(data: bytes) -> None:
    """As an error the position is where Python sees it; replaced, ids are those of Python's replacement."""
    repaired = data.decode("utf-8", "replace")
    encoding = ENC.encode(data, invalid="replace")
    assert encoding.ids == ENC.encode(repaired).ids
    edge = 0
    for start, end in encoding.offsets():
        assert start == edge
        assert end >= start
        edge = end
    assert edge == len(data)
    well_formed = len(data.decode("utf-8", "ignore").encode()) == len(data)
    if well_formed:
        assert ENC.encode(data).ids == encoding.ids
        return
    with pytest.raises(UnicodeDecodeError) as expected:
        data.decode()
    with pytest.raises(InvalidUtf8Error) as caught:
        ENC.encode(data)
    assert caught.value.byte_position == expected.value.start


def test_a_lone_surrogate_is_refused_or_replaced() -> None:
    """A str that no UTF-8 can hold is an error with its place, or repaired as the reference repairs it."""
    with pytest.raises(InvalidUtf8Error) as caught:
        ENC.encode("é\ud83d")
    assert caught.value.byte_position == 2
    assert ENC.encode("\ud83d\udc4d \ud83d", invalid="replace").ids == ENC.encode("👍 \ufffd").ids


def test_text_a_pattern_leaves_out_has_no_token_and_moves_the_spans() -> None:
    """As in tiktoken, what the pattern does not match is dropped; spans stay where the tokens are."""
    enc = encoder([b"ab"], pattern="[a-z]+")
    encoding = enc.encode("ab 12 cd")
    assert encoding.ids == [256, *b"cd"]
    assert encoding.offsets() == [(0, 2), (6, 7), (7, 8)]


class BoastfulBytes(bytes):
    """Bytes that are wrong about their length."""

    def __len__(self) -> int:
        return 50_000_000


class MuteStr(str):
    """A str that encodes to nothing."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        return b""


def test_subclasses_are_taken_for_what_they_hold() -> None:
    """What a subclass says of itself decides nothing: the characters do."""
    text = "the 👍 end" * 1000
    expected = ENC.encode(text)
    for other in (MuteStr(text), BoastfulBytes(text.encode())):
        for encoding in (ENC.encode(other), ENC.encode([Segment(other)])):
            assert encoding.ids == expected.ids
            assert encoding.offsets("codepoint") == expected.offsets("codepoint")
    assert ENC.encode(BoastfulBytes(b"a\xff"), invalid="replace").ids == ENC.encode("a\ufffd").ids


def test_replaced_parts_of_segments_are_mapped_to_the_bytes_as_sent() -> None:
    """Spans of segments count in all bytes sent, also behind an ill-formed part."""
    encoding = ENC.encode([Segment(b"\xffthe"), Segment("é"), Segment(b"\xe4\xb8 the")], invalid="replace")
    sent = b"\xffthe" + "é".encode() + b"\xe4\xb8 the"
    spans = encoding.offsets()
    assert spans[0][0] == 0
    assert spans[-1] == (len(sent) - 4, len(sent))
    assert all(end == start for (_, end), (start, _) in itertools.pairwise(spans))


def test_limits_of_the_regex_path_hold_for_the_whole_text() -> None:
    """Control tokens cut a text into runs, but its length and its time are limited as one."""
    enc = encoder(pattern=r"(?:\w+\w+)+;|\S", special_tokens={"<|end|>": 400})
    assert enc.max_text_bytes is not None
    with pytest.raises(TextTooLongError) as caught:
        enc.encode(("a" * 100 + "<|end|>") * (enc.max_text_bytes // 100), special="allow")
    assert caught.value.limit == enc.max_text_bytes
    slow = "a" * 150 + "<|end|>"
    enc.encode(slow, special="allow")
    with pytest.raises(PatternTooSlowError):
        enc.encode(slow * 300, special="allow")


def test_options_a_rank_file_does_not_have() -> None:
    """A pair of texts, an unknown way with ill-formed bytes and an unknown unit are refused, not ignored."""
    with pytest.raises(TokenizerError):
        ENC.encode("a", "b")
    with pytest.raises(TokenizerError):
        ENC.encode("a", invalid="drop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unit"):
        ENC.encode("a").offsets("word")  # type: ignore[arg-type]
    for text in (3, bytearray(b"x"), memoryview(b"x"), ["a"], None):
        with pytest.raises(TypeError, match="text must be"):
            ENC.encode(text)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ENC.count("a", limit=1.5)  # type: ignore[arg-type]
    with pytest.raises(TokenizerError):
        ENC.count("a", limit=-1)
    assert ENC.count("a", limit=2**70) == 1


def test_one_encoder_serves_many_threads() -> None:
    """Ten threads with texts of their own get the ids one thread gets, batched or not."""
    inputs = [f"the {i} éé 👍 thethe <|end|>" * (1 + 30 * (i % 3)) for i in range(100)]
    expected = [ENC.encode(text).ids for text in inputs]
    wrong: list[int] = []
    start = threading.Barrier(10)

    def work(first: int) -> None:
        start.wait()
        for i in [*range(first, 100), *range(first)]:
            if ENC.encode(inputs[i]).ids != expected[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(10 * i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert [encoding.ids for encoding in ENC.encode_batch(inputs, threads=4)] == expected
