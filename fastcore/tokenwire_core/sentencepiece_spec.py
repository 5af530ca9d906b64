"""A SentencePiece model, as plain data: what the reader of `.model` files makes.

    text → normalizer → model over the whole normalized text → ids
    ids → pieces → denormalizer → text

The stages of `pipeline.py` do not say this: here the normalizer writes the blanks and knows the user-defined symbols,
merging goes by the scores of pieces and may pass through unused ones, and offsets and decoding have rules of their
own. So such a model is described in SentencePiece's words. Nothing here computes: `reference_sentencepiece.py` follows
it to the letter, slowly; compiled code follows it fast, and must give the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal, NamedTuple

from tokenwire_core.charsmap import Charsmap

Algorithm = Literal["unigram", "bpe", "word", "char"]


class PieceType(IntEnum):
    """What a piece is for, numbered as in the file."""

    NORMAL = 1
    UNKNOWN = 2
    """What text becomes that has no piece; at most one."""
    CONTROL = 3
    """Steers a model; no text makes it."""
    USER_DEFINED = 4
    """Kept whole by the normalizer and by BPE and char models; preferred by unigram ones."""
    UNUSED = 5
    """No result has it; BPE merges through it."""
    BYTE = 6
    """`<0xNN>`, one byte of text that has no piece."""


class Piece(NamedTuple):
    """An entry of the vocabulary. `score` is a float32: the log probability, for BPE the order of merging."""

    text: str
    score: float
    type: PieceType


@dataclass(frozen=True, slots=True)
class NormalizerRules:
    """How text is normalized.

    Attributes:
        name: what the charsmap was made from, such as `nmt_nfkc`, as the file says; it decides nothing.
        charsmap: replacements of characters and strings, or None.
        add_dummy_prefix: a blank is put before the text (behind it if blanks are suffixes).
        remove_extra_whitespaces: runs of blanks become one, those at the ends go.
        escape_whitespaces: blanks are written as `▁`.
        treat_whitespace_as_suffix: blanks belong to the word before them.
    """

    name: str = ""
    charsmap: Charsmap | None = None
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    treat_whitespace_as_suffix: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SentencePieceModel:
    """A whole model.

    Attributes:
        algorithm: how normalized text is cut into pieces.
        pieces: the vocabulary in id order. A piece of text stands there once; of `unigram`, `word` and `char` models
            a normal, user-defined or unused one may be spelled like one of the other types.
        byte_fallback: text without a piece becomes the pieces of its bytes; all 256 are there.
        normalizer: what happens to text first.
        denormalizer: what happens to decoded text last, or None.
        unk_id: the unknown piece; None only with `byte_fallback`.
        bos_id, eos_id, pad_id: the control pieces at the begin and the end of a text and between texts, or None.
        unk_surface: what the unknown piece decodes to.
    """

    algorithm: Algorithm
    pieces: tuple[Piece, ...]
    byte_fallback: bool = False
    normalizer: NormalizerRules = NormalizerRules()
    denormalizer: NormalizerRules | None = None
    unk_id: int | None = None
    bos_id: int | None = None
    eos_id: int | None = None
    pad_id: int | None = None
    unk_surface: str = " \u2047 "
