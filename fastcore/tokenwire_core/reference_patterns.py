"""Where a pattern matches in a text, and what pieces its matches make: what Replace, Split and added tokens share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

import regex

from tokenwire_core.pattern import rewrite
from tokenwire_core.pipeline import Behavior, Regex

Range = tuple[int, int]
"""Half-open, in characters."""
Part = tuple[int, int, bool]
"""A range, and whether it is a match."""
Finder = Callable[[str], Iterator[Range]]
"""The matches in a text, in order and apart."""


@functools.lru_cache(maxsize=256)
def finder(pattern: str | Regex) -> Finder:
    """How the matches of literal text, or of a regular expression, are found."""
    return (
        functools.partial(_literal_matches, pattern) if isinstance(pattern, str) else _regex_finder(pattern)
    )


def _literal_matches(literal: str, text: str) -> Iterator[Range]:
    at = text.find(literal)
    while at >= 0:
        yield at, at + len(literal)
        at = text.find(literal, at + max(1, len(literal)))


def _regex_finder(expression: Regex) -> Finder:
    rewritten = rewrite(expression.pattern)
    compiled = regex.compile(rewritten.pattern, regex.V0)

    def matches(text: str) -> Iterator[Range]:
        # An empty match counts, too, except where the one before it ended: pieces are cut there.
        symbols = rewritten.alphabet.symbols(text)
        at = 0
        ended = -1
        while at <= len(text) and (match := compiled.search(symbols, at)):
            start, end = match.span()
            if start == end == ended:
                at += 1
            else:
                yield start, end
                at = ended = end

    return matches


def matching_chars(is_match: Callable[[str], bool]) -> Finder:
    """Every character of a kind is a match."""
    return lambda text: ((at, at + 1) for at, char in enumerate(text) if is_match(char))


def parts(text: str, matches: Iterable[Range]) -> list[Part]:
    """The matches and what lies between them: all of the text."""
    found: list[Part] = []
    at = 0
    for start, end in matches:
        if at < start:
            found.append((at, start, False))
        found.append((start, end, True))
        at = end
    if at < len(text):
        found.append((at, len(text), False))
    return found


def pieces(found: list[Part], behavior: Behavior) -> list[Range]:
    """The pieces of a text, by what becomes of its delimiters, which are the matches.

    >>> the_final = [(0, 3, False), (3, 4, True), (4, 9, False), (9, 10, True), (10, 11, True)]
    >>> ["the-final--"[start:end] for start, end in pieces(the_final, "MergedWithPrevious")]
    ['the-', 'final-', '-']
    >>> ["the-final--"[start:end] for start, end in pieces(the_final, "MergedWithNext")]
    ['the', '-final', '-', '-']
    >>> ["the-final--"[start:end] for start, end in pieces(the_final, "Contiguous")]
    ['the', '-', 'final', '--']
    """
    if behavior == "Isolated":
        return [(start, end) for start, end, _ in found]
    if behavior == "Removed":
        return [(start, end) for start, end, is_match in found if not is_match]
    if behavior == "Contiguous":
        return _joined(found, lambda is_match, was_match: is_match == was_match)
    if behavior == "MergedWithPrevious":
        return _joined(found, lambda is_match, was_match: is_match and not was_match)
    backwards = [(-end, -start, is_match) for start, end, is_match in reversed(found)]
    merged = _joined(backwards, lambda is_match, was_match: is_match and not was_match)
    return [(-end, -start) for start, end in reversed(merged)]


def _joined(found: list[Part], joins: Callable[[bool, bool], bool]) -> list[Range]:
    """Parts, each joined to the one before it where `joins` says so of the two."""
    ranges: list[Range] = []
    was_match = False
    for start, end, is_match in found:
        if ranges and joins(is_match, was_match):
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
        was_match = is_match
    return ranges
