"""Rank files: what is read, and one malformed file for every mistake there is a name for."""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import ArtifactError
from tokenwire_core.formats.tiktoken_ranks import (
    MAX_LINE_BYTES,
    MAX_PATTERN_BYTES,
    MAX_TOKEN_BYTES,
    read_tiktoken_ranks,
)
from tokenwire_core.spec import MAX_CONTROL_TOKEN_BYTES, MAX_VOCAB_SIZE, RankFileSpec

from tests.core import made_up
from tests.rank_files import parse_ranks, rank_file

BASE = made_up.rank_file([b"ab", b"abc"])
HIGHEST = MAX_VOCAB_SIZE - 1


def line(token: bytes, rank: object) -> bytes:
    return base64.b64encode(token) + f" {rank}\n".encode()


def read(data: bytes, special_tokens: Mapping[str, int] | None = None) -> RankFileSpec:
    return read_tiktoken_ranks(data, pattern=made_up.WHOLE, special_tokens=special_tokens)


BAD_FILES = {
    "no bytes": ("EMPTY", b"", None),
    "only line ends": ("EMPTY", b"\n\r\n\n", None),
    "a line without a rank": ("BAD_LINE", BASE + b"eHl6\n", 259),
    "a line of blanks": ("BAD_LINE", BASE + b"  \n", 259),
    "a line with three fields": ("BAD_LINE", BASE + b"eHl6 300 1\n", 259),
    "cut off inside a token": ("BAD_LINE", BASE[:-7], 258),
    "base64 without its padding": ("BAD_BASE64", BASE + b"eHk 300\n", 259),
    "a character that is not base64": ("BAD_BASE64", BASE + b"eHl*6 300\n", 259),
    "a byte order mark": ("BAD_BASE64", b"\xef\xbb\xbf" + BASE, 1),
    "a rank of letters": ("BAD_RANK", BASE + b"eHl6 ten\n", 259),
    "a signed rank": ("BAD_RANK", BASE + b"eHl6 +300\n", 259),
    "a negative rank": ("BAD_RANK", BASE + b"eHl6 -1\n", 259),
    "a rank with an underscore": ("BAD_RANK", BASE + b"eHl6 3_00\n", 259),
    "a rank one too high": ("BAD_RANK", BASE + line(b"xyz", HIGHEST + 1), None),
    "a rank of a thousand digits": ("BAD_RANK", BASE + line(b"xyz", "9" * 1000), None),
    "a line one too long": ("LINE_TOO_LONG", BASE + b"A" * (MAX_LINE_BYTES - 3) + b" 300\n", 259),
    "a line of a megabyte": ("LINE_TOO_LONG", BASE + b"A" * 2**20, 259),
    "a token one too long": ("TOKEN_TOO_LONG", BASE + line(b"x" * (MAX_TOKEN_BYTES + 1), 300), None),
    "more lines than ids": ("TOO_MANY_TOKENS", b"\n" * (MAX_VOCAB_SIZE + 1), None),
    "more old line ends than ids": ("TOO_MANY_TOKENS", b"\r" * (MAX_VOCAB_SIZE + 1), None),
    "a rank twice": ("DUPLICATE_RANK", BASE + line(b"xyz", 257), 259),
    "a rank twice, once with a zero": ("DUPLICATE_RANK", BASE + line(b"xyz", "0257"), 259),
    "a token twice": ("DUPLICATE_TOKEN", BASE + line(b"ab", 300), 259),
    "a token twice, in other base64": ("DUPLICATE_TOKEN", BASE + b"YWK= 300\n" + line(b"ab", 301), 259),
    "a line twice": ("DUPLICATE_TOKEN", BASE + line(b"ab", 256), 259),
    "a byte that is no token": ("MISSING_BYTE", BASE.replace(line(b"\x7f", 127), b""), None),
    "flipped bit": ("DUPLICATE_TOKEN", BASE.replace(line(b"ab", 256), line(b"a", 256)), 257),
}


@pytest.mark.parametrize(("reason", "data", "line_number"), BAD_FILES.values(), ids=BAD_FILES)
def test_every_mistake_in_a_file_has_its_name(reason: str, data: bytes, line_number: int | None) -> None:
    """A malformed file is refused, saying what is wrong and in which line."""
    with pytest.raises(ArtifactError) as caught:
        read(data)
    assert (caught.value.reason, caught.value.line) == (reason, line_number)


GOOD_FILES = {
    "empty lines": (BASE.replace(b"\n", b"\n\n"), 258),
    "windows line ends": (BASE.replace(b"\n", b"\r\n"), 258),
    "old line ends": (BASE.replace(b"\n", b"\r"), 258),
    "no last line end": (BASE.rstrip(), 258),
    "a hole": (BASE + line(b"xyz", 1000), 1001),
    "the highest rank": (BASE + line(b"xyz", HIGHEST), MAX_VOCAB_SIZE),
    "the longest token": (BASE + line(b"x" * MAX_TOKEN_BYTES, 258), 259),
    "a token of no bytes": (BASE + b"= 258\n", 259),
}


