"""Patterns that are not compiled: the same pieces as tiktoken, and the limits."""

from __future__ import annotations

import random
import sys
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from tokenwire_core import charset
from tokenwire_core.alphabet import MAX_REMEMBERED
from tokenwire_core.encoder import Encoder
from tokenwire_core.errors import ArtifactError, PatternTooSlowError, TextTooLongError
from tokenwire_core.formats.tiktoken_ranks import read_tiktoken_ranks
from tokenwire_core.pattern import MAX_DEPTH, MAX_ITEMS, MAX_REPEATS, MAX_SETS, rewrite
from tokenwire_core.regex_split import RegexSplitter
from tokenwire_core.split import FAMILIES, split

from tests.core.made_up import rank_file
from tests.core.tiktoken_pieces import assert_pieces_are_tiktokens
from tests.strategies import random_text, texts

MADE_UP = {
    "gaps": r"\p{Lu}\p{Ll}*+|(?<=\d)[^\s\d]|\d{1,2}(?=\W)|\s(?!\s)",
    "case": r"(?i:[k-sß]|ǆ|\p{Lu}){1,9}?(?:\p{M}|\b|$)|[\p{Han}\p{sc=Grek}&&[^α]]+|(?i)[^\P{Lu}x]|\S",
    "lines": r"(?m)^[\w--[a-f_]]+|.$|(?s:.)[\p{P}\p{gc=Currency_Symbol}~~!?]{2,}|(?>\n|\r\n?)+?\B|\x{E9}|[^\W]",
}
"""Patterns that between them have most of what is supported, and leave parts of a text unmatched."""


def pieces(pattern: str, texts: list[str]) -> list[list[bytes]]:
    splitter = RegexSplitter(pattern)
    utf8 = [text.encode() for text in texts]
    return [[data[a:b] for a, b in splitter.spans(text)] for text, data in zip(texts, utf8, strict=True)]


def assert_tiktoken_agrees(pattern: str, texts: list[str]) -> None:
    """tiktoken has the pieces of the regex splitter."""
    assert_pieces_are_tiktokens(pattern, texts, pieces(pattern, texts))


def contexts(code_points: range) -> list[str]:
    return [
        context.replace("c", chr(code_point))
        for code_point in code_points
        if not 0xD800 <= code_point < 0xE000
        for context in ("c", "1c!", "acK", "\ncc\n", "αc ")
    ]


@pytest.mark.parametrize("name", MADE_UP)
def test_made_up_patterns_match_what_tiktoken_matches(name: str, seed: int) -> None:
    """Random texts, and one code point in 211 in five contexts."""
    rng = random.Random(seed)
    assert_tiktoken_agrees(MADE_UP[name], [random_text(rng) for _ in range(300)])
    assert_tiktoken_agrees(MADE_UP[name], contexts(range(rng.randrange(211), sys.maxunicode + 1, 211)))


@pytest.mark.long
@pytest.mark.parametrize("name", MADE_UP)
def test_made_up_patterns_on_every_code_point(name: str) -> None:
    """All code points, in five contexts."""
    for first in range(0, sys.maxunicode + 1, 0x4000):
        assert_tiktoken_agrees(MADE_UP[name], contexts(range(first, first + 0x4000)))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"a(?i)b|c", "aBC Abc"),
        (r"(?i:a)(?-i:b)", "Ab AB"),
        (r"(?i)k", "kK\u212a"),
        (r"(?i)ß", "ßẞss"),
        (r"(?i)\w[^a]", "ſAbaſ"),
        (r"[]a]|[^]a-]+", "a]b-c"),
        (r"[a-c-e][-x][a\-z]", "b--exz"),
        (r"[a-z&&[^c]]", "abcd"),
        (r"[\d--3]|[[a-c]~~[b-d]]", "1234abcd"),
        (r"[\s&&[^\S\n]x]", " \nx"),
        (r"[^\s\S]|b", "ab"),
        (r"a$|b\z", "ab\n b"),
        (r"(?m)^a$", "a\na\n\na"),
        (r".+", "a\r\u2028\u0085\nb"),
        (r"(?s).{2}", "\n\n\n"),
        (r"\bq\B|(?<!\w)\W", "qa q !"),
        (r"a{,2}b|c{1,2}+c|d{2}?", "aaab ccc dddd"),
        (r"(?P<name>a)(?<other>b)(c)", "abc"),
        (r"(?>a|ab)c|(?<=a|bc)x", "abc ax bcx"),
        (r"\pL|\P{L}\p{^Lu}\p{Is_Greek}\p{gc=Nd}", "a !1α1"),
        (r"[\p{any}&&\p{ascii}]|\p{LC}{2}", "aéb"),
        (r"\x41\u0042\x{43}\u{44}\U00000045\t\e", "ABCDE\t\x1b"),
        (r"\ \/\%\-\'\{\}]}", " /%-'{}]}"),
    ],
)
def test_each_construct_is_tiktokens(pattern: str, text: str) -> None:
    """What is accepted means what it means there."""
    assert_tiktoken_agrees(pattern, [text, text * 3, text[::-1]])


