"""Counting: what the tokens of an input are, without handing them out."""

from __future__ import annotations

from tokenwire_core import Encoder
from tokenwire_core.tally import Tally

from tokenwire_server.requests import Options, Text


def tally(encoder: Encoder, text: Text, options: Options, limit: int | None = None) -> Tally:
    """The tokens of a text or a pair; of a text that has more than `limit`, at least as many as that takes to know.

    Raises `TokenizerError`.
    """
    return encoder.tally(
        text.utf8,
        text.pair,
        special=options.special,
        add_special=options.add_special,
        invalid=text.invalid,
        limit=None if text.pair is not None else limit,
    )
