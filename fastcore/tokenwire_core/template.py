"""What stands around the tokens of a text, or of a pair of texts: the template of a tokenizer, laid out.

A tokenizer.json has it in its post-processor; a SentencePiece model has the pieces that begin and end a text; a rank
file has nothing of the kind.
"""

from __future__ import annotations

from dataclasses import dataclass

from tokenwire_core.errors import TokenizerError
from tokenwire_core.pipeline import Pipeline, Template, TemplateText
from tokenwire_core.spec import PipelineSpec, SentencePieceSpec, TokenizerSpec


@dataclass(frozen=True, slots=True)
class TextRun:
    """All tokens of the first text (0) or the second (1)."""

    text: int
    type_id: int


@dataclass(frozen=True, slots=True)
class TokenRun:
    """Tokens of the template's own."""

    ids: tuple[int, ...]
    type_id: int


Layout = tuple[TextRun | TokenRun, ...]
"""What a result is made of, in order."""


def layout(spec: TokenizerSpec, n_texts: int, add_special: bool) -> Layout:
    """The layout of one text or of two.

    Args:
        add_special: whether the template's own tokens are put in.

    Raises:
        TokenizerError: two texts, and the format has no template for them.
    """
    if isinstance(spec, PipelineSpec):
        return _of_pipeline(spec.pipeline, n_texts, add_special)
    if n_texts != 1:
        raise TokenizerError("this tokenizer has no template for a pair of texts; encode them one by one")
    text = TextRun(0, 0)
    if not (add_special and isinstance(spec, SentencePieceSpec)):
        return (text,)
    begin, end = (
        () if id is None else (TokenRun((id,), 0),)
        for id in (spec.sentencepiece.bos_id, spec.sentencepiece.eos_id)
    )
    return (*begin, text, *end)


def _of_pipeline(pipeline: Pipeline, n_texts: int, add_special: bool) -> Layout:
    """Each template is laid out on the parts that the one before has made, its own tokens a part like the texts."""
    parts: list[TextRun | TokenRun] = [TextRun(text, text) for text in range(n_texts)]
    for stage in pipeline.post_processor:
        if not isinstance(stage, Template):
            continue
        laid_out: list[TextRun | TokenRun] = []
        for piece in stage.single if len(parts) == 1 else stage.pair:
            if isinstance(piece, TemplateText):
                part = parts["AB".index(piece.text)]
                laid_out.append(
                    TextRun(part.text, piece.type_id)
                    if isinstance(part, TextRun)
                    else TokenRun(part.ids, piece.type_id)
                )
            elif add_special:
                laid_out.append(TokenRun(piece.ids, piece.type_id))
        parts = laid_out
    return tuple(parts)
