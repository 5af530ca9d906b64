"""How SentencePiece normalizes text: step 1 of the slow readable twin in `reference_sentencepiece.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from tokenwire_core.sentencepiece_spec import NormalizerRules

SPACE: Final = "▁".encode()
MAX_SYMBOL_MATCHES: Final = 64
"""The library looks at no more user-defined symbols at one place, the shortest first."""

_REPLACEMENT: Final = "\ufffd".encode()


@dataclass(frozen=True, slots=True)
class Normalized:
    """A normalized text. `sources` has for each of its bytes where in the text its source begins, then the end."""

    text: bytes
    sources: list[int]


def character_bytes(text: bytes, at: int) -> int:
    """How many bytes the character at `at` has; 0 where there is no well-formed one."""
    for n_bytes in range(1, 5):
        try:
            text[at : at + n_bytes].decode()
        except UnicodeDecodeError:
            continue
        return n_bytes
    return 0


def characters(text: bytes) -> Iterator[bytes]:
    """The characters of `text`, U+FFFD for each byte that is part of none."""
    at = 0
    while at < len(text):
        n_bytes = character_bytes(text, at)
        yield text[at : at + n_bytes] if n_bytes else _REPLACEMENT
        at += n_bytes or 1


class Symbols:
    """The user-defined symbols of a model."""

    def __init__(self, symbols: Iterable[bytes]) -> None:
        self._symbols = frozenset(symbols)
        self._sizes = sorted({len(symbol) for symbol in self._symbols})

    def longest_match(self, text: bytes, at: int) -> int:
        """How many bytes the longest symbol at `at` has; 0 where there is none."""
        prefixes = (text[at : at + size] for size in self._sizes if at + size <= len(text))
        matches = [len(prefix) for prefix in prefixes if prefix in self._symbols]
        return max(matches[:MAX_SYMBOL_MATCHES], default=0)

    def split(self, text: bytes) -> Iterator[tuple[bytes, bool]]:
        """Well-formed text as symbols and characters, and whether each is a symbol."""
        at = 0
        while at < len(text):
            n_bytes = self.longest_match(text, at)
            end = at + (n_bytes or character_bytes(text, at))
            yield text[at:end], n_bytes > 0
            at = end


def normalize(text: bytes, rules: NormalizerRules, symbols: Symbols) -> Normalized:
    """The normalized text. `text` may be malformed; the result is well-formed."""
    space = SPACE if rules.escape_whitespaces else b" "
    result = bytearray()
    sources: list[int] = []

    def write(piece: bytes, source: int) -> None:
        result.extend(piece)
        sources.extend([source] * len(piece))

    at = 0
    if rules.remove_extra_whitespaces:
        while at < len(text) and (first := _replaced(text, at, rules, symbols))[0] == b" ":
            at += first[1]
    if at == len(text):
        return Normalized(b"", [0])
    if rules.add_dummy_prefix and not rules.treat_whitespace_as_suffix:
        write(space, at)
    after_blank = rules.remove_extra_whitespaces
    while at < len(text):
        new, n_bytes = _replaced(text, at, rules, symbols)
        if after_blank:
            new = new.lstrip(b" ")
        if new:
            write(new.replace(b" ", space), at)
            after_blank = rules.remove_extra_whitespaces and new.endswith(b" ")
        at += n_bytes
    if rules.remove_extra_whitespaces:
        while result.endswith(space):
            del result[-len(space) :]
            at = sources[len(result)]
            del sources[len(result) :]
    if rules.add_dummy_prefix and rules.treat_whitespace_as_suffix:
        write(space, at)
    return Normalized(bytes(result), [*sources, at])


def _replaced(text: bytes, at: int, rules: NormalizerRules, symbols: Symbols) -> tuple[bytes, int]:
    """What stands for what begins at `at`, and how many bytes of text that is."""
    if n_bytes := symbols.longest_match(text, at):
        return text[at : at + n_bytes], n_bytes
    if rules.charsmap and (match := rules.charsmap.longest_match(text, at)):
        n_bytes, replacement = match
        return replacement, n_bytes
    if n_bytes := character_bytes(text, at):
        return text[at : at + n_bytes], n_bytes
    return _REPLACEMENT, 1
