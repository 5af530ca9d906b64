"""From a tokenizer to what decodes its ids: all families have one interface.

    ids → the table of what tokens give → joined → a filter for the ends of the text → text

A `TokenDecoder` has tables, which is how tokenizers that people use decode. What no table can say (the decoders CTC
and BPEDecoder, or the usual ones in an unusual order) is a `ChainDecoder`, which has the same methods: its tokens run
through the stages one after the other.

Cost: 1 microsecond a token to make; to decode see `token_decoder` and `decoder_stages`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import index
from typing import Final, Protocol, SupportsIndex

from tokenwire_core import pipeline
from tokenwire_core.byte_alphabet import to_bytes
from tokenwire_core.decoder_stage_types import Each
from tokenwire_core.decoder_stages import Chain, TextFilter, byte_of, leading_each
from tokenwire_core.denormalize import BLANK, Denormalizer
from tokenwire_core.errors import ArtifactError, IdOutOfRangeError, PatternTooSlowError, TokenizerError
from tokenwire_core.pipeline import Pipeline
from tokenwire_core.replace_decoder import MAX_TABLE_S
from tokenwire_core.sentencepiece_spec import PieceType, SentencePieceModel
from tokenwire_core.token_decoder import (
    MAX_HELD_BYTES,
    TokenDecoder,
    byte_level_decoder,
    table_decoder,
)

__all__ = [
    "ChainDecoder",
    "Decoder",
    "IdDecoder",
    "byte_level_decoder",
    "pipeline_decoder",
    "sentencepiece_decoder",
]

MAX_GROWTH: Final = 256
"""How many times as long a decoder's stages may make a text."""
MAX_TABLE_CHARS: Final = 1 << 25
"""Of the texts of all tokens together."""

Ids = Iterable[SupportsIndex]


class Decoder(Protocol):
    """Text of ids that arrive bit by bit; see `token_decoder.TokenStream`."""

    def push(self, ids: Ids) -> str: ...

    def flush(self) -> str: ...


class IdDecoder(Protocol):
    """What ids stand for; see `token_decoder.TokenDecoder`."""

    @property
    def vocab_size(self) -> int: ...

    def decode_bytes(self, ids: Ids, skip_special: bool = False) -> bytes: ...

    def decode(self, ids: Ids, skip_special: bool = False) -> str: ...

    def stream(self, skip_special: bool = False) -> Decoder: ...


def pipeline_decoder(
    tokenizer: Pipeline, contents: Mapping[int, str], special_ids: Collection[int]
) -> IdDecoder:
    """The decoder of a tokenizer.json.

    Args:
        contents: the text that each id is decoded as: its spelling, of an added token the one that is looked for.
        special_ids: those that `skip_special` leaves out. In the library they are known by their text: what is decoded
            as the spelling of a special token is one.

    Raises:
        ArtifactError: UNSUPPORTED_STAGE, TOO_LARGE, TOO_SLOW: the decoder makes texts too long, or takes too long.
    """
    decoders = tokenizer.decoder
    _check_growth(decoders)
    eaches = leading_each(decoders) if decoders else [lambda text, is_first: text if is_first else f" {text}"]
    rest = decoders[len(eaches) :] if decoders else ()
    ids = sorted(contents)
    texts = [contents[id] for id in ids]
    try:
        first_texts = functools.reduce(lambda texts, each: _each(texts, each, True), eaches, texts)
        texts = functools.reduce(lambda texts, each: _each(texts, each, False), eaches, texts)
    except ArtifactError:
        raise
    except PatternTooSlowError:
        message = f"to decode all of its own tokens takes more than {MAX_TABLE_S:.0f} s"
        raise ArtifactError("TOO_SLOW", message, path="decoder") from None
    except TokenizerError as error:
        raise ArtifactError("UNSUPPORTED_PATTERN", f"on its own tokens: {error}", path="decoder") from None
    is_first_alike = first_texts == texts
    table: Callable[..., TokenDecoder] = functools.partial(
        _pipeline_table, ids, texts, None if is_first_alike else first_texts, special_ids=special_ids
    )
    match rest:
        case [] | [pipeline.Fuse(), *_]:
            return table("byte runs", str.encode, rest)
        case [pipeline.ByteLevelDecoder(), *behind]:
            return table("lossy text", to_bytes, behind)
        case [pipeline.ByteFallbackDecoder()] | [pipeline.ByteFallbackDecoder(), pipeline.Fuse(), *_] if (
            is_first_alike
        ):
            byte_ids = [id for id, text in zip(ids, texts, strict=True) if byte_of(text) is not None]
            return table("byte runs", _byte_or_text, rest[1:], byte_ids=byte_ids)
    return ChainDecoder(
        dict(zip(ids, texts, strict=True)), dict(zip(ids, first_texts, strict=True)), rest, special_ids
    )


