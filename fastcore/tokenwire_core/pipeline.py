"""A tokenizer as stages, in the words of the field and as plain data: what the readers of formats make.

    text → added tokens cut out → normalizer → pre-tokenizer → model → post-processor → ids
    ids → decoder → text

The stages and their names are those of the `tokenizers` library, whose documents spell them. (What a SentencePiece
model does is other stages with other rules: `sentencepiece_spec.py`.) A stage is a value: equal stages do equal things.
Nothing here computes: `reference_pipeline.py` follows these stages to the letter, slowly; compiled code follows them
fast, and must give the same.

Patterns are regular expressions in the syntax of the reference (`Regex`) or literal text (`str`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from tokenwire_core.json_fields import Fields
from tokenwire_core.tokenizer_config import TokenizerConfig


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression, as the artifact spells it."""

    pattern: str


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is found in the text before anything else happens to it.

    `special` ones are the control tokens that the artifact flags. `normalized`: looked for in the normalized text,
    else in the text as it came. `single_word`: only where no word character stands on either side. `lstrip`,
    `rstrip`: takes the blanks on that side with it.
    """

    content: str
    id: int
    special: bool = False
    normalized: bool = True
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False


# Normalizers and pre-tokenizers; which there are say `formats/hf_normalizers.py` and `formats/hf_pretokenizers.py`.


class Stage:
    """What comes before the model: a frozen dataclass of its settings, named as documents name it.

    Attributes:
        compiled: the code that does it, `module.name` in this package: called with the stage, it gives a step or a
            list of steps.
        to_byte_level: the text that it gives is in the byte alphabet.
    """

    __slots__ = ()
    compiled: ClassVar[str]
    to_byte_level: ClassVar[bool] = False

    @classmethod
    def read(cls, _: Fields, /) -> Self:
        """The stage as a document has it; every member that it can have is taken.

        Raises:
            ArtifactError: those of `Fields`, and those of the stage.
        """
        return cls()


class Normalizer(Stage):
    """Text to text, each character knowing the source it came from."""

    __slots__ = ()


class PreTokenizer(Stage):
    """Text to pieces."""

    __slots__ = ()


Behavior = Literal["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
"""What becomes of a delimiter between pieces."""


# Models: a piece to tokens.


@dataclass(frozen=True, slots=True, eq=False)
class BytePairModel:
    """Byte-pair encoding over characters: of all neighbours that a merge joins, the earliest merge first.

    `vocab` is spelling to id, `merges` pairs of spellings in order. `unk` is what a character that is no entry
    becomes, runs of it one token if `fuse_unk`; with `byte_fallback` its bytes' tokens `<0xNN>` come before that.
    `ignore_merges`: a piece that is an entry is that token. `prefix` stands before the characters inside a word,
    `suffix` behind its last.
    """

    vocab: Mapping[str, int]
    merges: tuple[tuple[str, str], ...]
    unk: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    prefix: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class UnigramModel:
    """The segmentation of the highest sum of scores. `pieces` are (spelling, score) in id order."""

    pieces: tuple[tuple[str, float], ...]
    unk_id: int | None
    byte_fallback: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class WordPieceModel:
    """The longest entry from the left, then on; entries inside a word begin with `prefix`.

    A word that cannot be made up, or of more than `max_chars_per_word` characters, is `unk`.
    """

    vocab: Mapping[str, int]
    unk: str
    prefix: str = "##"
    max_chars_per_word: int = 100


@dataclass(frozen=True, slots=True, eq=False)
class WordLevelModel:
    """A piece is an entry or `unk`."""

    vocab: Mapping[str, int]
    unk: str


Model = BytePairModel | UnigramModel | WordPieceModel | WordLevelModel


def vocabulary_of(model: Model) -> Mapping[str, int]:
    """Spelling to id of a model's entries."""
    if isinstance(model, UnigramModel):
        return {spelling: id for id, (spelling, _) in enumerate(model.pieces)}
    return model.vocab


# Post-processors: what stands around the ids of a text, or of a pair.


@dataclass(frozen=True, slots=True)
class TemplateToken:
    """A special token of a template: its spelling, its ids, and their type id."""

    token: str
    ids: tuple[int, ...]
    type_id: int


@dataclass(frozen=True, slots=True)
class TemplateText:
    """The first (`A`) or second (`B`) text of a template."""

    text: Literal["A", "B"]
    type_id: int


@dataclass(frozen=True, slots=True)
class Template:
    """What a single text and a pair become."""

    single: tuple[TemplateToken | TemplateText, ...]
    pair: tuple[TemplateToken | TemplateText, ...]


@dataclass(frozen=True, slots=True)
class TrimOffsets:
    """Spans without the blanks at their ends, for the reference's own offsets. `add_prefix_space` as ByteLevel's."""

    add_prefix_space: bool = True


PostProcessor = Template | TrimOffsets


# Decoders: tokens to text.


@dataclass(frozen=True, slots=True)
class ByteLevelDecoder:
    """Characters of the byte alphabet to bytes."""


@dataclass(frozen=True, slots=True)
class ByteFallbackDecoder:
    """Runs of tokens `<0xNN>` to the text they are, or U+FFFD for each where they are none."""


@dataclass(frozen=True, slots=True)
class Fuse:
    """All tokens as one."""


@dataclass(frozen=True, slots=True)
class MetaspaceDecoder:
    """`replacement` to blanks; the one that was put before the text goes."""

    replacement: str = "▁"
    prepend_scheme: Literal["always", "first", "never"] = "always"


@dataclass(frozen=True, slots=True)
class ReplaceDecoder:
    """Every match in a token replaced."""

    pattern: str | Regex
    content: str


@dataclass(frozen=True, slots=True)
class StripDecoder:
    """Up to so many of a character removed at the ends of a token."""

    content: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class WordPieceDecoder:
    """Blanks between tokens that do not begin with `prefix`; `cleanup` takes those before punctuation away."""

    prefix: str = "##"
    cleanup: bool = True


@dataclass(frozen=True, slots=True)
class SuffixDecoder:
    """Byte-pair encoding's `suffix` to a blank, at the end to nothing."""

    suffix: str


@dataclass(frozen=True, slots=True)
class CtcDecoder:
    """Repeated tokens once, `pad` to nothing, `word_delimiter` to a blank."""

    pad: str
    word_delimiter: str
    cleanup: bool


Decoder = (
    ByteLevelDecoder
    | ByteFallbackDecoder
    | Fuse
    | MetaspaceDecoder
    | ReplaceDecoder
    | StripDecoder
    | WordPieceDecoder
    | SuffixDecoder
    | CtcDecoder
)


@dataclass(frozen=True, slots=True, eq=False)
class Pipeline:
    """A whole tokenizer. Each stage is a sequence, done in order; an empty one does nothing.

    `post_processor` is done in order on the template of the one before. Without a decoder tokens are joined by
    blanks. `config` is what came beside the artifact.
    """

    added_tokens: tuple[AddedToken, ...]
    normalizer: tuple[Normalizer, ...]
    pre_tokenizer: tuple[PreTokenizer, ...]
    model: Model
    post_processor: tuple[PostProcessor, ...]
    decoder: tuple[Decoder, ...]
    config: TokenizerConfig | None = None
