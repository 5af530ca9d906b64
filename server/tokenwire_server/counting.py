"""Counting: how many tokens a text has, and how many of them stand for text that the vocabulary lacks."""

from __future__ import annotations

from dataclasses import dataclass

from tokenwire_core import Encoder

from tokenwire_server.requests import Options, Text

_STEP = 1 << 16  # So that other threads get a turn while a million ids are looked through.


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of tokens: all, those that are the unknown token, those that are bytes of a character."""

    n_tokens: int
    n_unknown: int = 0
    n_byte_fallback: int = 0


def count(encoder: Encoder, text: Text, options: Options, limit: int | None) -> Counts:
    """The tokens of a text or a pair. Over `limit` counting may stop, and then counts nothing but tokens.

    Tokens are only counted, not made, where the tokenizer has neither unknown tokens nor bytes: byte-level ones have
    not. Raises `TokenizerError`.
    """
    has_gaps = encoder.spec.unknown_id is not None or bool(encoder.spec.byte_fallback_ids)
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
    ids = encoder.encode(
        text.utf8,
        text.pair,
        special=options.special,
        add_special=options.add_special,
        invalid=text.invalid,
    ).ids_u32
    return Counts(
        len(ids),
        0 if encoder.spec.unknown_id is None else _count_in(ids, frozenset((encoder.spec.unknown_id,))),
        _count_in(ids, encoder.spec.byte_fallback_ids),
    )


def _count_in(ids: memoryview, wanted: frozenset[int]) -> int:
    """How many of `ids` are in `wanted`: 30 ns each."""
    if not wanted:
        return 0
    return sum(
        sum(map(wanted.__contains__, ids[start : start + _STEP])) for start in range(0, len(ids), _STEP)
    )