@pytest.mark.parametrize("pattern", sorted(FAMILIES))
def test_a_compiled_pattern_rewritten_has_the_compiled_pieces(pattern: str, seed: int) -> None:
    """The two ways from a pattern to pieces agree, and so do the encoders made of them."""
    spec = read_tiktoken_ranks(rank_file([b"he", b" t", b" the", b"\xc3\xa9", b"  "]), pattern=pattern)
    compiled, rewritten = Encoder(spec), Encoder(replace(spec, pattern=f"(?:{pattern})"))
    assert (compiled.splitter, rewritten.splitter) == ("compiled", "regex")
    splitter = RegexSplitter(pattern)
    rng = random.Random(seed)
    for text in (random_text(rng) for _ in range(200)):
        assert [end for _, end in splitter.spans(text)] == split(pattern, text.encode()), ascii(text)
        mine, other = compiled.encode(text), rewritten.encode(text)
        assert (mine.ids, mine.spans()) == (other.ids, other.spans())


@given(text=texts())
def test_spans_are_byte_ranges_in_order(text: str) -> None:
    """Spans are not empty, do not overlap, and begin and end between characters."""
    utf8 = text.encode()
    end_before = 0
    for start, end in RegexSplitter(MADE_UP["gaps"]).spans(text):
        assert end_before <= start < end <= len(utf8)
        utf8[start:end].decode()
        end_before = end


