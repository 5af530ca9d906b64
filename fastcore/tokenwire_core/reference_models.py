"""Models, as the `tokenizers` library runs them: a piece to tokens. Each algorithm is one function; begin there.

A token's place is in bytes of the piece's UTF-8, as the library counts. Where tokens stand for less than the piece
(a character that the model drops) or for more (the bytes of a prefix), the places behind are off by as much, there and
here. Cost: at most quadratic in the piece.
"""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tokenwire_core import pipeline
from tokenwire_core.errors import UnknownTextError


@dataclass(frozen=True, slots=True)
class Token:
    """An id, what it is spelled as, and the bytes of the piece that it stands for."""

    id: int
    text: str
    start: int
    end: int


Tokenize = Callable[[str], list[Token]]
"""From a piece, which is not empty, to its tokens."""


def tokenizer_of(model: pipeline.Model) -> Tokenize:
    """The algorithm of a model, at work on its vocabulary."""
    return _MODELS[type(model)](model)


# Byte-pair encoding: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016).


class BytePairTokenizer:
    """Starts with a token for each character, and joins neighbours: of all that a merge joins, the earliest merge's,
    the leftmost among equals, until there are none.

    >>> vocab = {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5}
    >>> merges = (("a", "b"), ("b", "c"), ("ab", "c"))
    >>> tokenize = BytePairTokenizer(pipeline.BytePairModel(vocab, merges))
    >>> [token.text for token in tokenize("abcbc")]
    ['abc', 'bc']
    """

    def __init__(self, model: pipeline.BytePairModel) -> None:
        self._model = model
        self._texts = {id: text for text, id in model.vocab.items()}
        # The ranks and the results of merges, by pairs of ids; of two merges of one pair the later one counts.
        self._merges = {
            (model.vocab[left], model.vocab[right]): (rank, model.vocab[left + right[len(model.prefix) :]])
            for rank, (left, right) in enumerate(model.merges)
        }

    def __call__(self, piece: str) -> list[Token]:
        model = self._model
        if model.ignore_merges and piece in model.vocab:
            return [Token(model.vocab[piece], piece, 0, len(piece.encode()))]
        tokens = []
        at = 0
        for id, n_bytes in self._merged(self._characters(piece)):
            tokens.append(Token(id, self._texts[id], at, at + n_bytes))
            at += n_bytes
        return tokens

    def _characters(self, piece: str) -> list[tuple[int, int]]:
        """The id of each character, and how many bytes it stands for."""
        model = self._model
        symbols: list[tuple[int, int]] = []
        n_unknown_bytes = 0

        def end_unknown() -> None:
            nonlocal n_unknown_bytes
            if n_unknown_bytes and model.unk is not None:
                symbols.append((model.vocab[model.unk], n_unknown_bytes))
            n_unknown_bytes = 0

        for at, char in enumerate(piece):
            text = (model.prefix if at else "") + char + (model.suffix if at == len(piece) - 1 else "")
            byte_ids = [model.vocab.get(f"<0x{byte:02X}>") for byte in text.encode()]
            if text in model.vocab:
                end_unknown()
                symbols.append((model.vocab[text], len(char.encode())))
            elif model.byte_fallback and None not in byte_ids:
                # Unknown characters before are not ended here: if some have all their bytes and others not, they
                # change places.
                symbols += [(id, 1) for id in byte_ids if id is not None]
            elif model.unk is not None:
                if not model.fuse_unk:
                    end_unknown()
                n_unknown_bytes += len(char.encode())
        end_unknown()
        return symbols

    def _merged(self, symbols: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Neighbours joined. What can be joined waits in a queue, by rank and place.

        When its turn comes it may no longer be there, since others have been joined before.
        """
        ids = [id for id, _ in symbols]
        sizes = [n_bytes for _, n_bytes in symbols]
        before = list(range(-1, len(symbols) - 1))
        after = [*range(1, len(symbols)), -1]
        queue: list[tuple[int, int, int]] = []

        def offer(left: int, right: int) -> None:
            if left >= 0 and right >= 0 and (merge := self._merges.get((ids[left], ids[right]))):
                heapq.heappush(queue, (merge[0], left, merge[1]))

        for left in range(len(symbols) - 1):
            offer(left, left + 1)
        while queue:
            rank, left, new_id = heapq.heappop(queue)
            right = after[left]
            if not sizes[left] or right < 0 or self._merges.get((ids[left], ids[right])) != (rank, new_id):
                continue
            ids[left] = new_id
            sizes[left] += sizes[right]
            sizes[right] = 0
            after[left] = after[right]
            if after[left] >= 0:
                before[after[left]] = left
            offer(before[left], left)
            offer(left, after[left])
        return [(id, n_bytes) for id, n_bytes in zip(ids, sizes, strict=True) if n_bytes]


# Unigram: Kudo, "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword
# Candidates" (2018), of which this is the best segmentation alone.


UNKNOWN_PENALTY: Final = 10.0
"""How much less than the worst entry an unknown character is worth."""


class UnigramTokenizer:
    """Of all ways to cut a piece into entries, the one with the highest sum of scores, found from left to right (the
    Viterbi algorithm): the best way to a place is the best way to some place before it, and an entry from there.

    A character that no entry of one character matches can be unknown. Unknown characters in a row are one token. Of
    equal sums the one that was found first stays: that with the longest last entry.

    >>> pieces = (("<unk>", 0.0), ("a", -1.0), ("b", -1.5), ("ab", -2.0), ("abc", -9.0))
    >>> tokenize = UnigramTokenizer(pipeline.UnigramModel(pieces, unk_id=0))
    >>> [token.text for token in tokenize("abab??abc")]
    ['ab', 'ab', '??', 'abc']
    """

    def __init__(self, model: pipeline.UnigramModel) -> None:
        self._model = model
        self._ids = {text: id for id, (text, _) in enumerate(model.pieces)}
        self._longest = max(map(len, self._ids), default=0)
        self._unknown_score = min((score for _, score in model.pieces), default=0.0) - UNKNOWN_PENALTY

    def __call__(self, piece: str) -> list[Token]:
        tokens: list[Token] = []
        at = 0
        for text in self._segments(piece):
            end = at + len(text.encode())
            tokens += (Token(id, spelling, at, end) for id, spelling in self._ids_of(text))
            at = end
        return tokens

    def _ids_of(self, text: str) -> list[tuple[int, str]]:
        """One id, or those of its bytes, each at the place of them all."""
        if text in self._ids:
            return [(self._ids[text], text)]
        names = [f"<0x{byte:02X}>" for byte in text.encode()]
        if self._model.byte_fallback and all(name in self._ids for name in names):
            return [(self._ids[name], name) for name in names]
        if self._model.unk_id is None:
            raise UnknownTextError
        return [(self._model.unk_id, text)]

    def _segments(self, piece: str) -> list[str]:
        # The best way to each place: its score, where its last entry starts, and that entry's id.
        best: list[tuple[float, int, int]] = [(0.0, 0, -1)]
        for start in range(len(piece)):
            best_here = best[start][0]
            for end, id, score in self._entries(piece, start):
                while len(best) <= end:
                    best.append((-math.inf, -1, -1))
                if best[end][1] < 0 or score + best_here > best[end][0]:
                    if id is None:
                        raise UnknownTextError
                    best[end] = (score + best_here, start, id)
        segments: list[str] = []
        id_behind = -1
        end = len(piece)
        while end:
            _, start, id = best[end]
            if id == id_behind == self._model.unk_id:
                segments[-1] = piece[start:end] + segments[-1]
            else:
                segments.append(piece[start:end])
            id_behind = id
            end = start
        return segments[::-1]

    def _entries(self, piece: str, start: int) -> list[tuple[int, int | None, float]]:
        """(end, id, score) of each entry at a place, the shortest first, then of the unknown character."""
        ends = range(start + 1, min(start + self._longest, len(piece)) + 1)
        known: list[tuple[int, int | None, float]] = [
            (end, id, self._model.pieces[id][1])
            for end in ends
            if (id := self._ids.get(piece[start:end])) is not None
        ]
        if known and known[0][0] == start + 1:
            return known
        return [*known, (start + 1, self._model.unk_id, self._unknown_score)]


# WordPiece: Schuster and Nakajima, "Japanese and Korean Voice Search" (2012), in the form of BERT.


class WordPieceTokenizer:
    """The longest entry that the piece begins with, then the longest that the rest begins with, and so on; inside a
    piece entries are looked for behind the prefix. A piece that cannot be made up so is unknown as a whole.

    >>> vocab = {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "##a": 4}
    >>> tokenize = WordPieceTokenizer(pipeline.WordPieceModel(vocab, unk="[UNK]"))
    >>> [token.text for token in tokenize("unaffable")], [token.text for token in tokenize("unfit")]
    (['un', '##aff', '##able'], ['[UNK]'])
    """

    def __init__(self, model: pipeline.WordPieceModel) -> None:
        self._model = model

    def __call__(self, piece: str) -> list[Token]:
        model = self._model
        unknown = [Token(model.vocab[model.unk], model.unk, 0, len(piece.encode()))]
        if len(piece) > model.max_chars_per_word:
            return unknown
        tokens: list[Token] = []
        start = at = 0
        while start < len(piece):
            prefix = model.prefix if start else ""
            entries = ((end, prefix + piece[start:end]) for end in range(len(piece), start, -1))
            end, text = next(((end, text) for end, text in entries if text in model.vocab), (start, ""))
            if end == start:
                return unknown
            n_bytes = len(piece[start:end].encode())
            tokens.append(Token(model.vocab[text], text, at, at + n_bytes))
            start, at = end, at + n_bytes
        return tokens


def _word_level(model: pipeline.WordLevelModel, piece: str) -> list[Token]:
    """The piece, if it is an entry."""
    text = piece if piece in model.vocab else model.unk
    return [Token(model.vocab[text], text, 0, len(piece.encode()))]


_MODELS: Final[dict[type, Callable[[Any], Tokenize]]] = {
    pipeline.BytePairModel: BytePairTokenizer,
    pipeline.UnigramModel: UnigramTokenizer,
    pipeline.WordPieceModel: WordPieceTokenizer,
    pipeline.WordLevelModel: lambda model: functools.partial(_word_level, model),
}
