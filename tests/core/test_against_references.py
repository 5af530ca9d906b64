"""Parity with `tokenizers` and `sentencepiece` themselves, for every published artifact and whatever text comes.

A text's answer is ids and count in each way to encode that the library knows; of a share of the texts also the
library's own offsets and the text of the ids. Differences are shown as the least text that still has one.
"""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.artifact_files import AS_TEXT, PULLED_NAMES, TABLE, HuggingFace, Layout, Mode, ours, theirs
from tests.core.test_against_tiktoken import CONTEXTS, all_code_points, blocks, corpus_files
from tests.core.test_golden_artifacts import WITH_VECTORS
from tests.strategies import CONTROL_WORDS, LINES, random_text

N_RANDOM_TEXTS = 100_000
SHARE = 50
"""Of how many texts one is also compared by offsets and decode."""
N_SHOWN = 5
MOST_CONTROL_WORDS = 200
"""Of the thousands of `<unused7>` in some vocabularies so many are spelled, nearly, in random texts."""

MOST_OF_A_PAIR = 200
"""Characters of one of two texts."""

Differs = Callable[[str], bool]


def shrunk(text: str, differs: Differs, most_characters: int = 10_000_000) -> str:
    """A least text with a difference: no part of it can go that is a power of two long.

    Of a long text it may not be the least: no more is tried once texts of `most_characters` together were.
    """
    step = 1 << max(len(text).bit_length() - 1, 0)
    while step:
        at = 0
        while at < len(text) and most_characters > 0:
            shorter = text[:at] + text[at + step :]
            most_characters -= len(shorter) + 100
            if differs(shorter):
                text = shorter
            else:
                at += step
        step //= 2
    return text


def ids_differ(name: str, mode: Mode) -> Differs:
    """Whether ids or count of a text are other than the library's."""
    encoder, library = ours(name), theirs(name)

    def differs(text: str) -> bool:
        (want,) = library.ids([text], mode)
        have = encoder.encode(text, special=mode.special, add_special=mode.add_special).ids
        count = encoder.count(text, special=mode.special, add_special=mode.add_special)
        return have != want or count != len(want)

    return differs


def places_or_text_differ(name: str) -> Differs:
    """Whether offsets of a text, or the text of its ids, are other than the library's."""
    encoder, library = ours(name), theirs(name)

    def differs(text: str) -> bool:
        encoding = encoder.encode(text)
        if encoding.offsets(library.unit, reference=True) != library.offsets([text])[0]:
            return True
        return encoder.decode(encoding.ids, reference=True) != library.decode([encoding.ids])[0]

    return differs


def differences(name: str, texts: Iterable[str], modes: Sequence[Mode] | None = None) -> list[str]:
    """What differs, as sentences; ids of all texts, places and decodes of every `SHARE`-th."""
    encoder, library = ours(name), theirs(name)
    found: dict[str, int] = {}

    def is_enough(what: str, text: str, differs: Differs) -> bool:
        """Note a difference: whether there are enough now, of other or the same least texts."""
        shown = f"{what}: {shrunk(text, differs)!a}"
        found[shown] = found.get(shown, 0) + 1
        return len(found) >= N_SHOWN or sum(found.values()) >= 4 * N_SHOWN

    for block in blocks(texts):
        for mode in modes or library.modes:
            want = library.ids(block, mode)
            have = [
                encoding.ids
                for encoding in encoder.encode_batch(
                    block, special=mode.special, add_special=mode.add_special
                )
            ]
            counts = [
                encoder.count(text, special=mode.special, add_special=mode.add_special) for text in block
            ]
            if have == want and counts == list(map(len, want)):
                continue
            for text, expected, ids, count in zip(block, want, have, counts, strict=True):
                if ids != expected or count != len(expected):
                    what = f"ids, {mode.special}, add_special {mode.add_special}"
                    if is_enough(what, text, ids_differ(name, mode)):
                        return list(found)
        differs = places_or_text_differ(name)
        for text in filter(differs, block[::SHARE]):
            if is_enough("offsets or decode", text, differs):
                return list(found)
    return list(found)


