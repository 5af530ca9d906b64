"""The decoders of a tokenizer.json: a table from `type` to reader.

A reader takes every member that its stage can have, as `tokenizers` 0.23 reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tokenwire_core import pipeline
from tokenwire_core.formats.hf_patterns import read_pattern
from tokenwire_core.formats.hf_pretokenizers import ByteLevel, Metaspace
from tokenwire_core.formats.hf_stages import Readers, read_stages
from tokenwire_core.json_fields import Fields
from tokenwire_core.pipeline import Decoder


def _plain(stage: Decoder) -> Callable[[Fields], Decoder]:
    """The reader of a stage without members."""
    return lambda _: stage


def _read_metaspace_decoder(fields: Fields) -> Decoder:
    stage = Metaspace.read(fields)
    return pipeline.MetaspaceDecoder(stage.replacement, stage.prepend_scheme)


def _read_byte_level_decoder(fields: Fields) -> Decoder:
    ByteLevel.read(fields)
    return pipeline.ByteLevelDecoder()


def _read_strip_decoder(fields: Fields) -> Decoder:
    return pipeline.StripDecoder(fields.character("content"), fields.integer("start"), fields.integer("stop"))


def _read_ctc_decoder(fields: Fields) -> Decoder:
    return pipeline.CtcDecoder(
        fields.text("pad_token"), fields.text("word_delimiter_token"), fields.flag("cleanup")
    )


DECODERS: Final[Readers[Decoder]] = {
    "BPEDecoder": lambda fields: pipeline.SuffixDecoder(fields.text("suffix")),
    "ByteLevel": _read_byte_level_decoder,
    "WordPiece": lambda fields: pipeline.WordPieceDecoder(fields.text("prefix"), fields.flag("cleanup")),
    "Metaspace": _read_metaspace_decoder,
    "CTC": _read_ctc_decoder,
    "Replace": lambda fields: pipeline.ReplaceDecoder(read_pattern(fields), fields.text("content")),
    "Fuse": _plain(pipeline.Fuse()),
    "Strip": _read_strip_decoder,
    "ByteFallback": _plain(pipeline.ByteFallbackDecoder()),
}


def read_decoder(value: object) -> tuple[Decoder, ...]:
    """The stages of `decoder`. A sequence of none fuses: only without a decoder are there blanks between tokens."""
    stages = read_stages(value, "decoder", DECODERS, "decoders")
    return stages if stages or value is None else (pipeline.Fuse(),)
