"""The stages of a tokenizer.json before and behind the model: one table each, from `type` to reader.

To add a stage is to add its class to `pipeline.py`, a reader here, and a row. A reader takes every member that its
stage can have, as `tokenizers` 0.23 reads them: what has a default there has it here, what must be there must be here.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeVar

from tokenwire_core import pipeline
from tokenwire_core.charsmap import read_charsmap
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.fields import Fields, bad_value
from tokenwire_core.formats.hf_patterns import check_pattern
from tokenwire_core.pipeline import Decoder, Normalizer, PreTokenizer

MAX_STAGES: Final = 256
MAX_SEQUENCE_DEPTH: Final = 16
MAX_CHARSMAP_TEXT: Final = 1 << 23

_BEHAVIORS: Final[tuple[pipeline.Behavior, ...]] = (
    "Removed",
    "Isolated",
    "MergedWithPrevious",
    "MergedWithNext",
    "Contiguous",
)
_Scheme = Literal["always", "first", "never"]
_SCHEMES: Final[tuple[_Scheme, ...]] = ("always", "first", "never")

_Stage = TypeVar("_Stage")
Readers = Mapping[str, Callable[[Fields], _Stage]]


def read_stages(value: object, path: str, readers: Readers[_Stage], sequence_key: str) -> tuple[_Stage, ...]:
    """A stage, or a `Sequence` of them under `sequence_key`, in order; null is none.

    Raises:
        ArtifactError: UNSUPPORTED_STAGE, TOO_MANY_STAGES, TOO_DEEP, and those of the stages.
    """
    stages: list[_Stage] = []
    for fields, kind in _flat(value, path, sequence_key, 0) if value is not None else ():
        if kind not in readers:
            known = ", ".join([*readers, "Sequence"])
            message = f"there is no stage {kind[:64]!a} here; this version has {known}"
            raise ArtifactError("UNSUPPORTED_STAGE", message, path=fields.path)
        stages.append(readers[kind](fields))
        fields.finish()
        if len(stages) > MAX_STAGES:
            raise ArtifactError("TOO_MANY_STAGES", f"there are more than {MAX_STAGES} stages", path=path)
    return tuple(stages)


def _flat(value: object, path: str, sequence_key: str, depth: int) -> Iterator[tuple[Fields, str]]:
    """The stages of sequences within sequences, which do the same one after the other."""
    if depth > MAX_SEQUENCE_DEPTH:
        raise ArtifactError("TOO_DEEP", f"sequences are more than {MAX_SEQUENCE_DEPTH} deep", path=path[:64])
    fields = Fields(value, path)
    kind = fields.text("type")
    if kind != "Sequence":
        yield fields, kind
        return
    for index, item in enumerate(fields.array(sequence_key)):
        yield from _flat(item, f"{fields.at(sequence_key)}[{index}]", sequence_key, depth + 1)
    fields.finish()


def _read_pattern(fields: Fields) -> str | pipeline.Regex:
    path = fields.at("pattern")
    inner = Fields(fields.take("pattern"), path)
    kind = "Regex" if "Regex" in inner else "String"
    text = inner.text(kind)
    inner.finish()
    if kind == "Regex":
        check_pattern(text, f"{path}.Regex")
        return pipeline.Regex(text)
    if not text:
        raise bad_value(f"{path}.String", "it is empty and would match everywhere")
    return text


def _plain(stage: _Stage) -> Callable[[Fields], _Stage]:
    """The reader of a stage without members."""
    return lambda _: stage


# Normalizers.


def _read_bert_normalizer(fields: Fields) -> Normalizer:
    return pipeline.BertNormalizer(
        clean_text=fields.flag("clean_text"),
        handle_chinese_chars=fields.flag("handle_chinese_chars"),
        strip_accents=fields.flag_or_none("strip_accents"),
        lowercase=fields.flag("lowercase"),
    )


def _read_precompiled(fields: Fields) -> Normalizer:
    text = fields.text("precompiled_charsmap", max_bytes=MAX_CHARSMAP_TEXT)
    path = fields.at("precompiled_charsmap")
    try:
        data = a2b_base64(text.encode(), strict_mode=True)
    except Base64Error:
        data = b""
    if b2a_base64(data, newline=False) != text.encode():
        raise ArtifactError("BAD_BASE64", "it is not strict base64", path=path)
    try:
        read_charsmap(data)
    except ArtifactError as error:
        raise ArtifactError(error.reason, str(error), path=path) from None
    return pipeline.Precompiled(data)


NORMALIZERS: Final[Readers[Normalizer]] = {
    "BertNormalizer": _read_bert_normalizer,
    "Strip": lambda fields: pipeline.StripBlanks(fields.flag("strip_left"), fields.flag("strip_right")),
    "StripAccents": _plain(pipeline.StripAccents()),
    "NFC": _plain(pipeline.UnicodeForm("NFC")),
    "NFD": _plain(pipeline.UnicodeForm("NFD")),
    "NFKC": _plain(pipeline.UnicodeForm("NFKC")),
    "NFKD": _plain(pipeline.UnicodeForm("NFKD")),
    "Lowercase": _plain(pipeline.Lowercase()),
    "Nmt": _plain(pipeline.Nmt()),
    "Precompiled": _read_precompiled,
    "Prepend": lambda fields: pipeline.Prepend(fields.text("prepend")),
    "Replace": lambda fields: pipeline.Replace(_read_pattern(fields), fields.text("content")),
    "ByteLevel": _plain(pipeline.ByteLevelNormalizer()),
}


def read_normalizer(value: object) -> tuple[Normalizer, ...]:
    """The stages of `normalizer`."""
    return read_stages(value, "normalizer", NORMALIZERS, "normalizers")


# Pre-tokenizers.


def read_byte_level(fields: Fields) -> pipeline.ByteLevel:
    """Of the members of ByteLevel all are there wherever it stands; `trim_offsets` is the post-processor's alone."""
    fields.flag("trim_offsets")
    return pipeline.ByteLevel(fields.flag("add_prefix_space"), fields.flag("use_regex", True))


