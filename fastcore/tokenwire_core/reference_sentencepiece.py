r"""The slow readable twin of SentencePiece: what the tokenizer of a `.model` file computes, as a definition.

**Encoding** takes three steps.

1. *Normalizing* goes through the text from the left. What begins at a place is replaced: the longest user-defined
   symbol by itself; else the longest key of the charsmap by its replacement; else a character by itself; a byte that
   is part of no character by U+FFFD. Blanks are written `▁`. Only the character ` ` is one; a charsmap makes it of
   others. If the model removes extra blanks, those at the begin, those after another and those at the end go, there
   with every `▁` that was typed. A dummy `▁` goes before the text, or behind it where blanks are suffixes.
2. *The model* cuts the whole normalized text into pieces; nothing is cut into words before.
   - `bpe` starts with user-defined symbols, which stay as they are, and characters. Of all neighbours that are a
     piece together it joins those of the highest score, the leftmost among equals, until there are none. Pieces that
     are unused fall apart again.
   - `unigram` takes the cut of the highest sum of scores. A character that is no piece scores 10 less than the
     lowest normal piece; a user-defined symbol more than any piece should.
   - `char` cuts into user-defined symbols and characters, `word` before every `▁`.
3. *Ids.* What is no piece becomes the pieces of its bytes, or without byte fallback the unknown piece, neighbours one.
   Control pieces come from no text, whatever it spells.

**Spans** are places in the text as it came: from where the source of a piece's first byte begins to where the source
of the byte behind its last begins. So a dummy `▁` takes no place, and of a character with a replacement of several
the piece that ends it has it all. Of the pieces of bytes the last has the place, those before it an empty one.

A vocabulary cut in two ways: `bpe` joins `a` and `b` first, since `ab` scores best, and then cannot join `b` and `c`;
`unigram` finds that `a` and `bc` sum up to more than `ab` and `c`. `d` is unknown to both:

>>> from tokenwire_core.sentencepiece_spec import Piece
>>> words = ["<unk>", "▁", "a", "b", "c", "ab", "bc"]
>>> scores = [0.0, -1.0, -2.0, -9.0, -9.0, -0.5, -1.5]
>>> types = [PieceType.UNKNOWN] + [PieceType.NORMAL] * 6
>>> pieces = tuple(Piece(*entry) for entry in zip(words, scores, types))
>>> for algorithm in ("bpe", "unigram"):
...     encoder = ReferenceSentencePiece(SentencePieceModel(algorithm, pieces, unk_id=0))
...     print(*(token.piece for token in encoder.encode("  abcdd")))
▁ ab c dd
▁ a bc dd

**Decoding** joins the pieces, with blanks for `▁`. The first piece loses its blank if the model adds or removes any.
Control pieces are nothing, the unknown one has a surface of its own, and pieces of bytes are the characters they make
up, with U+FFFD for each byte that is part of none:

>>> encoder.decode([1, 2, 6, 0])
'abc ⁇ '

**Where `tokenizers` differs** for the same vocabulary; each format follows its own reference:

- it merges by the rank of pairs, not of what they make, and knows no unused pieces;
- it cuts user-defined symbols out before it normalizes;
- its Unigram sums are float64, and a user-defined symbol has no bonus;
- it asks the charsmap for short graphemes or else for characters, and takes the shortest key they begin with;
- every piece of a byte has the span of the whole character;
- it decodes byte pieces in a row that are not well-formed together to U+FFFD for each of them.

This follows sentencepiece 0.2.3, with the bounds that only a made-up model meets: the named constants, here and in
`charsmap.py`. Cost: quadratic in the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from ctypes import c_float
from typing import Final, NamedTuple

from tokenwire_core.errors import IdOutOfRangeError, TokenizerError
from tokenwire_core.reference_sentencepiece_normalizer import (
    SPACE,
    Normalized,
    Symbols,
    character_bytes,
    characters,
    normalize,
)
from tokenwire_core.sentencepiece_spec import PieceType, SentencePieceModel

UNKNOWN_PENALTY: Final = 10.0
MAX_SPLIT_DEPTH: Final = 100
"""An unused piece that was joined by more steps than this stays."""
RESCALE_BEYOND: Final = 100_000.0
"""A sum of scores beyond this is set to 0 and the others with it, so that float32 keeps telling them apart."""


class Token(NamedTuple):
    """One token. `piece` is its spelling in the vocabulary; of the unknown one the normalized text that it stands for.

    Places are in bytes of the text as it came.
    """

    id: int
    piece: str
    byte_start: int
    byte_end: int


class Cut(NamedTuple):
    """A part of the normalized text and the id of the piece that it is; None if it is none."""

    text: bytes
    id: int | None


class ReferenceSentencePiece:
    """The tokenizer that a model describes."""

    def __init__(self, model: SentencePieceModel) -> None:
        self.model = model
        # A piece that is a NUL is in no table of the library; a reserved one is never made from text.
        self._ids = {
            piece.text.encode(): id_
            for id_, piece in enumerate(model.pieces)
            if piece.type in (PieceType.NORMAL, PieceType.USER_DEFINED, PieceType.UNUSED)
            and piece.text != "\0"
        }
        self._byte_ids = {
            int(piece.text[3:5], 16): id_
            for id_, piece in enumerate(model.pieces)
            if piece.type is PieceType.BYTE
        }
        self._symbols = Symbols(
            text for text, id_ in self._ids.items() if self._is(id_, PieceType.USER_DEFINED)
        )
        # Merges rank by score. Of the zeros the library puts -0.0 behind 0.0.
        order = sorted({_merge_order(piece.score) for piece in model.pieces}, reverse=True)
        rank_of_score = {score: rank for rank, score in enumerate(order)}
        self._ranks = [rank_of_score[_merge_order(piece.score)] for piece in model.pieces]
        normal_scores = (piece.score for piece in model.pieces if piece.type is PieceType.NORMAL)
        self._unknown_score = _float32(min(normal_scores, default=_MAX_FLOAT32) - UNKNOWN_PENALTY)
        self._longest_piece = max(map(len, self._ids), default=0)
        cutters = {"bpe": self._bpe, "unigram": self._unigram, "char": self._char, "word": self._word}
        self._cut = cutters[model.algorithm]

    def normalize(self, text: str | bytes) -> str:
        """The normalized text."""
        return normalize(_utf8(text), self.model.normalizer, self._symbols).text.decode()

    def encode(self, text: str | bytes, *, add_bos: bool = False, add_eos: bool = False) -> list[Token]:
        """The tokens of a text, which may be malformed UTF-8.

        Raises:
            TokenizerError: the model has no token that begins or ends a text, and one is asked for.
        """
        utf8 = _utf8(text)
        normalized = normalize(utf8, self.model.normalizer, self._symbols)
        tokens = list(self._tokens(normalized))
        if add_bos:
            tokens.insert(0, self._control(self.model.bos_id, 0))
        if add_eos:
            tokens.append(self._control(self.model.eos_id, len(utf8)))
        return tokens

    def decode(self, ids: Iterable[int]) -> str:
        """The text of `ids`.

        Raises:
            IdOutOfRangeError: an id is none of the model's.
        """
        rules, pieces = self.model.normalizer, self.model.pieces
        drops_blank = rules.add_dummy_prefix or rules.remove_extra_whitespaces
        result = bytearray()
        waiting = b""
        at_begin = True
        for index, id_ in enumerate(ids):
            if not 0 <= id_ < len(pieces):
                raise IdOutOfRangeError(index, len(pieces))
            piece = pieces[id_]
            if piece.type is PieceType.BYTE:
                waiting += bytes.fromhex(piece.text[3:5])
                continue
            result += b"".join(characters(waiting))
            waiting = b""
            if piece.type is PieceType.CONTROL:
                continue
            text = piece.text.encode()
            at_begin = at_begin and not result
            if at_begin and drops_blank and text.startswith(SPACE):
                text = text.removeprefix(SPACE)
                # Where blanks are removed, pieces that are one are all dropped, else only the first.
                at_begin = rules.remove_extra_whitespaces
            unknown = piece.type is PieceType.UNKNOWN
            result += self.model.unk_surface.encode() if unknown else text.replace(SPACE, b" ")
        result += b"".join(characters(waiting))
        if self.model.denormalizer:
            return normalize(bytes(result), self.model.denormalizer, Symbols(())).text.decode()
        return result.decode()

    def _tokens(self, normalized: Normalized) -> Iterator[Token]:
        """Steps 2 and 3."""
        at = 0
        unk_id = self.model.unk_id
        unknown: Token | None = None
        for text, id_ in self._cut(normalized.text):
            start, end = normalized.sources[at], normalized.sources[at + len(text)]
            at += len(text)
            if id_ is not None:
                if unknown:
                    yield unknown
                    unknown = None
                yield Token(id_, text.decode(), start, end)
            elif self.model.byte_fallback or unk_id is None:  # Without the unknown piece there is fallback.
                for byte in text[:-1]:
                    yield self._byte(byte, start, start)
                yield self._byte(text[-1], start, end)
            elif unknown:
                unknown = unknown._replace(piece=unknown.piece + text.decode(), byte_end=end)
            else:
                unknown = Token(unk_id, text.decode(), start, end)
        if unknown:
            yield unknown

    def _bpe(self, text: bytes) -> list[Cut]:
        """The best join first, by looking at all neighbours before each."""
        split = list(self._symbols.split(text))
        symbols = [symbol for symbol, _ in split]
        kept = [is_symbol for _, is_symbol in split]
        no_rank = len(self._ranks)
        made_of: dict[bytes, tuple[bytes, bytes]] = {}

        def rank(left: int) -> int:
            """The rank of joining a symbol and its right neighbour. Of an unused result the parts are remembered."""
            right = left + 1
            if left < 0 or right >= len(symbols) or kept[left] or kept[right]:
                return no_rank
            joined = symbols[left] + symbols[right]
            id_ = self._ids.get(joined)
            if id_ is None:
                return no_rank
            if self._is(id_, PieceType.UNUSED):
                made_of[joined] = symbols[left], symbols[right]
            return self._ranks[id_]

        ranks = [rank(left) for left in range(len(symbols))]
        while ranks and (best := min(ranks)) < no_rank:
            left = ranks.index(best)
            symbols[left : left + 2] = [symbols[left] + symbols[left + 1]]
            del kept[left + 1], ranks[left + 1]
            if left:
                ranks[left - 1] = rank(left - 1)
            ranks[left] = rank(left)
        return [cut for symbol in symbols for cut in self._without_unused(symbol, made_of, 0)]

    def _without_unused(
        self, symbol: bytes, made_of: dict[bytes, tuple[bytes, bytes]], depth: int
    ) -> Iterator[Cut]:
        """A symbol, or where it is an unused piece, what it is made of, without unused pieces."""
        id_ = self._ids.get(symbol)
        if id_ is None or not self._is(id_, PieceType.UNUSED) or depth > MAX_SPLIT_DEPTH:
            yield Cut(symbol, id_)
        elif symbol not in made_of:
            yield Cut(symbol, None)
        else:
            for part in made_of[symbol]:
                yield from self._without_unused(part, made_of, depth + 1)

    def _unigram(self, text: bytes) -> list[Cut]:
        """The best cut, by the best one that ends at each place. Sums are float32, the first of equals stays."""
        best_score = [0.0] * (len(text) + 1)
        best: list[tuple[int, int | None] | None] = [None] * (len(text) + 1)

        def offer(start: int, end: int, id_: int | None, score: float) -> None:
            total = _float32(best_score[start] + score)
            if best[end] is None or total > best_score[end]:
                best_score[end] = total
                best[end] = start, id_

        start = 0
        while start < len(text):
            if abs(rescale := best_score[start]) > RESCALE_BEYOND:
                for place in range(start, len(text) + 1):
                    if place == start or best[place]:
                        best_score[place] = _float32(best_score[place] - rescale)
            next_start = start + character_bytes(text, start)
            is_piece = False
            for end in range(start + 1, min(start + self._longest_piece, len(text)) + 1):
                id_ = self._ids.get(text[start:end])
                if id_ is None or self._is(id_, PieceType.UNUSED):
                    continue
                user_defined = self._is(id_, PieceType.USER_DEFINED)
                score = _symbol_score(end - start) if user_defined else self.model.pieces[id_].score
                offer(start, end, id_, score)
                is_piece = is_piece or end == next_start
            if not is_piece:
                offer(start, next_start, None, self._unknown_score)
            start = next_start

        cuts: list[Cut] = []
        end = len(text)
        while step := best[end]:
            start, id_ = step
            cuts.append(Cut(text[start:end], id_))
            end = start
        return cuts[::-1]

    def _char(self, text: bytes) -> list[Cut]:
        return [Cut(symbol, self._used_id(symbol)) for symbol, _ in self._symbols.split(text)]

    def _word(self, text: bytes) -> list[Cut]:
        first, *others = text.split(SPACE)
        words = [first, *(SPACE + word for word in others)]
        return [Cut(word, self._used_id(word)) for word in words if word]

    def _used_id(self, text: bytes) -> int | None:
        id_ = self._ids.get(text)
        return None if id_ is None or self._is(id_, PieceType.UNUSED) else id_

    def _is(self, id_: int, type_: PieceType) -> bool:
        return self.model.pieces[id_].type is type_

    def _byte(self, byte: int, start: int, end: int) -> Token:
        id_ = self._byte_ids[byte]
        return Token(id_, self.model.pieces[id_].text, start, end)

    def _control(self, id_: int | None, at: int) -> Token:
        if id_ is None:
            raise TokenizerError("the model has no such token for the ends of a text; do not ask for it")
        return Token(id_, self.model.pieces[id_].text, at, at)


_MAX_FLOAT32: Final = (2 - 2**-23) * 2.0**127


def _float32(value: float) -> float:
    """The nearest float32; infinite where there is none."""
    return c_float(value).value


def _symbol_score(n_bytes: int) -> float:
    """A user-defined symbol's score: above all others, and more for one than for two that are as long."""
    return _float32(0.1 * (n_bytes - 1))


def _merge_order(score: float) -> tuple[float, float]:
    return score, math.copysign(1.0, score)


def _utf8(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
