"""Merging equals its definition, for any vocabulary and any length of piece."""

from __future__ import annotations

import heapq
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenwire_core.bpe import merge
from tokenwire_core.merge_table import MergeTable
from tokenwire_core.vocab import Vocab

from tests.core.made_up import encoder

# Few letters and many entries, so that merges compete, overlap and get in each other's way.
letters = st.text("ab", min_size=2, max_size=8)
vocabularies = st.lists(letters, min_size=1, max_size=40, unique=True)


def by_definition(tokens: list[bytes], piece: bytes) -> list[int]:
    """Merge the adjacent pair of lowest rank, leftmost first, until there is none."""
    rank = {bytes([byte]): byte for byte in range(256)} | {token: 256 + i for i, token in enumerate(tokens)}
    if piece in rank:
        return [rank[piece]]
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while True:
        pairs = [
            (rank[left + right], i)
            for i, (left, right) in enumerate(itertools.pairwise(parts))
            if left + right in rank
        ]
        if not pairs:
            return [rank[part] for part in parts]
        _, i = min(pairs)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


@given(vocabularies, st.text("ab", min_size=1, max_size=120))
def test_merging_equals_its_definition(tokens: list[str], text: str) -> None:
    """Ids equal the naive merge loop, also where ranks do not grow with length and entries are unreachable."""
    utf8 = [token.encode() for token in tokens]
    assert encoder(utf8).encode(text).ids == by_definition(utf8, text.encode())


@given(vocabularies)
def test_an_unreachable_entry_appears_only_as_a_whole_piece(tokens: list[str]) -> None:
    """`n_unreachable` counts the entries that the definition does not build from their own bytes."""
    utf8 = [token.encode() for token in tokens]
    unreachable = 0
    for i, token in enumerate(utf8):
        others = [b"\xff" * 99 if j == i else other for j, other in enumerate(utf8)]
        # Without its own entry the merge must stop at two parts for the entry's own merge to be the last one.
        unreachable += len(by_definition(others, token)) != 2
    assert encoder(utf8).n_unreachable == unreachable


# Characters of one to four bytes that share some of them, and entries that are any stretch of two of them.
CHARS = "aéê₭₮𐂭𐃭"
STRETCHES = sorted(
    {
        (x + y).encode()[start : start + n]
        for x, y in itertools.product(CHARS, repeat=2)
        for start in range(7)
        for n in range(2, 5)
        if start + n <= len((x + y).encode())
    }
)


def some_stretches(rng: random.Random) -> list[bytes]:
    """Most of the characters, and what gets in their way, in any order."""
    most = [char.encode() for char in CHARS[1:] if rng.random() < 0.8]
    tokens = list(dict.fromkeys(most + rng.sample(STRETCHES, rng.randrange(2, 20))))
    rng.shuffle(tokens)
    return tokens


@pytest.mark.parametrize("seed", range(100))
def test_entries_that_begin_or_end_inside_characters(seed: int) -> None:
    """Merges that join a part of a character with its neighbour, before or after it could become whole."""
    rng = random.Random(seed)
    tokens = some_stretches(rng)
    enc = encoder(tokens)
    for n in range(1, 40):
        text = "".join(rng.choices(CHARS, k=n))
        assert enc.encode(text).ids == by_definition(tokens, text.encode())


@pytest.mark.parametrize("seed", range(100))
def test_pieces_that_are_cut_inside_characters(seed: int) -> None:
    """Bytes that are no text merge as any others."""
    rng = random.Random(seed)
    tokens = some_stretches(rng)
    ids = {bytes([byte]): byte for byte in range(256)} | {token: 256 + i for i, token in enumerate(tokens)}
    table = MergeTable(Vocab(ids, {}))
    for n in range(2, 20):
        piece = b"".join(rng.choices(STRETCHES, k=n))
        if piece not in tokens:  # a whole entry is none of the table's business
            assert table.merge(piece) == by_definition(tokens, piece)


def test_an_entry_no_merges_lead_to() -> None:
    """`xyz` without `xy` or `yz` is found whole and never inside a longer piece."""
    enc = encoder([b"xyz"])
    assert enc.encode("xyz").ids == [256]
    assert enc.encode("wxyz").ids == list(b"wxyz")
    assert enc.n_unreachable == 1