def _read_metaspace(fields: Fields) -> pipeline.Metaspace:
    """In all spellings: `add_prefix_space` and `str_rep` are those of older versions."""
    replacement = fields.character("replacement")
    scheme = fields.choice("prepend_scheme", _SCHEMES, "always")
    split = fields.flag_or_none("split")
    fields.text_or_none("str_rep")
    if fields.flag_or_none("add_prefix_space") is False and scheme != "never":
        raise bad_value(fields.at("add_prefix_space"), "false is only read beside the prepend_scheme never")
    return pipeline.Metaspace(replacement, scheme, split is not False)


def _read_split(fields: Fields) -> PreTokenizer:
    return pipeline.Split(_read_pattern(fields), fields.choice("behavior", _BEHAVIORS), fields.flag("invert"))


PRE_TOKENIZERS: Final[Readers[PreTokenizer]] = {
    "BertPreTokenizer": _plain(pipeline.BertPreTokenizer()),
    "ByteLevel": read_byte_level,
    "CharDelimiterSplit": lambda fields: pipeline.CharDelimiterSplit(fields.character("delimiter")),
    "Metaspace": _read_metaspace,
    "Whitespace": _plain(pipeline.Whitespace()),
    "WhitespaceSplit": _plain(pipeline.WhitespaceSplit()),
    "Split": _read_split,
    "Punctuation": lambda fields: pipeline.Punctuation(fields.choice("behavior", _BEHAVIORS, "Isolated")),
    "Digits": lambda fields: pipeline.Digits(fields.flag("individual_digits")),
    "UnicodeScripts": _plain(pipeline.UnicodeScripts()),
    "FixedLength": lambda fields: pipeline.FixedLength(fields.integer("length", 5, least=1)),
}


def read_pre_tokenizer(value: object) -> tuple[PreTokenizer, ...]:
    """The stages of `pre_tokenizer`."""
    return read_stages(value, "pre_tokenizer", PRE_TOKENIZERS, "pretokenizers")


# Decoders.


def _read_metaspace_decoder(fields: Fields) -> Decoder:
    stage = _read_metaspace(fields)
    return pipeline.MetaspaceDecoder(stage.replacement, stage.prepend_scheme)


def _read_byte_level_decoder(fields: Fields) -> Decoder:
    read_byte_level(fields)
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
    "Replace": lambda fields: pipeline.ReplaceDecoder(_read_pattern(fields), fields.text("content")),
    "Fuse": _plain(pipeline.Fuse()),
    "Strip": _read_strip_decoder,
    "ByteFallback": _plain(pipeline.ByteFallbackDecoder()),
}


def read_decoder(value: object) -> tuple[Decoder, ...]:
    """The stages of `decoder`. A sequence of none fuses: only without a decoder are there blanks between tokens."""
    stages = read_stages(value, "decoder", DECODERS, "decoders")
    return stages if stages or value is None else (pipeline.Fuse(),)
