"""Counting: how many tokens a text has, and how many of them stand for text that the vocabulary lacks."""

from __future__ import annotations

import functools
import re
import sys
from typing import NamedTuple

from tokenwire_core import Encoder

from tokenwire_server.requests import Options, Text

_STEP = 1 << 16  # So that other threads get a turn while a million ids are looked through.
_UTF_32 = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"


class Counts(NamedTuple):
    """Numbers of tokens: all, those that are the unknown token, those that are bytes of a character."""

    n_tokens: int
    n_unknown: int = 0
    n_byte_fallback: int = 0


def count(encoder: Encoder, text: Text, options: Options, limit: int | None) -> Counts:
    """The tokens of a text or a pair. Over `limit` counting may stop, and then counts nothing but tokens.

    Tokens are only counted, not made, where the tokenizer has neither unknown tokens nor bytes: byte-level ones have
    not. Raises `TokenizerError`.
    """
    has_gaps = _has_gaps(encoder)
    if text.pair is None and (limit is not None or not has_gaps):
        n_tokens = encoder.count(
            text.utf8,
            special=options.special,
            add_special=options.add_special,
            invalid=text.invalid,
            limit=limit,
        )
        if not has_gaps or (limit is not None and n_tokens > limit):
            return Counts(n_tokens)
    return _count_whole(encoder, text, options)


def count_gaps_of(encoder: Encoder, text: Text, options: Options, n_tokens: int) -> Counts:
    """The counts of a text that is known to have `n_tokens` tokens: encoded anew where that is not all to know."""
    return _count_whole(encoder, text, options) if _has_gaps(encoder) else Counts(n_tokens)


def count_gaps(encoder: Encoder, ids: memoryview) -> Counts:
    """Which of `ids` stand for text that the vocabulary lacks. Free for byte-level tokenizers.

    The ids are read as the characters of a str, which Python looks through in compiled code: 2 ns for each to find
    the unknown token, 20 ns to find bytes, where a loop takes 60. Ids too high for that are looped over.
    """
    if not _has_gaps(encoder):
        return Counts(len(ids))
    unknown, byte_ids = encoder.unknown_id, encoder.byte_fallback_ids
    n_unknown = n_byte_fallback = 0
    for start in range(0, len(ids), _STEP):
        part = ids[start : start + _STEP]
        if encoder.vocab_size > sys.maxunicode:
            n_unknown += sum(id_ == unknown for id_ in part)
            n_byte_fallback += sum(map(byte_ids.__contains__, part))
            continue
        characters = str(part, _UTF_32, "surrogatepass")
        if unknown is not None:
            n_unknown += characters.count(chr(unknown))
        if byte_ids:
            n_byte_fallback += len(_all_but(byte_ids).sub("", characters))
    return Counts(len(ids), n_unknown, n_byte_fallback)


def _count_whole(encoder: Encoder, text: Text, options: Options) -> Counts:
    ids = encoder.encode(
        text.utf8,
        text.pair,
        special=options.special,
        add_special=options.add_special,
        invalid=text.invalid,
    ).ids_u32
    return count_gaps(encoder, ids)


def _has_gaps(encoder: Encoder) -> bool:
    return encoder.unknown_id is not None or bool(encoder.byte_fallback_ids)


@functools.lru_cache
def _all_but(ids: frozenset[int]) -> re.Pattern[str]:
    """Matches what is none of `ids`, as characters."""
    return re.compile(f"[^{''.join(re.escape(chr(id_)) for id_ in ids)}]+")
