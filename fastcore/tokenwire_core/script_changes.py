"""What the normalization of each format may do to the scripts of a text: see `kept_scripts`.

Composition and decomposition keep scripts, whatever stands together but for one: a test says so for all of Unicode.
Where more than one character changes at once, by a charsmap or a literal that is replaced, they are looked at together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tokenwire_core.charsmap import Charsmap, read_charsmap
from tokenwire_core.formats import hf_normalizers, hf_pretokenizers
from tokenwire_core.kept_scripts import KeptScripts, joint_characters, keeps_script
from tokenwire_core.normalizers import NormalizerChain, normalize_each
from tokenwire_core.pipeline import BytePairModel, Model, Normalizer, Pipeline, PreTokenizer, WordPieceModel
from tokenwire_core.reference_scripts import NEUTRAL, script_of
from tokenwire_core.sentencepiece_spec import SentencePieceModel
from tokenwire_core.spec import PipelineSpec, RankFileSpec, SentencePieceSpec, TokenizerSpec

_BY_CHARACTER: Final = (
    hf_normalizers.BertNormalizer,
    hf_normalizers.Lowercase,
    hf_normalizers.Nmt,
    hf_normalizers.StripAccents,
    hf_normalizers.UnicodeForm,
)
"""What these do to a character does not depend on others, as far as scripts go, but for DIAERESIS."""
DIAERESIS: Final = "\u00a8"
"""Itself of no script; composed with a mark behind it, it may be Greek."""

_DROP_BLANKS: Final = (
    hf_pretokenizers.BertPreTokenizer,
    hf_pretokenizers.Whitespace,
    hf_pretokenizers.WhitespaceSplit,
)

_BLANKS_ALONE: Final = re.compile(r"(?:\\[snrt]| |[?*+()|]|\{\d*,?\d*\}|\(\?:)*")
"""Patterns that match nothing but blanks."""


def kept_scripts(spec: TokenizerSpec) -> KeptScripts | None:
    """Which characters keep their script on the way to the model; None where that is not known.

    Cost: of a charsmap a walk through its entries.
    """
    match spec:
        case RankFileSpec():
            return KeptScripts(None)
        case PipelineSpec():
            stages = (*spec.pipeline.normalizer, *spec.pipeline.pre_tokenizer)
            n_byte_levels = sum(stage.to_byte_level for stage in stages)
            # Bytes of a letter of the byte alphabet say nothing of the text.
            is_spelled_twice = n_byte_levels > 1 or (n_byte_levels == 1 and spec.byte_fallback_ids)
            return None if is_spelled_twice else _of_pipeline(spec.pipeline)
        case SentencePieceSpec():
            return _of_sentencepiece(spec.sentencepiece)
    return None


def _of_pipeline(pipeline: Pipeline) -> KeptScripts | None:
    if not all(map(_leaves_letters, pipeline.pre_tokenizer)):
        return None
    # Where an affix has letters, as `</w>`, only a text without its first character is sure not to spell it.
    takes_marks = False
    joint = {affix[0] for affix in affixes(pipeline.model) if not _is_neutral(affix)}
    changing: list[Normalizer] = []
    for stage in pipeline.normalizer:
        match stage:
            case hf_normalizers.ByteLevel() | hf_normalizers.Strip():
                pass
            case hf_normalizers.Prepend():
                if not _is_neutral(stage.text):
                    return None
            case hf_normalizers.Replace():
                if not _keeps_scripts(stage):
                    return None
            case hf_normalizers.Precompiled():
                together = joint_characters(read_charsmap(stage.charsmap))
                if together is None:
                    return None
                joint |= together
                takes_marks = True
                changing.append(stage)
            case _:
                if not isinstance(stage, _BY_CHARACTER):
                    return None
                joint.add(DIAERESIS)
                changing.append(stage)
    if not changing:
        return KeptScripts(None, joint)
    chain = NormalizerChain(changing)
    drops_blanks = any(isinstance(stage, _DROP_BLANKS) for stage in pipeline.pre_tokenizer)
    return KeptScripts(lambda characters: normalize_each(chain, characters), joint, drops_blanks, takes_marks)


def _of_sentencepiece(model: SentencePieceModel) -> KeptScripts | None:
    charsmap = model.normalizer.charsmap
    if charsmap is None:
        return KeptScripts(None)
    joint = joint_characters(charsmap)
    if joint is None:
        return None
    return KeptScripts(lambda characters: [_replaced(charsmap, char) for char in characters], joint)


def _replaced(charsmap: Charsmap, char: str) -> str:
    found = charsmap.longest_match(char.encode(), 0)
    return char if found is None else found[1].decode()


def _leaves_letters(stage: PreTokenizer) -> bool:
    """Whether a stage of those known only cuts, removes, and writes blanks (the byte alphabet is read back)."""
    if isinstance(stage, hf_pretokenizers.Metaspace):
        return _is_neutral(stage.replacement)
    return type(stage) in hf_pretokenizers.PRE_TOKENIZERS.values()


def _keeps_scripts(stage: hf_normalizers.Replace) -> bool:
    if isinstance(stage.pattern, str):
        return keeps_script(stage.pattern, stage.content)
    return _BLANKS_ALONE.fullmatch(stage.pattern.pattern) is not None and _is_neutral(stage.content)


def leaves_all(spec: TokenizerSpec) -> bool:
    """Whether the tokens are all of the normalized text, but for blanks at its start: nothing between them is lost."""
    if isinstance(spec, RankFileSpec):
        return False
    if isinstance(spec, SentencePieceSpec):
        return True
    if not isinstance(spec, PipelineSpec):
        return False
    stages = spec.pipeline.pre_tokenizer
    return not any(token.lstrip or token.rstrip for token in spec.pipeline.added_tokens) and all(
        _removes_nothing(stage, stages[number + 1 :]) for number, stage in enumerate(stages)
    )


def _removes_nothing(stage: PreTokenizer, others: Sequence[PreTokenizer]) -> bool:
    match stage:
        case hf_pretokenizers.ByteLevel() | hf_pretokenizers.Digits() | hf_pretokenizers.Metaspace():
            return True
        case hf_pretokenizers.Punctuation() | hf_pretokenizers.Split():
            return stage.behavior != "Removed"
        case hf_pretokenizers.WhitespaceSplit():
            # Its blanks come back before each word.
            scheme = next(
                (each.prepend_scheme for each in others if isinstance(each, hf_pretokenizers.Metaspace)), ""
            )
            return scheme == "always"
    return False


def affixes(model: Model) -> tuple[str, str]:
    """What is written before and behind the characters of a word, and is no part of the text."""
    if isinstance(model, BytePairModel):
        return model.prefix, model.suffix
    return (model.prefix, "") if isinstance(model, WordPieceModel) else ("", "")


def spells_affixes(spec: TokenizerSpec) -> bool:
    """Whether these have letters."""
    return isinstance(spec, PipelineSpec) and not all(map(_is_neutral, affixes(spec.pipeline.model)))


def _is_neutral(text: str) -> bool:
    return all(script_of(char) == NEUTRAL for char in text)