def control_words(name: str, rng: random.Random) -> list[str]:
    """Spellings of control and added tokens, of this artifact and of others."""
    own = [token for token in ours(name).special_tokens if token]
    return [*CONTROL_WORDS, *(own if len(own) <= MOST_CONTROL_WORDS else rng.sample(own, MOST_CONTROL_WORDS))]


@functools.cache
def lines() -> Sequence[str]:
    """Lines of the corpora, where they are."""
    folder = os.environ.get("TOKENWIRE_TEST_DATA")
    if not folder:
        return LINES
    corpora = corpus_files(Path(folder)).values()
    return [line for text in corpora for line in text.splitlines()[:500] if line.strip()]


def random_texts(name: str, seed: str, n_texts: int) -> Iterator[str]:
    rng = random.Random(f"{seed}/{name}")
    words = control_words(name, rng)
    most = limit(name)
    for _ in range(n_texts):
        text = random_text(rng, words, lines())
        if len(text.encode()) <= most:
            yield text


def has_pairs(name: str) -> bool:
    return TABLE[name].format == "hf_json"


def limit(name: str) -> int:
    """The most bytes of a text that our encoder takes at once."""
    return ours(name).max_text_bytes or 1 << 30


def parts(text: str, most_bytes: int) -> Iterator[str]:
    """A text whole, or where that is too much in parts of whole lines."""
    if len(text.encode()) <= most_bytes:
        yield text
        return
    size = 0
    part: list[str] = []
    for line in text.splitlines(keepends=True):
        size += len(line.encode())
        if size > most_bytes and part:
            yield "".join(part)
            size, part = len(line.encode()), []
        part.append(line)
    yield "".join(part)


def random_ids(name: str, rng: random.Random) -> list[int]:
    return rng.choices(theirs(name).known_ids, k=rng.randint(0, 40))


@pytest.mark.parametrize("name", PULLED_NAMES, scope="module")
def test_some_texts(name: str, seed: int) -> None:
    """A hundred random texts; the long run has 100,000."""
    assert differences(name, random_texts(name, f"{seed}/few", 100)) == []


@pytest.mark.parametrize("name", PULLED_NAMES, scope="module")
def test_some_code_points_in_five_contexts(name: str, seed: int) -> None:
    """A seeded sample of the code points, in each context; the long run has all of them."""
    sample = random.Random(seed).sample(range(0x110000 - 0x800), 200)
    characters = [chr(value if value < 0xD800 else value + 0x800) for value in sample]
    assert differences(name, (put(c) for put in CONTEXTS.values() for c in characters), [AS_TEXT]) == []


def spelled(name: str, most: int | None = None) -> list[str]:
    """Texts that spell each control token: alone, in a word, between blanks and twice."""
    tokens = list(ours(name).control_tokens)[:most]
    return [text for token in tokens for text in (token, f"a{token}b", f" {token} ", token + token)]


def disguised(name: str, most: int | None = None) -> list[str]:
    """Texts that are no control tokens and that a normalizer may make one of."""
    tokens = list(ours(name).control_tokens)[:most]
    wide = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
    makers: tuple[Callable[[str], str], ...] = (
        lambda token: token.translate(wide),
        lambda token: token.replace("s", "\u017f"),
        lambda token: token[:1] + "\u200b" + token[1:],
        str.upper,
        str.lower,
    )
    return [text for token in tokens for make in makers if (text := make(token)) != token]


def check_control_tokens(name: str, most: int | None = None) -> None:
    """Ids are the library's, and no control token is among them but for those that are spelled and allowed."""
    typed, others = spelled(name, most), disguised(name, most)
    assert typed
    assert differences(name, typed + others) == []
    encoder, control = ours(name), theirs(name).control_ids
    assert control == frozenset(encoder.control_tokens.values())
    assert [text for text in typed + others if not control.isdisjoint(encoder.encode(text).ids)] == []
    assert [text for text in typed if control.isdisjoint(encoder.encode(text, special="allow").ids)] == []


