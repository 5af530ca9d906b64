"""Decoding: all at once and as ids arrive."""

from __future__ import annotations

import array
import gc
import itertools
import random
from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenwire_core import Encoder, IdOutOfRangeError

from tests.core import made_up
from tests.rank_files import ours, parse_ranks, rank_file

TOKENS = [b"ab", "é".encode(), "\ufffd".encode(), "👍".encode()[:2], "👍".encode()[2:] + b"!", b"\xe2\x82"]
CONTROL = 300
HOLE = 299


def small() -> Encoder:
    return made_up.encoder(TOKENS, special_tokens={"<x>": CONTROL})


ids_of_small = st.lists(
    st.one_of(
        st.integers(0, 255),
        st.integers(0x80, 0xF5),  # most of them part of a character, or of none
        st.integers(256, 255 + len(TOKENS)),
        st.just(CONTROL),
    ),
    max_size=40,
)


def joined(ids: Iterable[int], skip_special: bool = False) -> bytes:
    """The bytes by definition."""
    entries = [bytes((byte,)) for byte in range(256)] + TOKENS
    return b"".join((b"" if skip_special else b"<x>") if id_ == CONTROL else entries[id_] for id_ in ids)


@given(ids_of_small, st.booleans())
def test_decoding_joins_the_bytes_of_the_tokens(ids: list[int], skip_special: bool) -> None:
    """Bytes are joined; in the text each maximal ill-formed part is one U+FFFD."""
    encoder = small()
    assert encoder.decode_bytes(ids, skip_special=skip_special) == joined(ids, skip_special)
    assert encoder.decode(ids, skip_special=skip_special) == joined(ids, skip_special).decode(
        "utf-8", "replace"
    )