def test_a_vocabulary_past_the_ids_of_18_bits() -> None:
    """Ids above 262,144 merge, decode and count like any other."""
    tokens = [b"%06x" % i for i in range(300_000)]
    pairs = [bytes(pair) for pair in itertools.product(b"0123456789abcdef", repeat=2)]
    fours = [left + right for left in pairs for right in pairs]
    entries = pairs + fours + tokens
    enc = encoder(entries)
    last = 255 + len(entries)
    assert enc.vocab_size == last + 1
    assert enc.encode("0493df").ids == [last]
    assert enc.decode([last]) == "0493df"
    for text in ("0493df0493de", "x0493dfx", "x040404x"):
        assert enc.encode(text).ids == by_definition(entries, text.encode())
    assert enc.encode("x040404x").ids == [ord("x"), last - 299_999 + 0x040404, ord("x")]


@given(st.text("ab", min_size=1, max_size=12), st.integers(1, 400))
def test_repetition_merges_the_same_by_scan_and_by_heap(unit: str, times: int) -> None:
    """Runs of any length, which the two merge algorithms share between them, equal the definition."""
    tokens = [b"ab", b"ba", b"aa", b"abab", b"aaa", b"bb", b"abaa", b"aaaa"]
    text = (unit * times)[:600]
    assert encoder(tokens).encode(text).ids == by_definition(tokens, text.encode())


small_ids = st.integers(0, 7)
JOINS_WITH_NOTHING = 1 << 31
Symbols = list[tuple[int, int]]
merge_tables = st.dictionaries(
    st.tuples(small_ids, small_ids), st.tuples(st.integers(0, 5), small_ids), max_size=30
)
"""Ranks and results by pairs: some ranks and some results are equal."""


def joined_by_definition(symbols: Symbols, merges: dict[tuple[int, int], tuple[int, int]]) -> Symbols:
    """Join the two neighbours of lowest rank, the leftmost of equals, until there are none."""
    ids = [id for id, _ in symbols]
    sizes = [n_bytes for _, n_bytes in symbols]
    after = list(range(1, len(symbols) + 1))
    before = list(range(-1, len(symbols) - 1))
    queue: list[tuple[int, int, int, int]] = []

    def offer(left: int) -> None:
        if left >= 0 and after[left] < len(symbols):
            pair = ids[left], ids[after[left]]
            if pair in merges:
                heapq.heappush(queue, (merges[pair][0], left, *pair))

    for left in range(len(symbols)):
        offer(left)
    while queue:
        _, left, *pair = heapq.heappop(queue)
        right = after[left]
        if not sizes[left] or right == len(symbols) or pair != [ids[left], ids[right]]:
            continue
        ids[left] = merges[pair[0], pair[1]][1]
        sizes[left] += sizes[right]
        sizes[right] = 0
        after[left] = after[right]
        if after[left] < len(symbols):
            before[after[left]] = left
        offer(before[left])
        offer(left)
    return [(id, n_bytes) for id, n_bytes in zip(ids, sizes, strict=True) if n_bytes]


@given(
    symbols=st.lists(
        st.tuples(
            st.one_of(small_ids, st.sampled_from([JOINS_WITH_NOTHING | 1, 0xFFFFFFFF])), st.integers(1, 9)
        ),
        max_size=70,
    ),
    merges=merge_tables,
)
def test_symbols_merge_by_definition(
    symbols: Symbols, merges: dict[tuple[int, int], tuple[int, int]]
) -> None:
    """Symbols of any size, merges of equal ranks and equal results, and symbols that join with nothing."""
    assert merge(symbols, list(merges.items())) == joined_by_definition(symbols, merges)


@given(merges=merge_tables, seed=st.integers(0, 99), n=st.integers(2000, 5000), n_ids=st.integers(1, 8))
@settings(max_examples=60)
def test_long_pieces_merge_by_definition(
    merges: dict[tuple[int, int], tuple[int, int]], seed: int, n: int, n_ids: int
) -> None:
    """Pieces that are merged in windows, some of which never meet, because one token covers thousands of symbols."""
    rng = random.Random(seed)
    symbols = [(rng.randrange(n_ids), rng.randrange(1, 4)) for _ in range(n)]
    assert merge(symbols, list(merges.items())) == joined_by_definition(symbols, merges)


