"""Pre-tokenizers, as the `tokenizers` library runs them: a text to the pieces that the model sees one by one.

Each is one function from the stage's data and a text to texts; `pre_tokenize` finds it by the stage's type and does
the stages one after the other on what the one before has made. Empty pieces go.

Sources: Radford et al., "Language Models are Unsupervised Multitask Learners" (2019) for ByteLevel; BERT (Devlin et
al., 2018); SentencePiece (Kudo and Richardson, 2018) for Metaspace and UnicodeScripts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from tokenwire_core import pipeline
from tokenwire_core.reference_aligned import AlignedText
from tokenwire_core.reference_normalize import to_byte_level
from tokenwire_core.reference_patterns import Finder, Range, finder, matching_chars, parts, pieces
from tokenwire_core.reference_unicode import BLANKS, NUMBERS, PUNCTUATION, WORD_CHARS, script

GPT2_PATTERN: Final = pipeline.Regex(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)


def pre_tokenize(text: AlignedText, stages: Iterable[pipeline.PreTokenizer]) -> list[AlignedText]:
    """The pieces after all stages, in order."""
    found = [text]
    for stage in stages:
        found = [piece for each in found for piece in _PRE_TOKENIZERS[type(stage)](stage, each) if piece.text]
    return found


def _cut(text: AlignedText, ranges: Iterable[Range]) -> list[AlignedText]:
    return [text.slice(start, end) for start, end in ranges if start < end]


def _split_at(text: AlignedText, find: Finder, behavior: pipeline.Behavior) -> list[AlignedText]:
    return _cut(text, pieces(parts(text.text, find(text.text)), behavior))


def _byte_level(stage: pipeline.ByteLevel, text: AlignedText) -> list[AlignedText]:
    if stage.add_prefix_space and not text.text.startswith(" "):
        text.prepend(" ")
    found = _split_at(text, finder(GPT2_PATTERN), "Isolated") if stage.use_regex else [text]
    for piece in found:
        to_byte_level(piece)
    return found


def _split(stage: pipeline.Split, text: AlignedText) -> list[AlignedText]:
    found = parts(text.text, finder(stage.pattern)(text.text))
    if stage.invert:
        found = [(start, end, not is_match) for start, end, is_match in found]
    return _cut(text, pieces(found, stage.behavior))


def _whitespace(_: pipeline.Whitespace, text: AlignedText) -> list[AlignedText]:
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


def _whitespace_split(_: pipeline.WhitespaceSplit, text: AlignedText) -> list[AlignedText]:
    return _split_at(text, matching_chars(BLANKS.__contains__), "Removed")


def _metaspace(stage: pipeline.Metaspace, text: AlignedText) -> list[AlignedText]:
    text.replace(finder(" ")(text.text), stage.replacement)
    at_start = stage.prepend_scheme == "always" or (stage.prepend_scheme == "first" and text.source[0] == 0)
    if at_start and not text.text.startswith(stage.replacement):
        text.prepend(stage.replacement)
    return _split_at(text, finder(stage.replacement), "MergedWithNext") if stage.split else [text]


def _bert(_: pipeline.BertPreTokenizer, text: AlignedText) -> list[AlignedText]:
    words = _split_at(text, matching_chars(BLANKS.__contains__), "Removed")
    return [
        piece
        for word in words
        for piece in _split_at(word, matching_chars(PUNCTUATION.__contains__), "Isolated")
    ]


def _digits(stage: pipeline.Digits, text: AlignedText) -> list[AlignedText]:
    behavior: pipeline.Behavior = "Isolated" if stage.individual else "Contiguous"
    return _split_at(text, matching_chars(NUMBERS.__contains__), behavior)


def _punctuation(stage: pipeline.Punctuation, text: AlignedText) -> list[AlignedText]:
    return _split_at(text, matching_chars(PUNCTUATION.__contains__), stage.behavior)


def _char_delimiter(stage: pipeline.CharDelimiterSplit, text: AlignedText) -> list[AlignedText]:
    return _split_at(text, finder(stage.delimiter), "Removed")


def _unicode_scripts(_: pipeline.UnicodeScripts, text: AlignedText) -> list[AlignedText]:
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


def _fixed_length(stage: pipeline.FixedLength, text: AlignedText) -> list[AlignedText]:
    n_chars = len(text.text)
    return _cut(text, ((at, min(at + stage.length, n_chars)) for at in range(0, n_chars, stage.length)))


_PRE_TOKENIZERS: Final[dict[type, Callable[[Any, AlignedText], list[AlignedText]]]] = {
    pipeline.ByteLevel: _byte_level,
    pipeline.Split: _split,
    pipeline.Whitespace: _whitespace,
    pipeline.WhitespaceSplit: _whitespace_split,
    pipeline.Metaspace: _metaspace,
    pipeline.BertPreTokenizer: _bert,
    pipeline.Digits: _digits,
    pipeline.Punctuation: _punctuation,
    pipeline.CharDelimiterSplit: _char_delimiter,
    pipeline.UnicodeScripts: _unicode_scripts,
    pipeline.FixedLength: _fixed_length,
}
