"""The decoders of a tokenizer.json as stages that texts of tokens run through, as they arrive.

A stage takes texts and gives those that are certain; `flush` gives the rest at the end. What a stage is depends on
what comes in: the texts of tokens, or, behind one that makes one token of all, fragments of that token's text. So a
row of the table of stages says up to three things: `each`, what it makes of one token by itself; `on_tokens`, if it
must see the tokens around it, too; `on_fragments`, if it can tell what is certain of a text that is not all there. A
stage that cannot waits for the whole text.

Cost: some microseconds a text and stage; `decoders` has tables for what is usual.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from typing import Final

from tokenwire_core import pipeline
from tokenwire_core.byte_alphabet import to_bytes
from tokenwire_core.decoder_stage_types import (
    Each,
    Gather,
    OneByOne,
    Passing,
    Row,
    Setting,
    Stage,
    Texts,
    check_held,
)
from tokenwire_core.replace_decoder import REPLACE


class Chain:
    """Stages after each other. `is_fused`: what comes in are fragments of one text."""

    def __init__(
        self,
        decoders: Sequence[pipeline.Decoder],
        *,
        is_fused: bool = False,
        raw: bool = False,
        max_held_bytes: int | None = None,
    ) -> None:
        self._stages: list[Stage] = []
        for number, decoder in enumerate(decoders, 1):
            is_joined = number == len(decoders) or isinstance(decoders[number], pipeline.Fuse)
            setting = Setting(raw, max_held_bytes, is_joined)
            row = _STAGES[type(decoder)]
            if is_fused and row.on_fragments:
                self._stages.append(row.on_fragments(decoder, setting))
                continue
            if is_fused:
                self._stages.append(Gather(setting))
            if row.on_tokens:
                self._stages.append(row.on_tokens(decoder, setting))
            elif row.each:
                self._stages.append(OneByOne(row.each(decoder)))
            is_fused = row.fuses

    def push(self, texts: Texts) -> Texts:
        for stage in self._stages:
            texts = stage.push(texts)
        return texts

    def flush(self) -> Texts:
        texts: Texts = []
        for stage in self._stages:
            texts = stage.push(texts) + stage.flush()
        return texts


class TextFilter:
    """Stages that a whole text runs through, fragment by fragment."""

    def __init__(self, decoders: Sequence[pipeline.Decoder], raw: bool, max_held_bytes: int | None) -> None:
        self._chain = Chain(decoders, is_fused=True, raw=raw, max_held_bytes=max_held_bytes)

    def push(self, text: str) -> str:
        return "".join(self._chain.push([text]))

    def flush(self) -> str:
        return "".join(self._chain.flush())


def leading_each(decoders: Sequence[pipeline.Decoder]) -> list[Each]:
    """What the first stages make of each token by itself, up to one that must see those around it.

    To be called at once, for all tokens: of patterns the time runs.
    """
    found: list[Each] = []
    for decoder in decoders:
        each = _STAGES[type(decoder)].each
        if each is None:
            break
        found.append(each(decoder))
    return found


# Strip.


def _strip_each(stage: pipeline.StripDecoder) -> Each:
    def strip(text: str, _: bool) -> str:
        text = text[min(stage.start, len(text) - len(text.lstrip(stage.content))) :]
        return text[: len(text) - min(stage.stop, len(text) - len(text.rstrip(stage.content)))]

    return strip


class _StripFragments:
    """Of the characters that may be the last ones only their number is held back."""

    def __init__(self, stage: pipeline.StripDecoder, _: Setting) -> None:
        self._content = stage.content
        self._n_left = stage.start
        self._n_right = stage.stop
        self._n_held = 0

    def push(self, texts: Texts) -> Texts:
        text = "".join(texts)
        if self._n_left and text:
            n_leading = len(text) - len(text.lstrip(self._content))
            n_taken = min(self._n_left, n_leading)
            self._n_left = self._n_left - n_taken if n_leading == len(text) else 0
            text = text[n_taken:]
        if not self._n_right or not text:
            return [text]
        n_trailing = len(text) - len(text.rstrip(self._content))
        if n_trailing == len(text):
            n_trailing += self._n_held
            text = self._content * n_trailing
        else:
            text = self._content * self._n_held + text
        self._n_held = min(self._n_right, n_trailing)
        return [text[: len(text) - self._n_held]]

    def flush(self) -> Texts:
        return []


# Metaspace and WordPiece: the first token has no blank before it.


def _metaspace_each(stage: pipeline.MetaspaceDecoder) -> Each:
    first = " " if stage.prepend_scheme == "never" else ""
    return lambda text, is_first: text.replace(stage.replacement, first if is_first else " ")


def _metaspace_fragments(stage: pipeline.MetaspaceDecoder, _: Setting) -> Stage:
    """All is the first token."""
    each = _metaspace_each(stage)
    return OneByOne(lambda fragment, _: each(fragment, True))


_CLEANED_UP: Final = (
    *((f" {mark}", mark) for mark in ".?!,"),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def _clean_up(text: str) -> str:
    """Blanks before punctuation and English endings removed, in this order."""
    if " " in text:
        for dirty, clean in _CLEANED_UP:
            text = text.replace(dirty, clean)
    return text


def _word_piece_each(stage: pipeline.WordPieceDecoder) -> Each:
    clean_up: Callable[[str], str] = _clean_up if stage.cleanup else str

    def join(text: str, is_first: bool) -> str:
        if is_first:
            return clean_up(text)
        return clean_up(text.removeprefix(stage.prefix) if text.startswith(stage.prefix) else f" {text}")

    return join


# Those that must see the tokens around.


class _Suffix:
    """The last token's suffix becomes nothing, that of others a blank. Held back is a token that has one."""

    def __init__(self, stage: pipeline.SuffixDecoder, setting: Setting) -> None:
        self._suffix = stage.suffix
        self._is_joined = setting.is_joined
        self._held: tuple[str, str] | None = None  # what it gives inside, and at the end

    def push(self, texts: Texts) -> Texts:
        certain: Texts = []
        for text in texts:
            if self._held:
                certain.append(self._held[0])
                self._held = None
            inside, last = (text.replace(self._suffix, by) for by in (" ", ""))
            if inside == last:
                certain.append(inside)
                continue
            n_sure = _n_common(inside, last) if self._is_joined else 0
            if n_sure:
                certain.append(inside[:n_sure])
            self._held = inside[n_sure:], last[n_sure:]
        return certain

    def flush(self) -> Texts:
        return [self._held[1]] if self._held else []