@pytest.mark.parametrize("name", PULLED_NAMES, scope="module")
def test_spelled_control_tokens(name: str) -> None:
    """A text that spells a control token, plainly or in disguise, never becomes one unless it is allowed."""
    check_control_tokens(name, 60)


def pair_differences(name: str, n_pairs: int, seed: str) -> list[tuple[Mode, str, str]]:
    """Pairs of texts for which ids, offsets, or what tells tokens apart are other than the library's."""
    encoder, library = ours(name), theirs(name)
    assert isinstance(library, HuggingFace)
    texts = [text[:MOST_OF_A_PAIR] for text in random_texts(name, seed, 2 * n_pairs)]
    found = []
    for text, pair in zip(texts[::2], texts[1::2], strict=True):
        for mode in (Mode("allow", False), Mode("allow", True)):
            encoding = encoder.encode(text, pair, special=mode.special, add_special=mode.add_special)
            layout = Layout(
                encoding.ids,
                encoding.offsets("codepoint", reference=True),
                encoding.type_ids,
                encoding.sequence_ids,
                encoding.word_ids,
                encoding.special_tokens_mask,
            )
            expected = library.layout(text, pair, mode)
            own = [
                id_ for id_, mask in zip(expected.ids, expected.special_tokens_mask, strict=True) if not mask
            ]
            if layout != expected and not library.leaks(f"{text}\0{pair}", own, Mode("allow", False)):
                found.append((mode, text, pair))
    return found[:N_SHOWN]


@pytest.mark.parametrize("name", [name for name in PULLED_NAMES if has_pairs(name)], scope="module")
def test_some_pairs(name: str, seed: int) -> None:
    """Of two texts everything is the library's: ids, offsets, type ids, words, masks; the long run has more."""
    assert pair_differences(name, 20, f"{seed}/pairs") == []


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in WITH_VECTORS if has_pairs(name)], scope="module")
def test_many_pairs(name: str, seed: int) -> None:
    """2,000 random pairs of texts."""
    assert pair_differences(name, 2000, f"{seed}/many pairs") == []


@pytest.mark.parametrize("name", PULLED_NAMES, scope="module")
def test_any_ids(name: str, seed: int) -> None:
    """Ids that come from no text decode to what the library makes of them, with special tokens and without."""
    rng = random.Random(f"{seed}/{name}/ids")
    encoder, library = ours(name), theirs(name)
    lists = [random_ids(name, rng) for _ in range(100)]
    for skip_special in {False, library.skips_special}:
        found = [encoder.decode(ids, skip_special=skip_special, reference=True) for ids in lists]
        expected = library.decode(lists, skip_special)
        assert [ids for ids, have, want in zip(lists, found, expected, strict=True) if have != want] == []


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_VECTORS, scope="module")
def test_every_spelled_control_token(name: str) -> None:
    """So it is for every control token of every artifact."""
    check_control_tokens(name)


@pytest.mark.long
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("name", WITH_VECTORS, scope="module")
def test_all_code_points(name: str, context: str) -> None:
    """Each of the 1,112,064 code points, in this context; alone also with control tokens allowed and a template."""
    modes = theirs(name).modes if context == "alone" else [AS_TEXT]
    assert differences(name, map(CONTEXTS[context], all_code_points()), modes) == []


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_VECTORS, scope="module")
def test_many_random_texts(name: str, seed: int) -> None:
    """100,000 random texts in each way to encode."""
    assert differences(name, random_texts(name, f"{seed}/many", N_RANDOM_TEXTS)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_VECTORS, scope="module")
def test_corpora_in_full(name: str, reference_data: Path) -> None:
    """Every corpus file as one text, as far as our encoder takes it: ids and count in each way to encode."""
    texts = corpus_files(reference_data).values()
    assert differences(name, (part for text in texts for part in parts(text, limit(name)))) == []