def _each(texts: list[str], each: Each, is_first: bool) -> list[str]:
    chars_left = MAX_TABLE_CHARS
    changed = []
    for text in texts:
        changed.append(each(text, is_first))
        chars_left -= len(changed[-1])
        if chars_left < 0:
            message = f"it makes more than {MAX_TABLE_CHARS} characters of the tokens"
            raise ArtifactError("TOO_LARGE", message, path="decoder")
    return changed


def _pipeline_table(
    ids: list[int],
    texts: list[str],
    first_texts: list[str] | None,
    joining: str,
    to_row: Callable[[str], bytes],
    behind: Sequence[pipeline.Decoder],
    *,
    special_ids: Collection[int],
    byte_ids: Collection[int] = (),
) -> TokenDecoder:
    """A table of what tokens give, and the stages behind that work on all text."""

    def by_id(texts: list[str]) -> list[bytes | None]:
        rows: list[bytes | None] = [None] * (ids[-1] + 1 if ids else 0)
        for id, text in zip(ids, texts, strict=True):
            rows[id] = to_row(text)
        return rows

    has_filter = any(not isinstance(stage, pipeline.Fuse) for stage in behind)
    return table_decoder(
        by_id(texts),
        by_id(first_texts) if first_texts else None,
        joining,
        special_ids=special_ids,
        byte_ids=byte_ids,
        new_filter=functools.partial(TextFilter, behind) if has_filter else None,
    )


def _byte_or_text(text: str) -> bytes:
    byte = byte_of(text)
    return text.encode() if byte is None else bytes((byte,))


def _check_growth(decoders: Sequence[pipeline.Decoder]) -> None:
    growth = 1.0
    for stage in decoders:
        if isinstance(stage, pipeline.ReplaceDecoder):
            shortest = len(stage.pattern) if isinstance(stage.pattern, str) else 1
            growth *= max(1, len(stage.content) / shortest)
        elif isinstance(stage, pipeline.SuffixDecoder):
            growth *= 1 if stage.suffix else 3
        elif isinstance(stage, pipeline.CtcDecoder):
            growth *= 1 if stage.word_delimiter else 3
    if growth > MAX_GROWTH:
        message = f"it could make a text more than {MAX_GROWTH} times as long"
        raise ArtifactError("UNSUPPORTED_STAGE", message, path="decoder")


def sentencepiece_decoder(model: SentencePieceModel, special_ids: Collection[int] = ()) -> TokenDecoder:
    """The decoder of a SentencePiece model, whose control pieces give nothing.

    Args:
        special_ids: those that `skip_special` leaves out beside them.
    """
    rules = model.normalizer
    drops_blank = rules.add_dummy_prefix or rules.remove_extra_whitespaces
    rows: list[bytes] = []
    first_rows: list[bytes] = []
    staying_ids: list[int] = []
    for id, piece in enumerate(model.pieces):
        if piece.type is PieceType.BYTE:
            row = first = bytes.fromhex(piece.text[3:5])
        elif piece.type is PieceType.CONTROL:
            row = first = b""
            staying_ids.append(id)
        else:
            loses_blank = drops_blank and piece.text.startswith(BLANK)
            row = piece.text.replace(BLANK, " ").encode()
            first = row[1:] if loses_blank else row
            if piece.type is PieceType.UNKNOWN:
                row = first = model.unk_surface.encode()
            # Where blanks are removed, pieces that are one are all dropped, else only the first.
            if not loses_blank or rules.remove_extra_whitespaces:
                staying_ids.append(id)
        rows.append(row)
        first_rows.append(first)
    denormalizer = model.denormalizer
    return table_decoder(
        list(rows),
        list(first_rows) if first_rows != rows else None,
        "single bytes",
        special_ids=special_ids,
        byte_ids=[id for id, piece in enumerate(model.pieces) if piece.type is PieceType.BYTE],
        staying_ids=staying_ids,
        new_filter=None if denormalizer is None else lambda *_: Denormalizer(denormalizer),
    )


