"""Inputs of a call, as they go into a request, and what cannot travel in one."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from tokenwire._options import Text
from tokenwire.errors import IdOutOfRangeError, InvalidUtf8Error
from tokenwire.v1 import tokenizer_pb2 as pb


def fill(entry: pb.Input, text: Text, pair: Text | None, invalid: pb.InvalidUtf8Policy) -> None:
    """Both texts of a pair travel as the same kind. Raises UnicodeEncodeError for a `str` with surrogates."""
    if isinstance(text, str) and not isinstance(pair, bytes):
        entry.text = text
        if pair is not None:
            entry.pair_text = pair
        return
    entry.utf8 = text.encode() if isinstance(text, str) else text
    if pair is not None:
        entry.pair_utf8 = pair.encode() if isinstance(pair, str) else pair
    entry.invalid_utf8 = invalid


def second_texts(pair: Text | Sequence[Text] | None, n_inputs: int, single: bool) -> Sequence[Text | None]:
    """The second text of each input. Raises TypeError and ValueError where `pair` does not go with the texts."""
    if pair is None:
        return [None] * n_inputs
    if isinstance(pair, (str, bytes)) != single:
        raise TypeError("pair is one text for one text, and a sequence of them for a sequence")
    seconds: Sequence[Text] = [pair] if isinstance(pair, (str, bytes)) else pair
    if len(seconds) != n_inputs:
        raise ValueError(f"{len(seconds)} second texts for {n_inputs} inputs; give one for each")
    return seconds


def language_tags(language: str | Sequence[str], n_inputs: int) -> Sequence[str]:
    """The tag of each input. Raises ValueError where there are more or fewer."""
    if isinstance(language, str):
        return [language] * n_inputs
    if len(language) != n_inputs:
        raise ValueError(f"{len(language)} languages for {n_inputs} inputs; give one, or one for each")
    return language


def surrogate_fault(text: str, codepoint_position: int) -> InvalidUtf8Error:
    """The error of a `str` that cannot travel."""
    byte_position = len(text[:codepoint_position].encode())
    return InvalidUtf8Error(
        f"the text has a surrogate at code point {codepoint_position} (byte {byte_position}), which UTF-8"
        " cannot carry; join pairs and replace lone ones first:"
        " text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')",
        metadata={"byte_position": str(byte_position), "codepoint_position": str(codepoint_position)},
    )


def id_fault(ids: Sequence[int]) -> IdOutOfRangeError:
    """The error of ids of which one cannot travel."""
    index = next(i for i, one in enumerate(ids) if not -(2**63) <= operator.index(one) < 2**63)
    return IdOutOfRangeError(
        f"the id at index {index} does not fit 64 bits; check that the ids come from this tokenizer",
        metadata={"index": str(index)},
    )