@pytest.mark.parametrize(("data", "vocab_size"), GOOD_FILES.values(), ids=GOOD_FILES)
def test_what_tiktoken_reads_is_read_to_the_same_tokens(data: bytes, vocab_size: int) -> None:
    """Line ends, empty lines, holes and the token of no bytes are no mistakes."""
    spec = read(data)
    assert dict(spec.ranks) == parse_ranks(data)
    assert spec.vocab_size == vocab_size
    assert spec.files == (hashlib.sha256(data).hexdigest(),)


@given(st.randoms())
def test_ranks_come_in_id_order_whatever_order_the_lines_have(random: Random) -> None:
    """The order of lines is no part of a tokenizer."""
    lines = BASE.splitlines(keepends=True)
    random.shuffle(lines)
    assert list(read(b"".join(lines)).ranks.items()) == list(read(BASE).ranks.items())


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_published_files_are_read_to_the_same_tokens(name: str) -> None:
    """The embedded files give what a plain reader of base64 and decimals gives."""
    file = rank_file(name)
    spec = read_tiktoken_ranks(file.data, pattern=file.pattern, special_tokens=file.special_tokens)
    assert dict(spec.ranks) == parse_ranks(file.data)
    assert dict(spec.special_tokens) == dict(file.special_tokens)
    assert spec.control_tokens == tuple(spec.special_tokens)


def test_every_file_of_the_reference_data_is_read(reference_data: Path) -> None:
    """Files of other makers: holes, a token of no bytes, thousands of special tokens."""
    files = sorted((reference_data / "artifacts").glob("*.tiktoken.xz"))
    assert files
    for path in files:
        data = lzma.decompress(path.read_bytes())
        encoding = json.loads(path.with_name(path.name.replace(".tiktoken.xz", ".encoding.json")).read_text())
        spec = read_tiktoken_ranks(
            data, pattern=encoding["pat_str"], special_tokens=encoding["special_tokens"]
        )
        assert dict(spec.ranks) == parse_ranks(data)
        assert dict(spec.special_tokens) == encoding["special_tokens"]


BAD_SPECIALS: dict[str, tuple[str, dict[object, object]]] = {
    "no spelling": ("BAD_SPECIAL", {"": 300}),
    "a spelling one byte too long": ("BAD_SPECIAL", {"é" * (MAX_CONTROL_TOKEN_BYTES // 2) + "x": 300}),
    "a lone surrogate": ("BAD_SPECIAL", {"<\ud800>": 300}),
    "a spelling in bytes": ("BAD_SPECIAL", {b"<x>": 300}),
    "an id that is a string": ("BAD_SPECIAL", {"<x>": "300"}),
    "an id that is a truth value": ("BAD_SPECIAL", {"<x>": True}),
    "a negative id": ("BAD_SPECIAL", {"<x>": -1}),
    "an id one too high": ("BAD_SPECIAL", {"<x>": MAX_VOCAB_SIZE}),
    "an id far too high": ("BAD_SPECIAL", {"<x>": 2**64}),
    "the id of a rank": ("COLLIDING_SPECIAL", {"<x>": 257}),
    "two of one id": ("COLLIDING_SPECIAL", {"<x>": 300, "<y>": 300}),
    "the spelling of a token": ("COLLIDING_SPECIAL", {"abc": 300}),
}


@pytest.mark.parametrize(("reason", "special_tokens"), BAD_SPECIALS.values(), ids=BAD_SPECIALS)
def test_every_mistake_in_a_special_token_has_its_name(reason: str, special_tokens: dict[str, int]) -> None:
    """A special token is a short spelling of its own with an id of its own."""
    with pytest.raises(ArtifactError) as caught:
        read(BASE, special_tokens)
    assert caught.value.reason == reason


def test_special_tokens_may_reach_their_limits_and_fill_holes() -> None:
    """At the limit is not over it."""
    special_tokens = {"é" * (MAX_CONTROL_TOKEN_BYTES // 2): HIGHEST, "<x>": 258}
    spec = read(BASE + line(b"xyz", 259), special_tokens)
    assert list(spec.special_tokens.items()) == sorted(special_tokens.items(), key=lambda entry: entry[1])


@pytest.mark.parametrize(
    ("reason", "pattern"),
    [
        ("MISSING_PATTERN", None),
        ("BAD_PATTERN", ""),
        ("BAD_PATTERN", "\ud800"),
        ("BAD_PATTERN", "x" * (MAX_PATTERN_BYTES + 1)),
        ("BAD_PATTERN", b".+"),
    ],
)
def test_a_pattern_is_needed_and_bounded(reason: str, pattern: str | None) -> None:
    """A rank file says nothing about splitting, so its pattern comes with it."""
    with pytest.raises(ArtifactError) as caught:
        read_tiktoken_ranks(BASE, pattern=pattern)
    assert caught.value.reason == reason


def test_control_tokens_must_be_special_tokens() -> None:
    """A control token that is named but has no id is a mistake, not a wish."""
    spec = read_tiktoken_ranks(BASE, pattern=".", special_tokens={"<x>": 300}, control_tokens=["<x>"])
    assert spec.control_tokens == ("<x>",)
    assert spec.digest == read_tiktoken_ranks(BASE, pattern=".", special_tokens={"<x>": 300}).digest
    with pytest.raises(ArtifactError) as caught:
        read_tiktoken_ranks(BASE, pattern=".", special_tokens={"<x>": 300}, control_tokens=["<y>"])
    assert caught.value.reason == "UNKNOWN_CONTROL_TOKEN"
