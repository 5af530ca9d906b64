"""A tokenizer's stages in the field's words, a line each: what a person reads off before trusting it.

The names are those of the `tokenizers` library for a tokenizer.json and a rank file, and SentencePiece's own for its
models. A line has all settings of its stage, as `Split(pattern=/\\s+/, behavior="Isolated", invert=false)`. What is
long is cut and told apart by its size and the start of its sha256, so stages with equal lines do the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tokenwire_core import pipeline
from tokenwire_core.charsmap import Charsmap
from tokenwire_core.pipeline import Regex, Template, TemplateText, TemplateToken
from tokenwire_core.sentencepiece_spec import PieceType, SentencePieceModel
from tokenwire_core.spec import PipelineSpec, RankFileSpec, SentencePieceSpec, TokenizerSpec

MAX_SHOWN: Final = 320
"""Characters of a text that are shown whole."""


@dataclass(frozen=True, slots=True)
class Description:
    """The stages of a tokenizer in the order in which a text meets them, a line each.

    Attributes:
        normalizer, pre_tokenizer, post_processor, decoder: their stages in order; none where there is no such step.
        model: the model, with the sizes of its tables.
        n_added_tokens: tokens that are found in a text before the model sees it: added tokens, user-defined symbols.
        n_control_tokens: tokens that text becomes only where the caller allows it.
    """

    normalizer: tuple[str, ...]
    pre_tokenizer: tuple[str, ...]
    model: str
    post_processor: tuple[str, ...]
    decoder: tuple[str, ...]
    n_added_tokens: int
    n_control_tokens: int


def describe(spec: TokenizerSpec) -> Description:
    """The stages of `spec`. Cost: linear in its texts, no more than a pass over the vocabulary."""
    if isinstance(spec, RankFileSpec):
        return _rank_file(spec)
    if isinstance(spec, PipelineSpec):
        return _pipeline(spec)
    if isinstance(spec, SentencePieceSpec):
        return _sentencepiece(spec)
    raise TypeError(f"no description for {type(spec).__name__}")


def _rank_file(spec: RankFileSpec) -> Description:
    # The matches of the pattern are the pieces, and what it does not match is left out.
    split = _line("Split", {"pattern": Regex(spec.pattern), "behavior": "Removed", "invert": True})
    return Description(
        normalizer=(),
        pre_tokenizer=(split, _line("ByteLevel", {"add_prefix_space": False, "use_regex": False})),
        model=_line("BPE", {"n_vocab": len(spec.ranks), "ignore_merges": True}),
        post_processor=(),
        decoder=_lines((pipeline.ByteLevelDecoder(),)),
        n_added_tokens=len(spec.special_tokens),
        n_control_tokens=len(spec.control_tokens),
    )


def _pipeline(spec: PipelineSpec) -> Description:
    stages = spec.pipeline
    return Description(
        normalizer=_lines(stages.normalizer),
        pre_tokenizer=_lines(stages.pre_tokenizer),
        model=_model(stages.model),
        post_processor=_lines(stages.post_processor),
        decoder=_lines(stages.decoder),
        n_added_tokens=len(stages.added_tokens),
        n_control_tokens=len(spec.control_tokens),
    )


def _sentencepiece(spec: SentencePieceSpec) -> Description:
    model = spec.sentencepiece
    ends = {"bos": model.bos_id, "eos": model.eos_id}
    symbols = sum(piece.type is PieceType.USER_DEFINED for piece in model.pieces)
    denormalizer = (_stage(model.denormalizer),) if model.denormalizer else ()
    return Description(
        normalizer=(_stage(model.normalizer),),
        pre_tokenizer=(),
        model=_sentencepiece_model(model),
        post_processor=(_line("ExtraOptions", ends),) if set(ends.values()) != {None} else (),
        decoder=(_line("DecodePieces", {"unk_surface": model.unk_surface}), *denormalizer),
        n_added_tokens=symbols,
        n_control_tokens=len(spec.control_tokens),
    )


def _sentencepiece_model(model: SentencePieceModel) -> str:
    settings = {
        "n_vocab": len(model.pieces),
        "unk_id": model.unk_id,
        "byte_fallback": model.byte_fallback,
        "n_unused": sum(piece.type is PieceType.UNUSED for piece in model.pieces),
    }
    return _line(model.algorithm, settings)


_NAMES: Final[dict[str, str]] = {
    "ByteLevelDecoder": "ByteLevel",
    "ByteFallbackDecoder": "ByteFallback",
    "MetaspaceDecoder": "Metaspace",
    "ReplaceDecoder": "Replace",
    "StripDecoder": "Strip",
    "WordPieceDecoder": "WordPiece",
    "SuffixDecoder": "BPEDecoder",
    "CtcDecoder": "CTC",
    "BytePairModel": "BPE",
    "UnigramModel": "Unigram",
    "WordPieceModel": "WordPiece",
    "WordLevelModel": "WordLevel",
    "NormalizerRules": "NormalizerSpec",
}
"""The field's name of a stage, where its class here has another."""


