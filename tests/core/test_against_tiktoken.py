"""Parity with tiktoken itself: the same ids, counts, decodes and byte spans for whatever text comes."""

from __future__ import annotations

import functools
import itertools
import lzma
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rank_files import OPEN_NAMES, ours, theirs
from tests.strategies import random_text, texts

BLOCK_TEXTS = 8192
N_RANDOM_TEXTS = 200_000

CONTEXTS: dict[str, Callable[[str], str]] = {
    "alone": lambda c: c,
    "between letters": lambda c: f"a{c}b",
    "after a blank": lambda c: f" {c}",
    "doubled": lambda c: c + c,
    "between a digit and a newline": lambda c: f"1{c}\n",
}


def all_code_points() -> Iterator[str]:
    """Every code point that UTF-8 can hold."""
    return map(chr, itertools.chain(range(0xD800), range(0xE000, sys.maxunicode + 1)))


def blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    source = iter(texts)
    while block := list(itertools.islice(source, BLOCK_TEXTS)):
        yield block


def id_differences(name: str, texts: Iterable[str], at_most: int = 20) -> list[str]:
    """Texts, escaped, for which ids or count differ from tiktoken's."""
    encoder, reference = ours(name), theirs(name)._core_bpe.encode_ordinary
    found: list[str] = []
    for block in blocks(texts):
        expected = [reference(text) for text in block]
        got = [encoding.ids for encoding in encoder.encode_batch(block)]
        counts = list(map(encoder.count, block))
        if got != expected or counts != list(map(len, expected)):
            found += [
                ascii(text)
                for text, want, have, count in zip(block, expected, got, counts, strict=True)
                if want != have or count != len(want)
            ]
        if len(found) >= at_most:
            break
    return found[:at_most]


@functools.cache
def known_ids(name: str) -> list[int]:
    """Every id of the vocabulary; there may be holes between them."""
    reference = theirs(name)
    return sorted({*reference._mergeable_ranks.values(), *reference._special_tokens.values()})


def check_everything(name: str, text: str) -> None:
    """Ids, count, token bytes, byte spans, code point starts and decodes of one text, against tiktoken."""
    encoder, reference = ours(name), theirs(name)
    ids = reference.encode_ordinary(text)
    encoding = encoder.encode(text)
    assert encoding.ids == ids
    assert encoder.count(text) == len(ids)
    pieces = [reference.decode_single_token_bytes(token_id) for token_id in ids]
    assert encoding.token_bytes() == pieces
    ends = list(itertools.accumulate(map(len, pieces)))
    assert encoding.offsets("byte") == list(zip([0, *ends], ends, strict=False))
    assert encoder.decode(ids) == reference.decode(ids)
    assert [start for start, _ in encoding.offsets("codepoint")] == reference.decode_with_offsets(ids)[1]
    with_control = reference.encode(text, allowed_special="all")
    assert encoder.encode(text, special="allow").ids == with_control
    assert encoder.count(text, special="allow") == len(with_control)
    assert encoder.decode(with_control) == reference.decode(with_control)


@pytest.mark.parametrize("name", OPEN_NAMES)
@given(text=texts())
def test_any_text(name: str, text: str) -> None:
    """Whatever the text, our encoder gives what tiktoken gives."""
    check_everything(name, text)


@pytest.mark.parametrize("name", OPEN_NAMES)
@given(data=st.data())
def test_any_ids(name: str, data: st.DataObject) -> None:
    """Ids that come from no text decode to what tiktoken makes of them, ill-formed UTF-8 included."""
    encoder, reference = ours(name), theirs(name)
    known = known_ids(name)
    ids = [known[at] for at in data.draw(st.lists(st.integers(0, len(known) - 1), max_size=30))]
    assert encoder.decode_bytes(ids) == reference.decode_bytes(ids)
    assert encoder.decode(ids) == reference.decode(ids)


@pytest.mark.parametrize("name", OPEN_NAMES)
def test_random_texts(name: str, seed: int) -> None:
    """A few thousand random texts in bulk; the long run has 200,000."""
    rng = random.Random(f"{seed}/{name}")
    assert id_differences(name, (random_text(rng) for _ in range(2000))) == []


@pytest.mark.parametrize("name", OPEN_NAMES)
def test_some_code_points_in_five_contexts(name: str, seed: int) -> None:
    """A seeded sample of the code points, in each context; the long run has all of them."""
    sample = random.Random(seed).sample(range(0x110000 - 0x800), 3000)
    characters = [chr(value if value < 0xD800 else value + 0x800) for value in sample]
    assert id_differences(name, (put(c) for put in CONTEXTS.values() for c in characters)) == []


@pytest.mark.long
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", OPEN_NAMES)
def test_all_code_points(name: str, context: str) -> None:
    """Each of the 1,112,064 code points, in this context."""
    assert id_differences(name, map(CONTEXTS[context], all_code_points())) == []


@pytest.mark.long
@pytest.mark.parametrize("name", OPEN_NAMES)
def test_many_random_texts(name: str, seed: int) -> None:
    """200,000 random texts over the seven vocabularies, of the kinds of tests/strategies.py."""
    rng = random.Random(f"{seed}/{name}/long")
    each = -(-N_RANDOM_TEXTS // len(OPEN_NAMES))
    assert id_differences(name, (random_text(rng) for _ in range(each))) == []


def corpus_files(folder: Path) -> dict[str, str]:
    """Each corpus file's text, by name."""
    files = sorted((folder / "corpora").glob("*.txt.xz"))
    assert files, f"no corpora in {folder}"
    return {file.name: lzma.decompress(file.read_bytes()).decode() for file in files}


@pytest.mark.parametrize("name", OPEN_NAMES)
def test_corpora_in_full(name: str, reference_data: Path) -> None:
    """Every corpus file as one text: ids, count and round trip."""
    encoder, reference = ours(name), theirs(name)
    different: list[str] = []
    for file, text in corpus_files(reference_data).items():
        encoding = encoder.encode(text)
        same = encoding.ids == reference.encode_ordinary(text)
        if not same or encoder.count(text) != len(encoding.ids) or encoder.decode(encoding.ids) != text:
            different.append(file)
    assert different == []
