"""Where tiktoken splits a text, asked of its ids."""

from __future__ import annotations

import itertools

import tiktoken


def assert_pieces_are_tiktokens(pattern: str, texts: list[str], pieces: list[list[bytes]]) -> None:
    """tiktoken, with every one of the `pieces` of each text as a token, gives one token for each piece.

    A whole piece that is a token wins before any merge. If tiktoken's pieces were finer, ours would not come out
    whole; if they were coarser, two neighbours of ours would merge, because each such pair is a token as well.
    """
    tokens = {piece for text in pieces for piece in text}
    tokens |= {left + right for text in pieces for left, right in itertools.pairwise(text)}
    ranks = {bytes([byte]): byte for byte in range(256)}
    for token in sorted(tokens):
        ranks.setdefault(token, len(ranks))
    encoding = tiktoken.Encoding("pieces", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    for text, ours in zip(texts, pieces, strict=True):
        assert encoding.encode_ordinary(text) == [ranks[piece] for piece in ours], ascii(text)
