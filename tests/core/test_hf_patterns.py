"""Patterns of tokenizer.json: what is accepted matches as in Oniguruma, and what is refused would not."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.hf_patterns import MAX_PATTERN_BYTES, check_pattern
from tokenwire_core.regex_split import RegexSplitter

REAL = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
    r" {2,}",
    r"[\p{Han}]+|\p{katakana}|\P{^Nd}|\x41\u0042\x{1F600}",
    r"(?:(?=a)b|c)[x]+|(?:a|b)++c?+|x*+|(?<=a)b|(?<!ab|c)d|(?>e|ef)g|(?<name>h)|[a-z&&[^aeiou]]{,2}?",
)
"""Patterns of published tokenizers, and two with what else is accepted."""

TEXT = "It's SHE'LL ſſ ßßs ﬆ ﬁ K k  12345²③ é\u0301 漢字かな カナ\r\n\n  हिन्दी 😀!? a\u200db [x] x.y ab abd ehg xx\n"

DIFFERENT: dict[str, tuple[str, str]] = {
    "an edge of a line": ("^a", "b\na"),
    "the other edge": ("a$", "a\nb"),
    "word characters": (r"\w", "²"),
    "word characters in a class": (r"[\w-]", "\u200d"),
    "what is no word character": (r"\W", "\u200d"),
    "a boundary": (r"x\b", "x²"),
    "no boundary": (r"x\B", "x²"),
    "a possessive count": ("a{1,2}+a", "aa"),
    "a lazy count": ("xa{2}?", "x"),
    "flags in the middle": ("x(?i)b|c", "C c xC"),
    "two letters that ignore case": ("(?i:ss)", "ß"),
    "two letters in groups that ignore case": ("(?i:(?:s)(?:s))", "ß"),
    "a ligature": ("(?i:fi)", "ﬁ"),
    "a letter as property": (r"\pL", "pL"),
    "a character of eight digits": (r"\U000000e9", "é"),
    "a character that is a byte": (r"\xe9", "é"),
    "a character in brackets": (r"\u{e9}", "é"),
    "a property with its kind": (r"\p{sc=Han}", "漢"),
    "the difference of classes": ("[a-c--b]", "b"),
    "a range that ends in a class": ("[+-[A]]", "A]"),
    "a range that ends in an operator": ("[#-&&]", "x$x"),
    "flags of another meaning": ("(?m:a.b)", "a\nb"),
    "flags that Ruby lacks": ("(?s:.)", "\n"),
    "a name as in Python": ("(?P<n>a)", "a"),
    "an edge that is repeated": (r"(?:\A)?", "a"),
    "a look-ahead that is repeated": ("(?:(?:(?!b)))*", "a"),
}  # fmt: skip
"""Patterns, and a text that shows how Oniguruma and `pattern.py` differ."""

REFUSED = (
    *(pattern for pattern, _ in DIFFERENT.values()),
    *(r"(?<=a+)b", r"(?<=(?:a))b", "(?i:[a-z])", r"(?i:\p{Lu})", "(?i:é)", "(?i:.)", "(?i:s+)", "[]a]", "[^]a]"),
    *("(?i:a(?:b))", "(?i)[a]", "(?-i:a)", "(?i-i:a)", r"[a~~b]", r"\p{Cased_Letter}", r"\p{IsL}", r"\p{Any}"),
    *(r"(?i:st)", r"(?i:xFF)", r"(?i)a\s"),
)  # fmt: skip


def theirs(pattern: str, text: str) -> list[tuple[str, tuple[int, int]]]:
    """What the library matches, with places in characters."""
    return list(Split(Regex(pattern), "removed", invert=True).pre_tokenize_str(text))


def ours(pattern: str, text: str) -> list[tuple[str, tuple[int, int]]]:
    data = text.encode()
    spans = RegexSplitter(pattern).spans(text)
    return [
        (data[start:end].decode(), (len(data[:start].decode()), len(data[:end].decode())))
        for start, end in spans
    ]


def accepts(pattern: str) -> bool:
    try:
        check_pattern(pattern, "")
    except ArtifactError as error:
        if error.reason in ("BAD_PATTERN", "UNSUPPORTED_PATTERN"):
            return False
        raise
    return True


@pytest.mark.parametrize("pattern", REAL)
def test_real_patterns(pattern: str) -> None:
    """Patterns of published tokenizers are accepted, and match as in the library."""
    check_pattern(pattern, "")
    assert ours(pattern, TEXT) == theirs(pattern, TEXT)


@pytest.mark.parametrize("pattern", REFUSED)
def test_refused_patterns(pattern: str) -> None:
    """What could mean something else is refused by name."""
    with pytest.raises(ArtifactError) as caught:
        check_pattern(pattern, "normalizer.pattern")
    assert caught.value.reason == "UNSUPPORTED_PATTERN"
    assert caught.value.path == "normalizer.pattern"


@pytest.mark.parametrize("name", DIFFERENT)
def test_refused_patterns_do_mean_something_else(name: str) -> None:
    """Each kind of refusal has a text on which the two differ, or a pattern that one of them has not."""
    pattern, text = DIFFERENT[name]
    answers: list[object] = []
    for matches in (ours, theirs):
        try:
            answers.append(matches(pattern, text))
        except Exception as error:  # noqa: BLE001 - the library has no class of its own
            answers.append(type(error))
    assert answers[0] != answers[1]


@pytest.mark.parametrize("n_over", [0, 1, 100_000])
def test_limit_of_bytes(n_over: int) -> None:
    """A pattern may have MAX_PATTERN_BYTES."""
    classes = "[é" + "a" * (MAX_PATTERN_BYTES - 4 + n_over) + "]"
    if not n_over:
        check_pattern(classes, "")
        return
    with pytest.raises(ArtifactError) as caught:
        check_pattern(classes, "")
    assert caught.value.reason == "BAD_PATTERN"


ATOMS = st.sampled_from(
    (
        *("", "a", "s", "f", "i", "k", "t", "'", "S", "K", "1", r"\ ", "é", ".", "^", "$", r"\b", r"\A", r"\z"),
        *("[sk]", r"[^\sa]", "[a-f&&[^b]]", r"[\p{L}&&[^s]]", "[]a]", "[^]a]", "[-a]", "[a-]", r"[\w]"),
        *(r"\s", r"\S", r"\d", r"\D", r"\w", r"\W", r"\n", r"\'", r"\R", r"\h", r"\G", r"\xdf", r"\x61"),
        *(r"\p{L}", r"\p{Lu}", r"\P{N}", r"\p{^Ll}", r"\p{Han}", r"\p{Letter}", r"\p{punct}", r"\x{df}", r"\u00df"),
    )
)  # fmt: skip
GROUPS = st.sampled_from(
    ("(", "(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?<n>", "(?m:", "(?i)", "(?-i:")
)
QUANTIFIERS = st.sampled_from(
    (
        "",
        "",
        "",
        "",
        "?",
        "*",
        "+",
        "??",
        "*?",
        "+?",
        "?+",
        "*+",
        "++",
        "{2}",
        "{1,2}",
        "{,2}",
        "{1,2}?",
        "{2}?",
        "{1,}+",
    )
)
PATTERNS = st.recursive(
    st.builds("{}{}".format, ATOMS, QUANTIFIERS),
    lambda inner: (
        st.builds("{}{}".format, inner, inner)
        | st.builds("{}|{}".format, inner, inner)
        | st.builds("{}{}){}".format, GROUPS, inner, QUANTIFIERS)
    ),
    max_leaves=6,
)
TEXTS = st.text("aabsfikt'SK1 é.\n\u200d²ßẞſﬆﬁK漢AŉD", max_size=8)


@given(PATTERNS, st.lists(TEXTS, min_size=4, max_size=4))
@example("(?i:'s|t)?a", ["'ſa", "ta", "'Sa", ""])
@settings(max_examples=300)
def test_what_is_accepted_matches_alike(pattern: str, texts: list[str]) -> None:
    """Of patterns made up at random, those that are accepted match in every text as in the library."""
    if accepts(pattern):
        for text in texts:
            assert ours(pattern, text) == theirs(pattern, text)


@pytest.mark.long
@given(PATTERNS, st.lists(TEXTS, min_size=8, max_size=8))
@settings(max_examples=20_000)
def test_what_is_accepted_matches_alike_at_length(pattern: str, texts: list[str]) -> None:
    """The same, of many more."""
    if accepts(pattern):
        for text in texts:
            assert ours(pattern, text) == theirs(pattern, text)
