"""The slow readable twin of a `Pipeline`: what a tokenizer.json means, to the letter. Begin here.

    text → added tokens cut out, the rest normalized → pieces → tokens of each piece → template around them

The stages are in files of their own: `reference_added`, `reference_normalize`, `reference_pretokenize`,
`reference_models` (the algorithms), `reference_decode`; the text that they hand on, which knows where it came from, in
`reference_aligned`, and what they know of Unicode in `reference_unicode`. All follow the `tokenizers` library 0.23, of
which this is a description that runs: ids, spans and decoded text are its own, oddities included.

Like the compiled encoder, but with nothing clever: it is the oracle of the tests. Cost: quadratic in a piece at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from tokenwire_core.errors import IdOutOfRangeError
from tokenwire_core.pipeline import Pipeline, Template, TemplateText, TrimOffsets, vocabulary_of
from tokenwire_core.reference_added import AddedTokens
from tokenwire_core.reference_aligned import AlignedText
from tokenwire_core.reference_decode import decode
from tokenwire_core.reference_models import Token, tokenizer_of
from tokenwire_core.reference_offsets import in_unit, without_blanks
from tokenwire_core.reference_pretokenize import pre_tokenize


@dataclass(frozen=True, slots=True)
class ReferenceToken:
    """One token of a result.

    Attributes:
        id, text: the token and its spelling; of an added token and of an unknown character what stands in the text.
        start, end: the library's own offsets, in code points of its text; those of templates are 0, 0.
        type_id: which text it belongs to, as the template says.
        word: the number of its piece in its text; None in templates.
        is_special: it stands in the template.
    """

    id: int
    text: str
    start: int
    end: int
    type_id: int
    word: int | None
    is_special: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceEncoding:
    """What a text, or a pair of texts, becomes."""

    tokens: tuple[ReferenceToken, ...]

    @property
    def ids(self) -> list[int]:
        return [token.id for token in self.tokens]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The library's own offsets, in code points."""
        return [(token.start, token.end) for token in self.tokens]


class ReferencePipeline:
    """The tokenizer that `pipeline` describes, of the format `hf_json`."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._added = AddedTokens(pipeline)
        self._tokenize = tokenizer_of(pipeline.model)
        self._contents = {id: text for text, id in vocabulary_of(pipeline.model).items()} | {
            token.id: token.content for token in pipeline.added_tokens
        }
        self._decoded_as = self._contents | {
            token.id: spelling for token, spelling in self._added.spellings.items()
        }
        self._special_texts = {token.content for token in pipeline.added_tokens if token.special}

    def encode(
        self,
        text: str,
        special: Literal["text", "allow"] = "text",
        add_special: bool = False,
        pair: str | None = None,
    ) -> ReferenceEncoding:
        """The tokens of `text`, or of `text` and `pair`.

        Args:
            special: `text`: the spellings of special added tokens are ordinary text. `allow`: they are those tokens.
            add_special: whether the template's own tokens are put in.
        """
        texts = [text] if pair is None else [text, pair]
        parts = [self._tokens(each, type_id, special == "text") for type_id, each in enumerate(texts)]
        for stage in self.pipeline.post_processor:
            if isinstance(stage, TrimOffsets):
                parts = [_trimmed(part, stage) for part in parts]
            else:
                parts = self._templated(parts, stage, add_special)
        return ReferenceEncoding(tuple(token for part in parts for token in part))

    def decode(self, ids: Iterable[int], skip_special: bool = False) -> str:
        """The text that `ids` stand for.

        Raises:
            IdOutOfRangeError: an id is no token (the library leaves it out).
        """
        texts = []
        for index, id in enumerate(ids):
            if id not in self._decoded_as:
                raise IdOutOfRangeError(index, max(self._decoded_as) + 1)
            if not (skip_special and self._decoded_as[id] in self._special_texts):
                texts.append(self._decoded_as[id])
        return decode(texts, self.pipeline.decoder) if self.pipeline.decoder else " ".join(texts)

    def _tokens(self, text: str, type_id: int, special_is_text: bool) -> list[ReferenceToken]:
        """The tokens of one text, before templates."""
        tokens: list[ReferenceToken] = []
        n_words = 0
        for part, added in self._added.cut(text, special_is_text):
            if added is not None:
                whole = [Token(added.id, part.text, 0, len(part.text.encode()))]
                words = [(part, whole)]
            else:
                words = [(piece, self._tokenize(piece.text)) for piece in _pieces(part, self.pipeline)]
            for piece, found in words:
                spans = piece.token_spans((token.start, token.end) for token in found)
                for token, span in zip(found, spans, strict=True):
                    start, end = (token.start, token.end) if span is None else span
                    tokens.append(ReferenceToken(token.id, token.text, start, end, type_id, n_words))
                n_words += 1
        placed = in_unit(text.encode(), [(token.start, token.end) for token in tokens], "codepoint")
        return [
            replace(token, start=start, end=end) for token, (start, end) in zip(tokens, placed, strict=True)
        ]

    def _templated(
        self, parts: list[list[ReferenceToken]], template: Template, add_special: bool
    ) -> list[list[ReferenceToken]]:
        """The texts, and with `add_special` the template's own tokens, in its order and with its type ids."""
        result: list[list[ReferenceToken]] = []
        for piece in template.single if len(parts) == 1 else template.pair:
            if isinstance(piece, TemplateText):
                tokens = parts["AB".index(piece.text)]
                result.append([replace(token, type_id=piece.type_id) for token in tokens])
            elif add_special:
                spelled = ((id, self._contents.get(id, piece.token)) for id in piece.ids)
                result.append(
                    [ReferenceToken(id, text, 0, 0, piece.type_id, None, True) for id, text in spelled]
                )
        return result


def _pieces(part: AlignedText, pipeline: Pipeline) -> list[AlignedText]:
    return pre_tokenize(part, pipeline.pre_tokenizer) if part.text else []


def _trimmed(tokens: list[ReferenceToken], stage: TrimOffsets) -> list[ReferenceToken]:
    spans = without_blanks(
        [(token.start, token.end) for token in tokens], [token.text for token in tokens], stage
    )
    return [replace(token, start=start, end=end) for token, (start, end) in zip(tokens, spans, strict=True)]
