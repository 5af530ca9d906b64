"""The normalizers of a tokenizer.json: a class each says what it is told, how documents say it and what does it.

To add one is to add its class, which is its row in the table, and a file with the code that `compiled` names: a
`rewriting.Normalizer`. What it does is stated once more, slowly, in `reference_normalize`, and tests compare the two.

A reader takes every member that its stage can have, as `tokenizers` 0.23 reads them: what has a default there has it
here, what must be there must be here.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from typing import ClassVar, Final, Literal, Self

from tokenwire_core.charsmap import read_charsmap
from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.hf_patterns import read_pattern
from tokenwire_core.formats.hf_stages import read_stages, row
from tokenwire_core.json_fields import Fields
from tokenwire_core.pipeline import Normalizer, Regex

MAX_CHARSMAP_TEXT: Final = 1 << 23

NORMALIZERS: Final[dict[str, type[Normalizer]]] = {}
"""By `type`."""


def read_normalizer(value: object) -> tuple[Normalizer, ...]:
    """The stages of `normalizer`.

    Raises:
        ArtifactError: those of `read_stages`.
    """
    readers = {name: stage.read for name, stage in NORMALIZERS.items()}
    return read_stages(value, "normalizer", readers, "normalizers")


@row(NORMALIZERS, compiled="character_maps.bert_normalizer")
class BertNormalizer(Normalizer):
    """BERT's cleaning of text. `strip_accents` None: as `lowercase`."""

    clean_text: bool = True
    handle_chinese_chars: bool = True
    strip_accents: bool | None = None
    lowercase: bool = True

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(
            clean_text=fields.flag("clean_text"),
            handle_chinese_chars=fields.flag("handle_chinese_chars"),
            strip_accents=fields.flag_or_none("strip_accents"),
            lowercase=fields.flag("lowercase"),
        )


@row(NORMALIZERS, compiled="edge_normalizers.StripNormalizer")
class Strip(Normalizer):
    """Blanks removed at the ends."""

    left: bool = True
    right: bool = True

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.flag("strip_left"), fields.flag("strip_right"))


@row(NORMALIZERS, compiled="character_maps.strip_accents")
class StripAccents(Normalizer):
    """Combining marks removed."""


class UnicodeForm(Normalizer):
    """Unicode normalization."""

    __slots__ = ()
    form: ClassVar[Literal["NFC", "NFD", "NFKC", "NFKD"]]


@row(NORMALIZERS, compiled="normal_forms.unicode_form")
class NFC(UnicodeForm):
    """Canonical composition."""

    form = "NFC"


@row(NORMALIZERS, compiled="normal_forms.unicode_form")
class NFD(UnicodeForm):
    """Canonical decomposition."""

    form = "NFD"


@row(NORMALIZERS, compiled="normal_forms.unicode_form")
class NFKC(UnicodeForm):
    """Compatibility decomposition and canonical composition."""

    form = "NFKC"


@row(NORMALIZERS, compiled="normal_forms.unicode_form")
class NFKD(UnicodeForm):
    """Compatibility decomposition."""

    form = "NFKD"


@row(NORMALIZERS, compiled="character_maps.lowercase")
class Lowercase(Normalizer):
    """Lower case, character by character."""


@row(NORMALIZERS, compiled="character_maps.nmt")
class Nmt(Normalizer):
    """SentencePiece's cleaning of control characters and blanks."""


@row(NORMALIZERS, compiled="precompiled.PrecompiledNormalizer")
class Precompiled(Normalizer):
    """SentencePiece's compiled table of replacements, the longest match first."""

    charsmap: bytes

    @classmethod
    def read(cls, fields: Fields) -> Self:
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
        return cls(data)


@row(NORMALIZERS, compiled="edge_normalizers.PrependNormalizer")
class Prepend(Normalizer):
    """Text put before a text that is not empty."""

    text: str

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.text("prepend"))


@row(NORMALIZERS, compiled="replacing.replacer")
class Replace(Normalizer):
    """Every match of the pattern replaced."""

    pattern: str | Regex
    content: str

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(read_pattern(fields), fields.text("content"))


@row(NORMALIZERS, compiled="character_maps.byte_level")
class ByteLevel(Normalizer):
    """Each byte of the UTF-8 as its character of the byte alphabet."""

    to_byte_level = True