@given(
    vocabularies, st.integers(0, 99), st.integers(2000, 5000), st.sampled_from(["ab", "aab", "a" * 20 + "b"])
)
@settings(max_examples=40)
def test_long_pieces_of_a_vocabulary(tokens: list[str], seed: int, n: int, letters: str) -> None:
    """The same for bytes: a long piece has the ids that its merges, in order, make of it."""
    rng = random.Random(seed)
    text = "".join(rng.choice(letters) for _ in range(n))
    assert encoder([token.encode() for token in tokens]).encode(text).ids == ids_by_definition(tokens, text)


@given(
    seed=st.integers(0, 99),
    n=st.integers(2000, 6000),
    unit=st.sampled_from(["ab", "abb"]),
    n_doublings=st.integers(9, 12),
)
@settings(max_examples=30)
def test_tokens_that_are_longer_than_a_window(seed: int, n: int, unit: str, n_doublings: int) -> None:
    """Where windows cannot meet, the piece is merged as a whole, from its bytes on."""
    rng = random.Random(seed)
    tokens = [*("bb"[: len(unit) - 1],) * (len(unit) > 2), *(unit * 2**k for k in range(n_doublings))]
    text = "".join(unit * rng.choice([1, 7, 600, 1500]) + rng.choice(["", "b"]) for _ in range(9))[:n]
    ids = {bytes([byte]): byte for byte in range(256)}
    table = MergeTable(Vocab(ids | {token.encode(): 256 + i for i, token in enumerate(tokens)}, {}))
    assert table.merge(text.encode()) == ids_by_definition(tokens, text)


def ids_by_definition(tokens: list[str], text: str) -> list[int]:
    """As by_definition, for pieces that are no entry, and quicker where they are long."""
    ids = {bytes([byte]): byte for byte in range(256)} | {
        token.encode(): 256 + i for i, token in enumerate(tokens)
    }
    merges = {
        (ids[token[:i]], ids[token[i:]]): (id, id)
        for token, id in ids.items()
        for i in range(1, len(token))
        if token[:i] in ids and token[i:] in ids
    }
    return [id for id, _ in joined_by_definition([(ord(letter), 1) for letter in text], merges)]


def test_long_pieces_come_again() -> None:
    """More of them than there is room for, some soon and some late, and some too long to be kept."""
    rng = random.Random(1)
    tokens = [b"ab", b"ba", b"aa", b"abab", b"bb", b"abaa"]
    ids = {bytes([byte]): byte for byte in range(256)} | {token: 256 + i for i, token in enumerate(tokens)}
    table, enc = MergeTable(Vocab(ids, {})), encoder(tokens)
    pieces: list[bytes] = []
    for _ in range(4000):
        if pieces and rng.random() < 0.4:
            piece = pieces[-rng.choice([1, 2, 50, len(pieces)]) % len(pieces)]
        else:
            piece = bytes(rng.choices(b"ab", k=rng.randrange(28, 1100)))
        pieces.append(piece)
        assert enc.encode(piece.decode()).ids == table.merge(piece)
    n_written = sum(len(piece) + 4 * len(table.merge(piece)) for piece in set(pieces))
    assert n_written > 1.5 * 2**21


@given(st.lists(st.integers(2, 300), max_size=20, unique=True), st.booleans(), st.integers(1025, 3000))
@settings(max_examples=200)
def test_runs_of_one_byte(sizes: list[int], doubling: bool, n: int) -> None:
    """The closed form of a long run is what its merges, in order, make of it, whichever runs are entries."""
    tokens = [
        "a" * size for size in dict.fromkeys([*sizes, *([2, 4, 8, 16, 32, 64, 128] if doubling else [])])
    ]
    assert encoder([token.encode() for token in tokens]).encode("a" * n).ids == ids_by_definition(
        tokens, "a" * n
    )


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 200))
def test_highest_numbers(left: int, right: int, n: int) -> None:
    """The highest ids there can be merge like others, and symbols past them are none of them."""
    top = (1 << 21) - 1
    symbols = [(top - left, 1), (top - right, 1), (0xFFFFFFFF, 1), (top, 1)] * n
    merges = {(top - left, top - right): (0, top), (top, top): (1, 0)}
    assert merge(symbols, list(merges.items())) == joined_by_definition(symbols, merges)