def _n_common(one: str, other: str) -> int:
    """How many characters two texts begin with that are the same."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


class _Ctc(Passing):
    """A token that repeats the one before is none."""

    def __init__(self, stage: pipeline.CtcDecoder, _: Setting) -> None:
        self._stage = stage
        self._last: str | None = None

    def push(self, texts: Texts) -> Texts:
        stage = self._stage
        kept: Texts = []
        for text in texts:
            if text == self._last:
                continue
            self._last = text
            if stage.pad:
                text = text.replace(stage.pad, "")
            if stage.cleanup:
                text = _clean_up(text).replace(stage.word_delimiter, " ")
            if text:
                kept.append(text)
        return kept


class _ByteLevel:
    """The bytes of all tokens are one text."""

    def __init__(self, _: pipeline.ByteLevelDecoder, setting: Setting) -> None:
        errors = "surrogateescape" if setting.raw else "replace"
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def push(self, texts: Texts) -> Texts:
        return [self._decoder.decode(b"".join(map(_to_bytes, texts)))]

    def flush(self) -> Texts:
        return [self._decoder.decode(b"", final=True)]


def _to_bytes(text: str) -> bytes:
    try:
        return to_bytes(text)
    except UnicodeEncodeError:  # It has lone surrogates, which are bytes of another stage, kept raw.
        return text.encode(errors="surrogateescape")


_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")


def byte_of(text: str) -> int | None:
    """The byte that a token `<0xNN>` is, in any spelling that the library takes; None of others."""
    # Nearly all are others, and the first comparison says so.
    return int(text[3:5], 16) if text[:3] == "<0x" and _BYTE_TOKEN.fullmatch(text) else None


class _ByteFallback:
    """A run of byte tokens is a text, which is certain at its end, or else one U+FFFD for each."""

    def __init__(self, _: pipeline.ByteFallbackDecoder, setting: Setting) -> None:
        self._setting = setting
        self._run = bytearray()
        self._is_ill_formed = False  # The run is, and what it gives has been given.
        self._so_far = codecs.getincrementaldecoder("utf-8")()

    def push(self, texts: Texts) -> Texts:
        certain: Texts = []
        for text in texts:
            byte = byte_of(text)
            if byte is None:
                certain += self.flush()
                certain.append(text)
                continue
            self._run.append(byte)
            if not self._is_ill_formed:
                self._is_ill_formed = not self._may_be_text(byte)
            if self._is_ill_formed:
                certain += self._ill_formed()
        check_held(len(self._run), self._setting.max_held_bytes)
        return certain

    def flush(self) -> Texts:
        certain: Texts = []
        if self._run:
            try:
                certain = [self._run.decode()]
            except UnicodeDecodeError:
                certain = self._ill_formed()
        self._run.clear()
        self._so_far.reset()
        self._is_ill_formed = False
        return certain

    def _may_be_text(self, byte: int) -> bool:
        try:
            self._so_far.decode(bytes((byte,)))
        except UnicodeDecodeError:
            return False
        return True

    def _ill_formed(self) -> Texts:
        """What the bytes of the run become, which is then empty."""
        texts = "\ufffd" * len(self._run)
        if self._setting.raw:
            texts = self._run.decode("ascii", "surrogateescape")
        self._run.clear()
        return list(texts)


def _passing(*_: object) -> Stage:
    return Passing()


_STAGES: Final[dict[type, Row]] = {
    pipeline.ReplaceDecoder: REPLACE,
    pipeline.StripDecoder: Row(_strip_each, None, _StripFragments),
    pipeline.MetaspaceDecoder: Row(_metaspace_each, None, _metaspace_fragments),
    pipeline.WordPieceDecoder: Row(_word_piece_each),
    pipeline.SuffixDecoder: Row(None, _Suffix),
    pipeline.CtcDecoder: Row(None, _Ctc),
    pipeline.ByteFallbackDecoder: Row(None, _ByteFallback),
    pipeline.ByteLevelDecoder: Row(None, _ByteLevel, fuses=True),
    pipeline.Fuse: Row(None, _passing, _passing, fuses=True),
}
