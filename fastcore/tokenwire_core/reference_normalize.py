"""Normalizers, as the `tokenizers` library runs them: text to text, each character knowing where it came from.

Each is one function from the stage's data and the text, which it changes in place; `normalize` finds it by the
stage's class. The changes themselves, and where they put what they add, are in `reference_aligned`.

Sources: Unicode Standard Annex #15 for the normalization forms; the `BasicTokenizer` of BERT (Devlin et al., 2018);
SentencePiece (Kudo and Richardson, 2018) for Nmt and Precompiled. Where the library reads them in its own way, so do
we: it lower-cases characters without context, and Precompiled looks for whole grapheme clusters.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Final

from tokenwire_core.byte_alphabet import CHAR_OF_BYTE
from tokenwire_core.charsmap import Charsmap, read_charsmap
from tokenwire_core.formats import hf_normalizers as stages
from tokenwire_core.pipeline import Normalizer
from tokenwire_core.reference_aligned import AlignedText, Change
from tokenwire_core.reference_patterns import finder
from tokenwire_core.reference_unicode import (
    BERT_CONTROLS,
    BERT_HAN,
    BLANKS,
    MARKS,
    NONSPACING_MARKS,
    combining_class,
    composition,
    decomposition,
    graphemes,
    lower,
)


def normalize(text: AlignedText, chain: Iterable[Normalizer]) -> None:
    """The text after all stages, in order."""
    for stage in chain:
        _do(stage, text)


@functools.singledispatch
def _do(stage: Normalizer, _: AlignedText) -> None:
    raise TypeError(f"no twin of {type(stage).__name__}")


@_do.register
def _unicode_form(stage: stages.UnicodeForm, text: AlignedText) -> None:
    decomposed = _decomposed(text.text, compatible=stage.form.startswith("NFK"))
    text.change(decomposed if stage.form.endswith("D") else _composed(decomposed))


def _decomposed(text: str, compatible: bool) -> list[Change]:
    """Each character decomposed, and marks that follow each other in order of their combining classes."""
    changes: list[Change] = []
    start_of_marks = 0
    for source in text:
        for number, char in enumerate(decomposition(source, compatible)):
            if combining_class(char) == 0:
                _order_marks(changes, start_of_marks)
                start_of_marks = len(changes) + 1
            changes.append((char, int(number > 0)))
    _order_marks(changes, start_of_marks)
    return changes


def _order_marks(changes: list[Change], start: int) -> None:
    if len(changes) > start + 1:
        changes[start:] = sorted(changes[start:], key=lambda change: combining_class(change[0]))


def _composed(decomposed: list[Change]) -> list[Change]:
    """Starters composed with what follows, unless something of the same or a higher class stands between.

    A composed character stands for all that it is made of: one more removed for each that was no addition.
    """
    changes: list[Change] = []
    starter: Change | None = None
    marks: list[Change] = []
    for char, change in decomposed:
        combining = combining_class(char)
        if starter is None:
            if combining == 0:
                starter = (char, change)
            else:
                changes.append((char, change))
            continue
        is_blocked = bool(marks) and combining_class(marks[-1][0]) >= combining
        composed = None if is_blocked else composition(starter[0], char)
        if composed is not None:
            starter = (composed, starter[1] + change - 1)
        elif combining == 0:
            changes += [starter, *marks]
            starter, marks = (char, change), []
        else:
            marks.append((char, change))
    return changes if starter is None else [*changes, starter, *marks]


@_do.register
def _lowercase(_: stages.Lowercase, text: AlignedText) -> None:
    text.expand(lower)


@_do.register
def _strip_blanks(stage: stages.Strip, text: AlignedText) -> None:
    kept = [at for at, char in enumerate(text.text) if char not in BLANKS]
    start = (kept[0] if kept else len(text.text)) if stage.left else 0
    end = (kept[-1] + 1 if kept else 0) if stage.right else len(text.text)
    text.change([(char, 0) for char in text.text[start:end]], min(start, len(text.text)))


@_do.register
def _strip_accents(_: stages.StripAccents, text: AlignedText) -> None:
    text.keep(lambda char: char not in MARKS)


@_do.register
def _prepend(stage: stages.Prepend, text: AlignedText) -> None:
    text.prepend(stage.text)


@_do.register
def _replace(stage: stages.Replace, text: AlignedText) -> None:
    if text.text:
        text.replace(finder(stage.pattern)(text.text), stage.content)


@_do.register
def _bert(stage: stages.BertNormalizer, text: AlignedText) -> None:
    if stage.clean_text:
        text.keep(lambda char: char not in BERT_CONTROLS)
        text.map(lambda char: " " if char in BLANKS else char)
    if stage.handle_chinese_chars:
        # The first blank takes the character's place, the character and the second blank are added.
        text.expand(lambda char: f" {char} " if char in BERT_HAN else char)
    if stage.lowercase if stage.strip_accents is None else stage.strip_accents:
        text.change(_decomposed(text.text, compatible=False))
        text.keep(lambda char: char not in NONSPACING_MARKS)
    if stage.lowercase:
        text.expand(lower)


NMT_REMOVED: Final = frozenset(map(chr, (*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F)))
NMT_BLANKS: Final = frozenset("\t\n\f\r\u1680\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd")


@_do.register
def _nmt(_: stages.Nmt, text: AlignedText) -> None:
    text.keep(lambda char: char not in NMT_REMOVED)
    text.map(lambda char: " " if char in NMT_BLANKS else char)


MAX_CLUSTER_BYTES: Final = 5
"""Grapheme clusters up to this size are looked up whole."""


@_do.register
def _precompiled(stage: stages.Precompiled, text: AlignedText) -> None:
    charsmap = _charsmap(stage.charsmap)
    changes: list[Change] = []
    for cluster in graphemes(text.text):
        whole = _replacement(charsmap, cluster) if len(cluster.encode()) <= MAX_CLUSTER_BYTES else None
        if whole is not None:
            _add_replaced(changes, cluster, whole)
            continue
        for char in cluster:
            replacement = _replacement(charsmap, char)
            if replacement is None:
                changes.append((char, 0))
            else:
                _add_replaced(changes, char, replacement)
    text.change(changes)


def _replacement(charsmap: Charsmap, key: str) -> str | None:
    """What stands for all of `key`, as the library has it: for the shortest entry that it begins with."""
    found = charsmap.shortest_match(key.encode().partition(b"\0")[0], 0)
    return None if found is None else found[1].decode()


def _add_replaced(changes: list[Change], old: str, new: str) -> None:
    """As many characters of `new` as there are old ones replace them; the rest is added, or removed at the last.

    Where nothing has come before, what is removed is not counted: the characters behind it take its place.
    """
    n_added = max(0, len(new) - len(old))
    changes += [(char, int(number >= len(new) - n_added)) for number, char in enumerate(new)]
    if changes and len(new) < len(old):
        changes[-1] = (changes[-1][0], changes[-1][1] + len(new) - len(old))


@functools.lru_cache(maxsize=8)
def _charsmap(data: bytes) -> Charsmap:
    return read_charsmap(data)


@_do.register
def _byte_level(_: stages.ByteLevel, text: AlignedText) -> None:
    to_byte_level(text)


def to_byte_level(text: AlignedText) -> None:
    """Each byte of the UTF-8 as its character of the byte alphabet; also the last step of the pre-tokenizer."""
    text.expand(lambda char: "".join(CHAR_OF_BYTE[byte] for byte in char.encode()))
