"""JSON: what is refused, the limits, and numbers as serde_json reads them."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.formats.hf_normalizers import NFC
from tokenwire_core.formats.strict_json import (
    MAX_JSON_BYTES,
    MAX_JSON_VALUES,
    MAX_NUMBER_LENGTH,
    read_json,
)

from tests.core.hf_documents import UNIGRAM, document, reference, refusal

DOCUMENT = json.dumps(document()).encode()

MALFORMED: dict[str, tuple[str, bytes]] = {
    "nothing": ("EMPTY", b""),
    "blanks": ("BAD_JSON", b" \n"),
    "cut off": ("BAD_JSON", DOCUMENT[:-20]),
    "a stray comma": ("BAD_JSON", DOCUMENT[:-1] + b",}"),
    "a second value": ("BAD_JSON", DOCUMENT + b"{}"),
    "a byte order mark": ("BAD_JSON", b"\xef\xbb\xbf" + DOCUMENT),
    "UTF-16": ("BAD_JSON", DOCUMENT.decode().encode("utf-16")),
    "a byte that is not UTF-8": ("BAD_JSON", DOCUMENT.replace(b"aba", b"\xffba")),
    "a surrogate in UTF-8": ("BAD_JSON", DOCUMENT.replace(b"aba", b"\xed\xa0\x80")),
    "NaN": ("BAD_JSON", DOCUMENT.replace(b"null", b"NaN", 1)),
    "Infinity": ("BAD_JSON", DOCUMENT.replace(b"null", b"-Infinity", 1)),
    "a number with a zero before it": ("BAD_JSON", DOCUMENT.replace(b": 1,", b": 01,")),
    "a number with a plus": ("BAD_JSON", DOCUMENT.replace(b": 1,", b": +1,")),
    "a number that ends in a point": ("BAD_JSON", DOCUMENT.replace(b": 1,", b": 1.,")),
    "a quote of the wrong kind": ("BAD_JSON", DOCUMENT.replace(b'"aba"', b"'aba'")),
    "a control character": ("BAD_JSON", DOCUMENT.replace(b"aba", b"a\na")),
    "an unknown escape": ("BAD_JSON", DOCUMENT.replace(b"aba", rb"\x41")),
    "a comment": ("BAD_JSON", DOCUMENT + b"// end"),
    "a string": ("BAD_VALUE", b'"version"'),
    "an array": ("BAD_VALUE", b"[]"),
    "minus zero as an id": ("BAD_VALUE", DOCUMENT.replace(b'"u": 0', b'"u": -0')),
    "half a surrogate pair in a token": ("BAD_VALUE", DOCUMENT.replace(b"aba", rb"\ud800")),
    "the wrong half first": ("BAD_VALUE", DOCUMENT.replace(b"aba", rb"\udc00\ud800")),
    "half a pair in an added token": (
        "BAD_VALUE",
        DOCUMENT.replace(b'"added_tokens": []', rb'"added_tokens": [{"content": "\udfff"}]'),
    ),
    "arrays 100,000 deep": ("TOO_DEEP", b"[" * 100_000),
    "objects 100,000 deep": ("TOO_DEEP", b'{"a":' * 100_000),
    "a number beyond floats": ("BAD_NUMBER", DOCUMENT.replace(b"null", b"1e309", 1)),
}


def nested(n: int) -> bytes:
    """A document with its normalizer in `n` sequences."""
    return DOCUMENT.replace(
        b'"normalizer": null',
        b'"normalizer": ' + b'{"type": "Sequence", "normalizers": [' * n + b'{"type": "NFC"}' + b"]}" * n,
    )


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files(name: str) -> None:
    """Every way not to be JSON, or not the JSON of a tokenizer, has a reason; the library refuses it, too."""
    reason, data = MALFORMED[name]
    assert data != DOCUMENT
    assert refusal(data).reason == reason
    assert reference(data.decode("utf-8", "surrogateescape")) is None


def test_lines_of_errors() -> None:
    """Where the text stops being JSON, the error has the line."""
    error = refusal(b'{\n"version":\n1.0.0}')
    assert (error.reason, error.line) == ("BAD_JSON", 3)


@pytest.mark.parametrize(
    "data",
    [
        DOCUMENT.replace(b'"u": 0', b'"u": 5, "u": 0'),
        DOCUMENT.replace(b'"version"', b'"version": "1.0", "version"'),
        DOCUMENT.replace(b'"type"', rb'"type": "BPE", "\u0074ype"'),
    ],
    ids=["in a vocabulary", "of the document", "spelled with an escape"],
)
def test_keys_that_come_twice(data: bytes) -> None:
    """A key that comes twice is refused by name: readers do not agree on what it means."""
    error = refusal(data)
    assert error.reason == "DUPLICATE_KEY"
    assert any(f"'{key}'" in str(error) for key in ("u", "version", "type"))


@pytest.mark.parametrize("n_over", [0, 1, MAX_JSON_BYTES])
def test_limit_of_bytes(n_over: int) -> None:
    """A file may have MAX_JSON_BYTES."""
    data = DOCUMENT + b" " * (MAX_JSON_BYTES - len(DOCUMENT) + n_over)
    if n_over:
        assert refusal(data).reason == "TOO_LARGE"
    else:
        assert read_json(data) == document()


@pytest.mark.parametrize("n_over", [1, MAX_JSON_VALUES])
def test_limit_of_values(n_over: int) -> None:
    """A file may have MAX_JSON_VALUES, and one that has more is refused before memory is taken for them."""
    data = b"[" + b"[]," * (MAX_JSON_VALUES // 2 + n_over) + b"0]"
    tracemalloc.start()
    try:
        assert refusal(data).reason == "TOO_LARGE"
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_as_many_values_as_may_be() -> None:
    """A file of just so many values is read."""
    n_empty = MAX_JSON_VALUES // 2 - 1
    value = read_json(b"[" + b"[]," * n_empty + b"0]")
    assert isinstance(value, list)
    assert len(value) == n_empty + 1


@pytest.mark.parametrize("n_over", [0, 1, 100_000])
@pytest.mark.parametrize("start", ["1", "1.", "-", "1e-"])
def test_limit_of_digits(start: str, n_over: int) -> None:
    """A number may have MAX_NUMBER_LENGTH characters."""
    data = (start + "1" * (MAX_NUMBER_LENGTH - len(start) + n_over)).encode()
    if n_over:
        with pytest.raises(ArtifactError) as caught:
            read_json(data)
        assert caught.value.reason == "BAD_NUMBER"
    else:
        assert isinstance(read_json(data), float)


def score(number: str) -> str:
    """A document with a score that is spelled so."""
    return json.dumps(document(model=UNIGRAM)).replace("-1.5", number)


def digits(most: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=1, max_size=most)


SPELLINGS = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(("", "-")),
    st.integers(0, 10**24),
    st.one_of(st.just(""), digits(24).map(".{}".format)),
    st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(("e", "E-", "e+")), digits(3))),
)


@given(SPELLINGS | st.floats(allow_nan=False, allow_infinity=False).map(repr))
@example("-9.876543045043945")
@example("18446744073709551615")
@example("18446744073709551616")
@example("18446744073709551619.3")
@example("-9223372036854775809")
@example("-1.7976931348623159e308")
@example("5e-324")
@example("0e999")
@example("-0")
@example("1e-99999999999999999999")
@example("0e99999999999999999999")
def test_numbers_as_serde_json(number: str) -> None:
    """A number has the value that the library gives it, to the last bit, and is refused where it refuses it."""
    tokenizer = reference(score(number))
    if tokenizer is None:
        assert refusal(score(number).encode()).reason == "BAD_NUMBER"
    else:
        # The library writes the shortest digits that Python reads to the same float.
        theirs = json.loads(tokenizer.to_str())["model"]["vocab"][1][1]
        ours = read_json(number.encode())
        assert isinstance(ours, int | float)
        assert repr(float(ours)) == repr(theirs)


def test_a_number_that_is_not_the_nearest_float() -> None:
    """A common kind of score is read one bit off, as the library reads it."""
    assert float("-9.876543045043945") != read_json(b"-9.876543045043945") == -9.876543045043944


@pytest.mark.parametrize("n", [16, 17, 100])
def test_sequences_within_sequences(n: int) -> None:
    """Sequences may be 16 deep."""
    if n <= 16:
        assert read_hf_json(nested(n)).normalizer == (NFC(),)
    else:
        assert refusal(nested(n)).reason == "TOO_DEEP"