def test_empty_matches_are_passed_over() -> None:
    """An empty match is no piece, and the search goes on behind the next character. (tiktoken itself panics.)"""
    assert RegexSplitter("x*").spans("axxb") == [(1, 3)]
    assert RegexSplitter("(?=a)|.").spans("éab") == [(0, 2), (3, 4)]
    assert RegexSplitter("").spans("ab") == []


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (r"(a)\1", r"the back-reference \1"),
        (r"a\Gb", r"the escape \G"),
        (r"\Z", r"the escape \Z"),
        (r"\<a", r"the escape \<"),
        (r"[\h]", r"the escape \h"),
        (r"[\b]", r"the escape \b"),
        (r"\X", r"the escape \X"),
        (r"(a(?i)b)", "the flags (?i) inside a group"),
        (r"(?x)a b", "the group (?x"),
        (r"(?-u:\w)", "the group (?-"),
        (r"(?(1)a|b)", "the group (?("),
        (r"(?#c)", "the group (?#"),
        (r"[[:alpha:]]", "a class by name"),
        (r"\p{Emoji}", r"the property \p{Emoji}"),
        (r"\p{scx=Han}", r"the property \p{scx=Han}"),
        (r"a{", "a { that starts no quantifier"),
        (r"a{2}{3}", "the quantifier {3} on a quantifier"),
        (r"a+?+", "the quantifier + on a quantifier"),
        (r"(?=a)*", "the quantifier * on an assertion"),
        (r"^*", "the quantifier * on an assertion"),
        (rf"a{{{MAX_REPEATS + 1}}}", f"counts beyond {MAX_REPEATS}"),
        ("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1), f"more than {MAX_DEPTH} groups"),
        ("[" * (MAX_DEPTH + 1) + "a" + "]" * (MAX_DEPTH + 1), f"more than {MAX_DEPTH} classes"),
        (f"(?:[ab]{{{MAX_ITEMS // 10}}}c){{10}}", f"more than {MAX_ITEMS} items"),
        ("(?:(?:a{1000}){1000}){1000}", f"more than {MAX_ITEMS} items"),
        ("(" * MAX_DEPTH + "a" + "{0,2})" * MAX_DEPTH, f"more than {MAX_ITEMS} items"),
        ("a" * (MAX_ITEMS + 1), f"more than {MAX_ITEMS} items"),
        (r"(?:\b){1000}", f"more than {MAX_ITEMS} items"),
        ("".join(map(chr, range(0x4E00, 0x4E01 + MAX_SETS))), f"{MAX_SETS + 1} different characters"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(pattern: str, named: str) -> None:
    """A pattern that might mean something else here is refused, and the message names the part."""
    with pytest.raises(ArtifactError) as refused:
        RegexSplitter(pattern)
    assert refused.value.reason == "UNSUPPORTED_PATTERN"
    assert named in str(refused.value)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(a", "a)", "(?:a", "[a", "[]", "[^]", "[a[b]", "*a", "a|+", "(?i)*", "\\", "[\\", "a{3,2}"),
        *(r"\xG", r"\u{110000}", r"\uD800", r"\p", r"\p{", r"\p{}", r"[b-a]", r"[a-\d]", r"[\w-a]", "[a-"),
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    """A mistake is told from what is merely not supported."""
    with pytest.raises(ArtifactError) as refused:
        RegexSplitter(pattern)
    assert refused.value.reason == "BAD_PATTERN"


def test_limits_of_depth_and_count_can_be_reached() -> None:
    """At each limit a pattern still works."""
    deep = "(" * MAX_DEPTH + "[" * MAX_DEPTH + "a" + "]" * MAX_DEPTH + ")" * MAX_DEPTH
    assert RegexSplitter(f"{deep}{{{MAX_REPEATS}}}").spans("a" * MAX_REPEATS) == [(0, MAX_REPEATS)]
    n_twice = MAX_ITEMS // 2 - 1
    twice = RegexSplitter(f"(?:a{{{n_twice}}}){{2}}|b")
    assert twice.spans("a" * 2 * n_twice + "b") == [(0, 2 * n_twice), (2 * n_twice, 2 * n_twice + 1)]
    many = "".join(map(chr, range(0x4E00, 0x4E00 + MAX_SETS)))
    assert RegexSplitter(many).spans(many) == [(0, 3 * MAX_SETS)]


def test_a_slow_pattern_ends_in_an_error() -> None:
    """A pattern that backtracks without end is stopped, and the limit is in the error."""
    with pytest.raises(PatternTooSlowError) as stopped:
        RegexSplitter(r"(?:\w+\w+)+;", timeout_s=0.05).spans("a" * 5000)
    assert stopped.value.limit == 0.05
    with pytest.raises(PatternTooSlowError):
        RegexSplitter(".", timeout_s=0.0).spans("a" * 5000)


@pytest.mark.parametrize("n_over", [1, 1000])
def test_a_long_text_is_refused(n_over: int) -> None:
    """The limit counts bytes; a text at the limit is split, a longer one is not."""
    splitter = RegexSplitter(r"\p{L}", max_text_bytes=100)
    assert len(splitter.spans("é" * 50)) == 50
    with pytest.raises(TextTooLongError) as refused:
        splitter.spans("é" * 50 + "a" * n_over)
    assert (refused.value.got, refused.value.limit) == (100 + n_over, 100)


def test_threads_share_a_splitter() -> None:
    """Threads that split at once get what one gets alone."""
    splitter = RegexSplitter(MADE_UP["case"])
    texts = [random_text(random.Random(number)) for number in range(64)]
    alone = [splitter.spans(text) for text in texts]
    together: list[list[list[tuple[int, int]]]] = []
    threads = [
        threading.Thread(target=lambda: together.append([splitter.spans(text) for text in texts]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [alone] * 4


def test_symbols_of_more_characters_than_are_remembered() -> None:
    """The memory of symbols stays bounded, and what it has no room for has its symbol all the same."""
    alphabet = rewrite(r"\p{Lu}|\d").alphabet
    text = "".join(map(chr, range(0x20000, 0x20000 + 2 * MAX_REMEMBERED))) + "A1"
    symbols = alphabet.symbols(text)
    assert len(set(symbols[:-2])) == 1
    assert len(set(symbols)) == 3
    assert len(alphabet._table) <= MAX_REMEMBERED


def test_sets_are_sets() -> None:
    """The operations are those of Python's sets."""
    rng = random.Random(0)
    for _ in range(200):
        first, second = (
            charset.CharSet.of(
                (a, a + rng.randint(0, 5)) for a in rng.choices(range(60), k=rng.randint(0, 8))
            )
            for _ in range(2)
        )
        for name in ("__or__", "__and__", "__sub__", "__xor__"):
            found = getattr(first, name)(second)
            assert set(found) == getattr(set(first), name)(set(second))
            assert found == charset.CharSet.of((c, c + 1) for c in found)
        assert ~~first == first
        assert first & ~first == charset.CharSet(())
        assert first | ~first == charset.CharSet(((0, charset.N_CODE_POINTS),))
