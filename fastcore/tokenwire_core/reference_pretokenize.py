"""Pre-tokenizers, as the `tokenizers` library runs them: a text to the pieces that the model sees one by one.

Each is one function from the stage's data and a text to texts; `pre_tokenize` finds it by the stage's type and does
the stages one after the other on what the one before has made. Empty pieces go.

Sources: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019) for ByteLevel; BERT (Devlin et
al., 2018); SentencePiece (Kudo and Richardson, 2018) for Metaspace and UnicodeScripts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Final

from tokenwire_core.formats import hf_pretokenizers as stages
from tokenwire_core.pipeline import Behavior, PreTokenizer, Regex
from tokenwire_core.reference_aligned import AlignedText
from tokenwire_core.reference_normalize import to_byte_level
from tokenwire_core.reference_patterns import Finder, Range, finder, matching_chars, parts, pieces
from tokenwire_core.reference_unicode import BLANKS, NUMBERS, PUNCTUATION, WORD_CHARS, script

GPT2_PATTERN: Final = Regex(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def pre_tokenize(text: AlignedText, chain: Iterable[PreTokenizer]) -> list[AlignedText]:
    """The pieces after all stages, in order."""
    found = [text]
    for stage in chain:
        found = [piece for each in found for piece in _do(stage, each) if piece.text]
    return found


@functools.singledispatch
def _do(stage: PreTokenizer, _: AlignedText) -> list[AlignedText]:
    raise TypeError(f"no twin of {type(stage).__name__}")


def _cut(text: AlignedText, ranges: Iterable[Range]) -> list[AlignedText]:
    return [text.slice(start, end) for start, end in ranges if start < end]


def _split_at(text: AlignedText, find: Finder, behavior: Behavior) -> list[AlignedText]:
    return _cut(text, pieces(parts(text.text, find(text.text)), behavior))


@_do.register
def _byte_level(stage: stages.ByteLevel, text: AlignedText) -> list[AlignedText]:
    if stage.add_prefix_space and not text.text.startswith(" "):
        text.prepend(" ")
    found = _split_at(text, finder(GPT2_PATTERN), "Isolated") if stage.use_regex else [text]
    for piece in found:
        to_byte_level(piece)
    return found


@_do.register
def _split(stage: stages.Split, text: AlignedText) -> list[AlignedText]:
    found = parts(text.text, finder(stage.pattern)(text.text))
    if stage.invert:
        found = [(start, end, not is_match) for start, end, is_match in found]
    return _cut(text, pieces(found, stage.behavior))


@_do.register
def _whitespace(_: stages.Whitespace, text: AlignedText) -> list[AlignedText]:
    ranges: list[Range] = []
    kind_before: str | None = None
    for at, char in enumerate(text.text):
        kind = "word" if char in WORD_CHARS else None if char in BLANKS else "other"
        if kind is not None and kind == kind_before:
            ranges[-1] = (ranges[-1][0], at + 1)
        elif kind is not None:
            ranges.append((at, at + 1))
        kind_before = kind
    return _cut(text, ranges)


@_do.register
def _whitespace_split(_: stages.WhitespaceSplit, text: AlignedText) -> list[AlignedText]:
    return _split_at(text, matching_chars(BLANKS.__contains__), "Removed")


@_do.register
def _metaspace(stage: stages.Metaspace, text: AlignedText) -> list[AlignedText]:
    text.replace(finder(" ")(text.text), stage.replacement)
    at_start = stage.prepend_scheme == "always" or (stage.prepend_scheme == "first" and text.source[0] == 0)
    if at_start and not text.text.startswith(stage.replacement):
        text.prepend(stage.replacement)
    return _split_at(text, finder(stage.replacement), "MergedWithNext") if stage.split else [text]


@_do.register
def _bert(_: stages.BertPreTokenizer, text: AlignedText) -> list[AlignedText]:
    words = _split_at(text, matching_chars(BLANKS.__contains__), "Removed")
    return [
        piece
        for word in words
        for piece in _split_at(word, matching_chars(PUNCTUATION.__contains__), "Isolated")
    ]


@_do.register
def _digits(stage: stages.Digits, text: AlignedText) -> list[AlignedText]:
    behavior: Behavior = "Isolated" if stage.individual else "Contiguous"
    return _split_at(text, matching_chars(NUMBERS.__contains__), behavior)


@_do.register
def _punctuation(stage: stages.Punctuation, text: AlignedText) -> list[AlignedText]:
    return _split_at(text, matching_chars(PUNCTUATION.__contains__), stage.behavior)


@_do.register
def _char_delimiter(stage: stages.CharDelimiterSplit, text: AlignedText) -> list[AlignedText]:
    return _split_at(text, finder(stage.delimiter), "Removed")


@_do.register
def _unicode_scripts(_: stages.UnicodeScripts, text: AlignedText) -> list[AlignedText]:
    """A piece begins where the script changes; blanks and unassigned characters go along with any.

    As in the library what stands before the first character with a script is lost.
    """
    starts: list[int] = []
    script_before: str | None = None
    for at, char in enumerate(text.text):
        name = "Han" if char == "ー" else None if char == " " else script(char)
        if name in ("Hiragana", "Katakana"):
            name = "Han"
        if name is not None:
            if name != script_before:
                starts.append(at)
            script_before = name
    return _cut(text, zip(starts, [*starts[1:], len(text.text)], strict=True) if starts else ())


@_do.register
def _fixed_length(stage: stages.FixedLength, text: AlignedText) -> list[AlignedText]:
    n_chars = len(text.text)
    return _cut(text, ((at, min(at + stage.length, n_chars)) for at in range(0, n_chars, stage.length)))