CONTAINERS: dict[str, Callable[[Sequence[int]], Iterable[int]]] = {
    "tuple": tuple,
    "iterator": iter,
    "deque of int subclasses": lambda ids: [type("Id", (int,), {})(id_) for id_ in ids],
    "uint32": lambda ids: array.array("I", ids),
    "int32": lambda ids: array.array("i", ids),
    "int64": lambda ids: array.array("q", ids),
    "uint64": lambda ids: array.array("Q", ids),
    "uint16": lambda ids: array.array("H", ids),
    "a slice of every second": lambda ids: memoryview(
        array.array("I", itertools.chain.from_iterable((id_, HOLE) for id_ in ids))
    )[::2],
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_ids_may_come_in_any_container(container: Callable[[Sequence[int]], Sequence[int]]) -> None:
    """Lists, iterables and buffers of integers of any width are the same ids."""
    ids = [104, 256, 257, CONTROL, 33]
    assert small().decode_bytes(container(ids)) == b"hab\xc3\xa9<x>!"
    assert small().decode_bytes(container([])) == b""


BAD_IDS = [-1, HOLE, CONTROL + 1, 2**31, 2**32, 2**32 + 97, 2**63, 2**64, 2**64 + 97, -(2**63), -(2**70)]


@pytest.mark.parametrize("bad", BAD_IDS)
def test_an_id_that_is_none_is_refused_with_its_place(bad: int) -> None:
    """Negative, past the vocabulary or in a hole, of any size: an error with the index, never another token."""
    with pytest.raises(IdOutOfRangeError) as caught:
        small().decode([97, 98, bad, -1])
    assert (caught.value.index, caught.value.vocab_size) == (2, CONTROL + 1)


@pytest.mark.parametrize(
    "ids",
    [
        array.array("i", [97, -1]),
        array.array("q", [97, -1]),
        array.array("q", [97, 2**32 + 97]),
        array.array("Q", [97, 2**64 - 1]),
        array.array("I", [97, 2**32 - 1]),
        array.array("I", [97, HOLE]),
    ],
    ids=lambda ids: f"{ids.typecode} {ids[1]}",
)
def test_an_id_in_a_buffer_that_is_none_is_refused_with_its_place(ids: Sequence[int]) -> None:
    """Nothing wraps around."""
    with pytest.raises(IdOutOfRangeError) as caught:
        small().decode_bytes(ids)
    assert caught.value.index == 1


@pytest.mark.parametrize("ids", [[1.0], ["1"], [None], "ab", 5, None])
def test_what_is_no_integer_is_a_type_error(ids: Sequence[int]) -> None:
    """A float is not rounded and a digit is not read."""
    with pytest.raises(TypeError):
        small().decode_bytes(ids)


@given(ids_of_small, st.lists(st.integers(0, 5), max_size=40), st.booleans())
def test_pushing_gives_what_decoding_gives(ids: list[int], sizes: list[int], skip_special: bool) -> None:
    """However a stream is cut up: all that was pushed, and the flush, are the text of all ids."""
    encoder = small()
    decoder = encoder.decoder(skip_special=skip_special)
    rest = iter(ids)
    texts = [decoder.push(list(itertools.islice(rest, size))) for size in sizes]
    texts += [decoder.push([id_]) for id_ in rest]
    texts.append(decoder.flush())
    assert "".join(texts) == encoder.decode(ids, skip_special=skip_special)
    assert decoder.flush() == ""


@given(ids_of_small)
@example([0xED, 0xA0])  # Python's decoder takes it for the beginning of a surrogate
def test_a_push_holds_back_only_what_may_become_a_character(ids: list[int]) -> None:
    """After each push, what is out and what the bytes so far are certain to give are the same."""
    decoder = small().decoder()
    out = ""
    for n, id_ in enumerate(ids, 1):
        out += decoder.push([id_])
        sure = {joined(ids[:n] + more).decode("utf-8", "replace") for more in ([], [0x80], [0xBF], [0x61])}
        assert all(text.startswith(out) for text in sure)
        assert len(min(sure, key=len)) - len(out) <= 1


def test_a_decoder_in_a_cycle_leaves_the_vocabulary_its_memory() -> None:
    """The collector takes what an object refers to before the object itself goes."""
    for _ in range(8):
        cycle: list[object] = [small().decoder()]
        cycle.append(cycle)
        del cycle
        gc.collect()
    assert small().decode([256, 257]) == "abé"


def test_a_character_is_delivered_with_its_last_byte() -> None:
    """Nothing before, nothing late; what can become no character is out at once, and so is a real U+FFFD."""
    decoder = small().decoder()
    assert [decoder.push([byte]) for byte in "👍".encode()] == ["", "", "", "👍"]
    assert [decoder.push([byte]) for byte in b"\xf0\x9fa"] == ["", "", "\ufffda"]
    assert decoder.push([0xFF]) == "\ufffd"
    assert decoder.push([258]) == "\ufffd"
    assert decoder.push([0xE0]) + decoder.push([0x80]) == "\ufffd\ufffd"
    assert decoder.push([0xE2]) + decoder.flush() == "\ufffd"


def test_a_push_that_fails_changes_nothing() -> None:
    """The stream goes on as if the refused ids had never come."""
    decoder = small().decoder()
    decoder.push([0xF0, 0x9F])
    with pytest.raises(IdOutOfRangeError):
        decoder.push([0x91, HOLE])
    assert decoder.push([0x91, 0x8D]) == "👍"


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_every_id_of_a_published_vocabulary_decodes_to_its_bytes(name: str, seed: int) -> None:
    """All ids, in random order, at once and one by one."""
    file = rank_file(name)
    bytes_of_id = {id_: token for token, id_ in parse_ranks(file.data).items()}
    bytes_of_id |= {id_: spelling.encode() for spelling, id_ in file.special_tokens.items()}
    ids = random.Random(seed).sample(sorted(bytes_of_id), len(bytes_of_id))
    expected = b"".join(bytes_of_id[id_] for id_ in ids)
    assert ours(name).decode_bytes(ids) == expected
    decoder = ours(name).decoder()
    assert "".join([decoder.push([id_]) for id_ in ids]) + decoder.flush() == expected.decode(
        "utf-8", "replace"
    )
