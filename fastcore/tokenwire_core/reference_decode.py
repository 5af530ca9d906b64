"""Decoders, as the `tokenizers` library runs them: the spellings of tokens to text.

Each is one function from the stage's data and a list of texts to a list of texts; `decode` finds it by the stage's
type and joins what the last has made. Where the library crashes (Strip on tokens shorter than what it would take off)
we take off what there is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from tokenwire_core import pipeline
from tokenwire_core.byte_alphabet import BYTE_OF_CHAR
from tokenwire_core.reference_patterns import finder, parts

Texts = list[str]


def decode(texts: Texts, stages: Iterable[pipeline.Decoder]) -> str:
    """The text of tokens after all stages, in order."""
    for stage in stages:
        texts = _DECODERS[type(stage)](stage, texts)
    return "".join(texts)


def _byte_level(_: pipeline.ByteLevelDecoder, texts: Texts) -> Texts:
    """A token with any character outside the byte alphabet is text, and its UTF-8 taken as it is."""
    utf8 = b"".join(
        bytes(BYTE_OF_CHAR[char] for char in text) if set(text) <= BYTE_OF_CHAR.keys() else text.encode()
        for text in texts
    )
    return [utf8.decode(errors="replace")]


_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")


def _byte_fallback(_: pipeline.ByteFallbackDecoder, texts: Texts) -> Texts:
    """Runs of byte tokens to the text they are, or one U+FFFD for each token of the run if they are none."""
    decoded: Texts = []
    for is_byte, run in itertools.groupby(texts, lambda text: _BYTE_TOKEN.fullmatch(text) is not None):
        if not is_byte:
            decoded += run
            continue
        utf8 = bytes(int(text[3:5], 16) for text in run)
        try:
            decoded.append(utf8.decode())
        except UnicodeDecodeError:
            decoded += ["\ufffd"] * len(utf8)
    return decoded


def _fuse(_: pipeline.Fuse, texts: Texts) -> Texts:
    return ["".join(texts)]


def _metaspace(stage: pipeline.MetaspaceDecoder, texts: Texts) -> Texts:
    """In the first token every `replacement` goes, unless none is ever put before a text."""
    first = " " if stage.prepend_scheme == "never" else ""
    return [text.replace(stage.replacement, " " if number else first) for number, text in enumerate(texts)]


def _replace(stage: pipeline.ReplaceDecoder, texts: Texts) -> Texts:
    find = finder(stage.pattern)
    return [
        "".join(
            stage.content if is_match else text[start:end]
            for start, end, is_match in (parts(text, find(text)) if text else ())
        )
        for text in texts
    ]


def _strip(stage: pipeline.StripDecoder, texts: Texts) -> Texts:
    stripped = []
    for text in texts:
        n_left = min(stage.start, len(text) - len(text.lstrip(stage.content)))
        rest = text[n_left:]
        n_right = min(stage.stop, len(rest) - len(rest.rstrip(stage.content)))
        stripped.append(rest[: len(rest) - n_right])
    return stripped


_CLEANED_UP: Final = {
    **{f" {mark}": mark for mark in (".", "?", "!", ",")},
    " ' ": "'",
    " n't": "n't",
    " 'm": "'m",
    " do not": " don't",
    " 's": "'s",
    " 've": "'ve",
    " 're": "'re",
}


def _clean_up(text: str) -> str:
    """Blanks before punctuation and English endings removed."""
    for dirty, clean in _CLEANED_UP.items():
        text = text.replace(dirty, clean)
    return text


def _word_piece(stage: pipeline.WordPieceDecoder, texts: Texts) -> Texts:
    joined = [
        text
        if not number
        else text.removeprefix(stage.prefix)
        if text.startswith(stage.prefix)
        else f" {text}"
        for number, text in enumerate(texts)
    ]
    return list(map(_clean_up, joined)) if stage.cleanup else joined


def _suffix(stage: pipeline.SuffixDecoder, texts: Texts) -> Texts:
    last = len(texts) - 1
    return [text.replace(stage.suffix, "" if at == last else " ") for at, text in enumerate(texts)]


def _ctc(stage: pipeline.CtcDecoder, texts: Texts) -> Texts:
    once = [text.replace(stage.pad, "") if stage.pad else text for text, _ in itertools.groupby(texts)]
    if stage.cleanup:
        once = [_clean_up(text).replace(stage.word_delimiter, " ") for text in once]
    return [text for text in once if text]


_DECODERS: Final[dict[type, Callable[[Any, Texts], Texts]]] = {
    pipeline.ByteLevelDecoder: _byte_level,
    pipeline.ByteFallbackDecoder: _byte_fallback,
    pipeline.Fuse: _fuse,
    pipeline.MetaspaceDecoder: _metaspace,
    pipeline.ReplaceDecoder: _replace,
    pipeline.StripDecoder: _strip,
    pipeline.WordPieceDecoder: _word_piece,
    pipeline.SuffixDecoder: _suffix,
    pipeline.CtcDecoder: _ctc,
}
