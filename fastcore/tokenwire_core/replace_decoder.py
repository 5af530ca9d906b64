"""The decoder Replace: of each token by itself, and in a text that comes in fragments."""

from __future__ import annotations

import functools
import time
from typing import Final

import regex

from tokenwire_core import pipeline
from tokenwire_core.decoder_stage_types import Each, Gather, OneByOne, Passing, Row, Setting, Stage, Texts
from tokenwire_core.errors import PatternTooSlowError, TextTooLongError
from tokenwire_core.pattern import rewrite
from tokenwire_core.pattern_matches import matches_by_regex
from tokenwire_core.regex_split import MAX_TEXT_BYTES, TIMEOUT_S

MAX_TABLE_S: Final = 10.0
"""How long a pattern may take for all tokens, in CPU seconds, when a table is made."""


class _RegexReplacement:
    """A text with all matches replaced, within the limits of patterns (`regex_split`)."""

    def __init__(self, pattern: pipeline.Regex, content: str) -> None:
        rewritten = rewrite(pattern.pattern)
        self._alphabet = rewritten.alphabet
        self._compiled = regex.compile(rewritten.pattern, regex.V0)
        self._content = content

    def __call__(self, text: str, give_up_at_s: float) -> str:
        n_bytes = len(text.encode(errors="surrogatepass"))
        if n_bytes > MAX_TEXT_BYTES:
            raise TextTooLongError(n_bytes, MAX_TEXT_BYTES)
        parts: Texts = []
        copied = 0
        symbols = self._alphabet.symbols(text)
        for start, end in matches_by_regex(self._compiled, symbols, give_up_at_s) if text else ():
            if start < 0:
                raise PatternTooSlowError(TIMEOUT_S)
            parts += (text[copied:start], self._content)
            copied = end
        return "".join([*parts, text[copied:]])


_regex_replacement = functools.lru_cache(maxsize=256)(_RegexReplacement)


class _ReplaceByRegex(Passing):
    """A second for each push, however many tokens it has."""

    def __init__(self, pattern: pipeline.Regex, content: str) -> None:
        self._replace = _regex_replacement(pattern, content)

    def push(self, texts: Texts) -> Texts:
        give_up_at_s = time.thread_time() + TIMEOUT_S
        return [self._replace(text, give_up_at_s) for text in texts]


class _ReplaceInFragments:
    """A literal, also where it begins in one fragment and ends in another: by Knuth, Morris and Pratt."""

    def __init__(self, literal: str, content: str) -> None:
        self._literal = literal
        self._content = content
        self._borders = _borders(literal)
        self._n_matched = 0

    def push(self, texts: Texts) -> Texts:
        text = "".join(texts)
        literal, n_matched = self._literal, self._n_matched
        if not n_matched and literal[0] not in text:
            return [text]
        certain: Texts = []
        for char in text:
            while n_matched and literal[n_matched] != char:
                shorter = self._borders[n_matched - 1]
                certain.append(literal[: n_matched - shorter])
                n_matched = shorter
            if literal[n_matched] != char:
                certain.append(char)
            elif n_matched + 1 < len(literal):
                n_matched += 1
            else:
                certain.append(self._content)
                n_matched = 0
        self._n_matched = n_matched
        return ["".join(certain)]

    def flush(self) -> Texts:
        return [self._literal[: self._n_matched]]


@functools.lru_cache(maxsize=256)
def _borders(literal: str) -> list[int]:
    """Of each beginning of `literal`, how long the longest is that it also ends with, not being all of it."""
    borders = [0] * len(literal)
    border = 0
    for at in range(1, len(literal)):
        while border and literal[at] != literal[border]:
            border = borders[border - 1]
        border += literal[at] == literal[border]
        borders[at] = border
    return borders


def _replace_each(stage: pipeline.ReplaceDecoder) -> Each:
    pattern, content = stage.pattern, stage.content
    if isinstance(pattern, str):
        return lambda text, _: text.replace(pattern, content)
    replacement = _regex_replacement(pattern, content)
    give_up_at_s = time.thread_time() + MAX_TABLE_S
    return lambda text, _: replacement(text, give_up_at_s)


def _replace_tokens(stage: pipeline.ReplaceDecoder, _: Setting) -> Stage:
    if isinstance(stage.pattern, str):
        return OneByOne(_replace_each(stage))
    return _ReplaceByRegex(stage.pattern, stage.content)


class _GatherAndReplace(Gather):
    """A match may depend on all of the text."""

    def __init__(self, pattern: pipeline.Regex, content: str, setting: Setting) -> None:
        super().__init__(setting)
        self._replace = _ReplaceByRegex(pattern, content)

    def flush(self) -> Texts:
        return self._replace.push(super().flush())


def _replace_fragments(stage: pipeline.ReplaceDecoder, setting: Setting) -> Stage:
    if isinstance(stage.pattern, str):
        return _ReplaceInFragments(stage.pattern, stage.content)
    return _GatherAndReplace(stage.pattern, stage.content, setting)


REPLACE: Final = Row(_replace_each, _replace_tokens, _replace_fragments)