def _lines(stages: Iterable[object]) -> tuple[str, ...]:
    return tuple(map(_stage, stages))


def _stage(stage: object) -> str:
    if isinstance(stage, Template):
        return _line("TemplateProcessing", {"single": stage.single, "pair": stage.pair})
    return _line(_name(stage), _settings(stage))


def _model(model: pipeline.Model) -> str:
    """The tables of a model stand as their sizes; what decides nothing else is a setting like others."""
    sizes = {"vocab": "n_vocab", "pieces": "n_vocab", "merges": "n_merges"}
    settings = {
        sizes.get(name, name): len(value) if isinstance(value, (Mapping, tuple)) else value
        for name, value in _settings(model).items()
    }
    return _line(_name(model), settings)


def _name(stage: object) -> str:
    name = type(stage).__name__
    return _NAMES.get(name, name)


def _settings(stage: object) -> dict[str, object]:
    if not dataclasses.is_dataclass(stage):
        raise TypeError(f"a stage is a dataclass, not {type(stage).__name__}")
    return {field.name: getattr(stage, field.name) for field in dataclasses.fields(stage)}


def _line(name: str, settings: Mapping[str, object]) -> str:
    shown = ", ".join(f"{key}={_value(value)}" for key, value in settings.items())
    return f"{name}({shown})" if shown else name


def _value(value: object) -> str:
    match value:
        case Regex():
            return _regex(value.pattern)
        case str():
            return _text(value)
        case bytes():
            return _size(value)
        case Charsmap():
            return _size(value.units.tobytes() + value.replacements)
        case tuple():
            return _cut(" ".join(map(_template_piece, value)))
        case _:
            return json.dumps(value)


def _template_piece(piece: object) -> str:
    """As the library's own short form of a template: `[CLS]:0 $A:0`."""
    match piece:
        case TemplateText():
            return f"${piece.text}:{piece.type_id}"
        case TemplateToken():
            ids = f"={','.join(map(str, piece.ids))}"
            return f"{_bare(piece.token)}{ids}:{piece.type_id}"
        case _:
            raise TypeError(f"no piece of a template: {type(piece).__name__}")


def _bare(token: str) -> str:
    return token if token.isprintable() and token and " " not in token else _text(token)


def _text(text: str) -> str:
    """A text in quotes, on one line, with nothing in it that a terminal acts on."""
    shown = json.dumps(text[:MAX_SHOWN], ensure_ascii=not text[:MAX_SHOWN].isprintable())
    return shown if len(text) <= MAX_SHOWN else f"{shown}… {_size(text.encode())}"


def _regex(pattern: str) -> str:
    """A regular expression between slashes. What does not print is its escape, which means the same there."""
    return f"/{_cut(''.join(map(_printable, pattern[: MAX_SHOWN + 1])), pattern)}/"


def _printable(char: str) -> str:
    return char if char.isprintable() else json.dumps(char)[1:-1]


def _cut(shown: str, whole: str | None = None) -> str:
    """What is shown of `whole`, its start where it is long."""
    whole = shown if whole is None else whole
    return shown if len(whole) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}… {_size(whole.encode())}"


def _size(data: bytes) -> str:
    return f"<{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()[:8]}>"
