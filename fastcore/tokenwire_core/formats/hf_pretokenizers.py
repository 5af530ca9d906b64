"""The pre-tokenizers of a tokenizer.json: a class each says what it is told, how documents say it and what does it.

To add one is to add its class, which is its row in the table, and a file with the code that `compiled` names: a
`cuts.PreTokenizer`. What it does is stated once more, slowly, in `reference_pretokenize`, and tests compare the two.

A reader takes every member that its stage can have, as `tokenizers` 0.23 reads them: what has a default there has it
here, what must be there must be here.
"""

from __future__ import annotations

from typing import Final, Literal, Self

from tokenwire_core.formats.hf_patterns import read_pattern
from tokenwire_core.formats.hf_stages import read_stages, row
from tokenwire_core.json_fields import Fields, bad_value
from tokenwire_core.pipeline import Behavior, PreTokenizer, Regex

PRE_TOKENIZERS: Final[dict[str, type[PreTokenizer]]] = {}
"""By `type`."""

_BEHAVIORS: Final[tuple[Behavior, ...]] = (
    "Removed",
    "Isolated",
    "MergedWithPrevious",
    "MergedWithNext",
    "Contiguous",
)
_Scheme = Literal["always", "first", "never"]
_SCHEMES: Final[tuple[_Scheme, ...]] = ("always", "first", "never")


def read_pre_tokenizer(value: object) -> tuple[PreTokenizer, ...]:
    """The stages of `pre_tokenizer`.

    Raises:
        ArtifactError: those of `read_stages`.
    """
    readers = {name: stage.read for name, stage in PRE_TOKENIZERS.items()}
    return read_stages(value, "pre_tokenizer", readers, "pretokenizers")


@row(PRE_TOKENIZERS, compiled="char_stages.bert")
class BertPreTokenizer(PreTokenizer):
    """Pieces between blanks, each punctuation character a piece of its own."""


@row(PRE_TOKENIZERS, compiled="split_stages.byte_level")
class ByteLevel(PreTokenizer):
    """Pieces by the pattern of GPT-2 if `use_regex`, their bytes as characters of the byte alphabet."""

    add_prefix_space: bool = True
    use_regex: bool = True

    to_byte_level = True

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Its members are the same wherever it stands; `trim_offsets` is the post-processor's alone."""
        fields.flag("trim_offsets")
        return cls(fields.flag("add_prefix_space"), fields.flag("use_regex", True))


@row(PRE_TOKENIZERS, compiled="split_stages.char_delimiter_split")
class CharDelimiterSplit(PreTokenizer):
    """Pieces between a character."""

    delimiter: str

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.character("delimiter"))


@row(PRE_TOKENIZERS, compiled="text_stages.metaspace")
class Metaspace(PreTokenizer):
    """Blanks as `replacement`, put before the text too by `prepend_scheme`; pieces begin with it if `split`."""

    replacement: str = "▁"
    prepend_scheme: _Scheme = "always"
    split: bool = True

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """In all spellings: `add_prefix_space` and `str_rep` are those of older versions."""
        replacement = fields.character("replacement")
        scheme = fields.choice("prepend_scheme", _SCHEMES, "always")
        split = fields.flag_or_none("split")
        fields.text_or_none("str_rep")
        if fields.flag_or_none("add_prefix_space") is False and scheme != "never":
            message = "false is only read beside the prepend_scheme never"
            raise bad_value(fields.at("add_prefix_space"), message)
        return cls(replacement, scheme, split is not False)


@row(PRE_TOKENIZERS, compiled="char_stages.whitespace")
class Whitespace(PreTokenizer):
    r"""Pieces by `\w+|[^\w\s]+`."""


@row(PRE_TOKENIZERS, compiled="char_stages.whitespace_split")
class WhitespaceSplit(PreTokenizer):
    """Pieces between blanks."""


@row(PRE_TOKENIZERS, compiled="split_stages.split")
class Split(PreTokenizer):
    """Pieces between the matches of a pattern; with `invert` the matches are the pieces."""

    pattern: str | Regex
    behavior: Behavior
    invert: bool = False

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(read_pattern(fields), fields.choice("behavior", _BEHAVIORS), fields.flag("invert"))


@row(PRE_TOKENIZERS, compiled="char_stages.punctuation")
class Punctuation(PreTokenizer):
    """Punctuation characters as delimiters."""

    behavior: Behavior = "Isolated"

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.choice("behavior", _BEHAVIORS, "Isolated"))


@row(PRE_TOKENIZERS, compiled="char_stages.digits")
class Digits(PreTokenizer):
    """Digits apart from the rest, each one of its own if `individual`."""

    individual: bool = False

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.flag("individual_digits"))


@row(PRE_TOKENIZERS, compiled="char_stages.unicode_scripts")
class UnicodeScripts(PreTokenizer):
    """Pieces of one script each."""


@row(PRE_TOKENIZERS, compiled="char_stages.fixed_length")
class FixedLength(PreTokenizer):
    """Pieces of a number of characters."""

    length: int

    @classmethod
    def read(cls, fields: Fields) -> Self:
        return cls(fields.integer("length", 5, least=1))
