"""Offsets as the reference implementations report them, from the places that encoding with them as the rule gives.

The `tokenizers` library counts in bytes inside and hands out code points; its way to convert, and to leave blanks out
of spans (`TrimOffsets`), have corners of their own, which are kept. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokenwire_core.errors import TokenizerError
from tokenwire_core.pipeline import Pipeline, TrimOffsets, UnigramModel, vocabulary_of
from tokenwire_core.reference_unicode import BLANKS

Span = tuple[int, int]


def in_unit(utf8: bytes, spans: Sequence[Span], unit: str) -> list[Span]:
    """Spans in bytes of a text, in `unit`: `byte`, `codepoint` or `utf16`.

    The library knows no code point for the end of the text, and takes one more than the last byte's; a span that
    begins there, or outside, it leaves in bytes.
    """
    if unit == "byte":
        return list(spans)
    of_byte: list[int] = []
    at = 0
    for char in utf8.decode():
        of_byte += [at] * len(char.encode())
        at += 2 if unit == "utf16" and char > "\uffff" else 1
    n_bytes = len(of_byte)
    converted = []
    for start, end in spans:
        if start >= n_bytes:
            converted.append((start, end))
        elif end < n_bytes:
            converted.append((of_byte[start], of_byte[end]))
        else:
            converted.append((of_byte[start], at if end - 1 < n_bytes else of_byte[start] + 2))
    return converted


def trimmed(
    pipeline: Pipeline, utf8: bytes, places: Sequence[Span], ids: Sequence[int], spans: list[Span]
) -> list[Span]:
    """`spans` without the blanks that the tokens begin and end with, where the post-processor says so.

    Args:
        places: the spans in bytes of the text.

    Raises:
        TokenizerError: the library goes by what stands in the normalized text, which is not known here: of Unigram's
            unknown token, of added tokens that are looked for there.
    """
    trims = any(isinstance(stage, TrimOffsets) for stage in pipeline.post_processor)
    if trims and not _are_spelled(pipeline):
        raise TokenizerError(
            "the reference's offsets are not known for this tokenizer: it trims them by the normalized text of tokens"
        )
    for stage in pipeline.post_processor:
        if isinstance(stage, TrimOffsets):
            spelling = _spellings(pipeline)
            texts = (utf8[start:end].decode(errors="replace") for start, end in places)
            spelled = [spelling(id, text) for id, text in zip(ids, texts, strict=True)]
            spans = without_blanks(spans, spelled, stage)
    return spans


def _are_spelled(pipeline: Pipeline) -> bool:
    """Whether what the library takes for a token's text is its spelling, or stands in the text as it came."""
    has_unknown = isinstance(pipeline.model, UnigramModel) and pipeline.model.unk_id is not None
    return not has_unknown and not (
        pipeline.normalizer and any(token.normalized for token in pipeline.added_tokens)
    )


def _spellings(pipeline: Pipeline) -> Callable[[int, str], str]:
    """What the library takes for a token's text, by its id and the text in its place.

    Of added tokens it is the text, of others how the model spells them. An added token may also come from the model,
    whose places are a little off where it leaves characters out: it is an added one where it stands in the text.
    """
    spellings = {id: text for text, id in vocabulary_of(pipeline.model).items()}
    contents = {token.id: token.content.strip() for token in pipeline.added_tokens}

    def spelling(id: int, text: str) -> str:
        return text if contents.get(id) == text.strip() else spellings.get(id, text)

    return spelling


def without_blanks(spans: Sequence[Span], texts: Sequence[str], stage: TrimOffsets) -> list[Span]:
    """The spans of the tokens of one text without the blanks that their `texts` begin and end with.

    A single blank before the first stays, since it may be the one that was put before the text.
    """
    trimmed = []
    for number, ((start, end), text) in enumerate(zip(spans, texts, strict=True)):
        n_leading, n_trailing = _n_blanks(text), _n_blanks(text[::-1])
        is_first = number == 0 or start == 0
        if n_leading and not (is_first and stage.add_prefix_space and n_leading == 1):
            start = min(start + n_leading, end)
        if n_trailing and end >= n_trailing:
            end = max(end - n_trailing, start)
        trimmed.append((start, end))
    return trimmed


def _n_blanks(text: str) -> int:
    """How many blanks a spelling begins with, also in the byte alphabet."""
    return next((at for at, char in enumerate(text) if char != "Ġ" and char not in BLANKS), len(text))
