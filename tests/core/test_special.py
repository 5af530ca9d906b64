"""Control tokens appear only where the caller lets them, leftmost first and then longest."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core import ControlTokenError, Segment, TokenizerError, UnknownControlTokenError

from tests.core.made_up import encoder

SPECIALS = {"<|a|>": 300, "<|a|>b": 301, "<|": 302, "é": 303, "<|long and quite unlikely|>": 304}
ENC = encoder([b"|>", b"<|a"], pattern=r"\p{L}+|[^\p{L}]", special_tokens=SPECIALS)
LONGEST_FIRST = re.compile("|".join(re.escape(s) for s in sorted(SPECIALS, key=len, reverse=True)))
texts = st.lists(st.sampled_from([*SPECIALS, "<", "|", "a", "|>", "b", " ", "中", "<|a"]), max_size=12).map(
    "".join
)


@given(texts)
def test_as_text_never_makes_a_control_token(text: str) -> None:
    """By default no id of a control token comes out of any text, and decoding gives the text back."""
    ids = ENC.encode(text).ids
    assert not set(ids) & set(SPECIALS.values())
    assert ENC.decode(ids) == text


@given(texts)
def test_allow_finds_leftmost_longest(text: str) -> None:
    """With `allow` the control ids are those of the leftmost-longest spellings, in order."""
    found = [SPECIALS[match.group()] for match in LONGEST_FIRST.finditer(text)]
    encoding = ENC.encode(text, special="allow")
    assert [id for id in encoding.ids if id in SPECIALS.values()] == found
    assert ENC.decode(encoding.ids) == text


@given(texts, st.frozensets(st.sampled_from(sorted(SPECIALS))))
def test_a_set_allows_its_members_alone(text: str, allowed: frozenset[str]) -> None:
    """Spellings outside the set stay text, and do not hide shorter ones inside the set."""
    longest_first = sorted(allowed, key=len, reverse=True)
    pattern = "|".join(re.escape(s) for s in longest_first) if allowed else r"(?!)"
    found = [SPECIALS[match.group()] for match in re.finditer(pattern, text)]
    ids = ENC.encode(text, special=allowed).ids
    assert [id for id in ids if id in SPECIALS.values()] == found
    assert ENC.count(text, special=allowed) == len(ids)


@given(texts)
def test_the_report_names_every_spelling_where_it_stands(text: str) -> None:
    """`find_control_tokens` slices the text's bytes to exactly the spellings it names."""
    utf8 = text.encode()
    found = ENC.find_control_tokens(text)
    assert [name for name, *_ in found] == LONGEST_FIRST.findall(text)
    for name, id, start, end in found:
        assert utf8[start:end] == name.encode()
        assert SPECIALS[name] == id


@given(texts)
def test_reject_names_the_first_spelling(text: str) -> None:
    """With `reject` a text with a spelling fails at the first one; any other encodes as by default."""
    first = LONGEST_FIRST.search(text)
    if first is None:
        assert ENC.encode(text, special="reject").ids == ENC.encode(text).ids
        return
    with pytest.raises(ControlTokenError) as caught:
        ENC.count(text, special="reject")
    assert caught.value.token == first.group()
    assert caught.value.byte_start == len(text[: first.start()].encode())


@given(st.lists(st.tuples(texts, st.sampled_from(["text", "allow"])), max_size=5))
def test_segments_keep_their_own_policy_and_never_merge(parts: list[tuple[str, str]]) -> None:
    """The ids of segments are the ids of each by itself, one after the other."""
    segments = [Segment(text, special) for text, special in parts]  # type: ignore[arg-type]
    expected = [id for text, special in parts for id in ENC.encode(text, special=special).ids]  # type: ignore[arg-type]
    encoding = ENC.encode(segments)
    assert encoding.ids == expected
    assert ENC.count(segments) == len(expected)
    assert b"".join(encoding.token_bytes()) == "".join(text for text, _ in parts).encode()


def test_what_is_no_control_token_cannot_be_allowed() -> None:
    """A set with a name the tokenizer does not have is refused; so is an unknown policy."""
    with pytest.raises(UnknownControlTokenError):
        ENC.encode("x", special=frozenset({"<|nope|>"}))
    with pytest.raises(TokenizerError):
        ENC.encode("x", special="everything")  # type: ignore[arg-type]