class ChainDecoder:
    """A decoder that runs the texts of tokens through stages; immutable. Cost: microseconds an id.

    Args:
        texts, first_texts: by id what comes into the first stage, and of an id that comes first.
        decoders: the stages.
        special_ids: those that `skip_special` leaves out.
    """

    def __init__(
        self,
        texts: Mapping[int, str],
        first_texts: Mapping[int, str],
        decoders: Sequence[pipeline.Decoder],
        special_ids: Collection[int],
    ) -> None:
        self._texts = texts
        self._first_texts = first_texts
        self._decoders = tuple(decoders)
        self._special_ids = frozenset(special_ids)
        self.vocab_size = max(texts, default=-1) + 1

    def decode_bytes(self, ids: Ids, skip_special: bool = False) -> bytes:
        """The UTF-8 of `decode`, except that bytes that are no text are kept."""
        return self._decoded(ids, skip_special, raw=True).encode(errors="surrogateescape")

    def decode(self, ids: Ids, skip_special: bool = False) -> str:
        """The text that `ids` stand for, as the reference implementation gives it.

        Raises:
            IdOutOfRangeError, TypeError: as a TokenDecoder.
            TextTooLongError, PatternTooSlowError: a stage is a regular expression, which has its limits.
        """
        return self._decoded(ids, skip_special, raw=False)

    def stream(self, skip_special: bool = False) -> ChainStream:
        """A new stream, for ids that arrive bit by bit."""
        return ChainStream(self, skip_special)

    def chain(self, *, raw: bool, max_held_bytes: int | None) -> Chain:
        """The stages, for one text."""
        return Chain(self._decoders, raw=raw, max_held_bytes=max_held_bytes)

    def texts(self, ids: Ids, skip_special: bool, is_first: bool) -> list[str]:
        """What comes into the first stage."""
        texts: list[str] = []
        for at, id in enumerate(map(index, tuple(ids))):
            if id not in self._texts:
                raise IdOutOfRangeError(at, self.vocab_size)
            if not (skip_special and id in self._special_ids):
                texts.append((self._texts if texts or not is_first else self._first_texts)[id])
        return texts

    def _decoded(self, ids: Ids, skip_special: bool, raw: bool) -> str:
        chain = self.chain(raw=raw, max_held_bytes=None)
        return "".join(chain.push(self.texts(ids, skip_special, True)) + chain.flush())


class ChainStream:
    """As a `TokenStream`. Held back is what the stages must see more for, at most 1 MiB.

    That is a run of byte tokens, what a BPEDecoder makes of the suffix of the last token, and all of the text where
    behind a stage that fuses it stands one that cannot begin before it knows the end: a regular expression, or a
    stage that is made for tokens.
    """

    def __init__(self, decoder: ChainDecoder, skip_special: bool) -> None:
        self._decoder = decoder
        self._skip_special = skip_special
        self._renew()

    def _renew(self) -> None:
        self._chain = self._decoder.chain(raw=False, max_held_bytes=MAX_HELD_BYTES)
        self._is_first = True

    def push(self, ids: Ids) -> str:
        """The text that is certain after these ids.

        Raises:
            IdOutOfRangeError, TypeError: nothing of `ids` is taken then.
            TextTooLongError, PatternTooSlowError: the stream is then as new.
        """
        texts = self._decoder.texts(ids, self._skip_special, self._is_first)
        self._is_first = self._is_first and not texts
        try:
            return "".join(self._chain.push(texts))
        except TokenizerError:
            self._renew()
            raise

    def flush(self) -> str:
        """The rest, of a stream that has ended. The stream is then as new."""
        try:
            return "".join(self._chain.flush())
        finally:
            self._renew()
