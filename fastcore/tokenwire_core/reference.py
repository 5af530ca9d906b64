"""The slow readable twin: what a tokenizer computes, written down as the definition has it. Begin here.

**Byte-level byte-pair encoding** turns text into ids in three steps.

1. *Control tokens.* Spellings such as `<|endoftext|>` are cut out where the caller allows them: leftmost
   first, the longest where several begin at one place. Each is one id. By default none is looked for, since
   text that users write must not steer a model.
2. *Pieces.* A regular expression, the tokenizer's `pattern`, cuts what is left into pieces: roughly words
   with the blank before them, runs of digits, of punctuation, of blanks. No token ever spans two pieces. What
   the pattern does not match is left out (the patterns in use match everything).
3. *Merges.* A piece whose bytes are a vocabulary entry is that one token. Otherwise start with one token per
   byte; of all neighbours whose joined bytes are an entry, join those of the lowest rank, the leftmost among
   equals; go on until no neighbours can be joined. In a rank file a token's rank is its id.

Step 3 on a vocabulary of the single bytes and four words. `a` and `b` become `ab` first, which has the lowest
rank of all; `bc` can then no longer be made, and `abc` is made from `ab` and `c`:

>>> words = [b"ab", b"bc", b"abc", b"cd"]
>>> ranks = {bytes((byte,)): byte for byte in range(256)} | {word: 256 + i for i, word in enumerate(words)}
>>> merge(b"abcd", ranks)
[b'abc', b'd']
>>> merge(b"bcd", ranks)
[b'bc', b'd']

The bytes of the tokens, joined, are the bytes of the piece. So encoding loses nothing, and decoding is
joining.

Sources: Sennrich, Haddow, Birch, "Neural Machine Translation of Rare Words with Subword Units" (ACL 2016) for
merging by rank; Radford et al., "Language Models are Unsupervised Multitask Learners" (2019) for doing it on
bytes and within pieces; tiktoken for the rank file and for whole pieces first.

Like `Encoder`, but with nothing clever: it is the oracle of the tests. Cost: quadratic in the longest piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from tokenwire_core.errors import ControlTokenError, IdOutOfRangeError, UnknownControlTokenError
from tokenwire_core.regex_split import RegexSplitter
from tokenwire_core.segment import SpecialPolicy
from tokenwire_core.spec import RankFileSpec


def merge(piece: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """The tokens of one piece, by merging the neighbours of lowest rank until there are none."""
    tokens = [bytes((byte,)) for byte in piece]
    while True:
        candidates = [
            (ranks[left + right], index)
            for index, (left, right) in enumerate(pairwise(tokens))
            if left + right in ranks
        ]
        if not candidates:
            return tokens
        _, index = min(candidates)
        tokens[index : index + 2] = [tokens[index] + tokens[index + 1]]


class ReferenceEncoder:
    """The tokenizer that `spec` describes. Arguments and errors are as in `Encoder`, for well-formed str only."""

    def __init__(self, spec: RankFileSpec) -> None:
        self.spec = spec
        self._splitter = RegexSplitter(spec.pattern)
        self._bytes_of_id = {id_: token for token, id_ in spec.ranks.items()}
        self._bytes_of_id |= {id_: spelling.encode() for spelling, id_ in spec.special_tokens.items()}

    def encode(self, text: str, special: SpecialPolicy = "text") -> list[int]:
        """The ids of `text`."""
        return [id_ for id_, _, _ in self._tokens(text, special)]

    def count(self, text: str, special: SpecialPolicy = "text") -> int:
        """How many ids `text` has."""
        return len(self.encode(text, special))

    def byte_offsets(self, text: str, special: SpecialPolicy = "text") -> list[tuple[int, int]]:
        """Where each token starts and ends, in bytes of the text's UTF-8."""
        return [(start, end) for _, start, end in self._tokens(text, special)]

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text without control tokens."""
        utf8 = text.encode()
        return [utf8[start:end].decode() for start, end in self._splitter.spans(text)]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes that `ids` stand for."""
        ids = list(ids)
        for index, id_ in enumerate(ids):
            if id_ not in self._bytes_of_id:
                raise IdOutOfRangeError(index, self.spec.vocab_size)
        return b"".join(self._bytes_of_id[id_] for id_ in ids)

    def _tokens(self, text: str, special: SpecialPolicy) -> Iterator[tuple[int, int, int]]:
        """(id, byte_start, byte_end) of each token."""
        at = 0
        for part, control_id in self._cut_at_control_tokens(text, special):
            end = at + len(part.encode())
            if control_id is None:
                yield from self._ordinary_tokens(part, at)
            else:
                yield control_id, at, end
            at = end

    def _cut_at_control_tokens(self, text: str, special: SpecialPolicy) -> Iterator[tuple[str, int | None]]:
        """Step 1: the parts of the text in order, each with the id that it is, or None."""
        wanted = self._wanted(special)
        # Of the branches of a regular expression the first that matches is taken, so the longest stands
        # first.
        spellings = sorted(wanted, key=len, reverse=True)
        at = 0
        for match in re.finditer("|".join(map(re.escape, spellings)), text) if spellings else ():
            if special == "reject":
                start, end = (len(text[:edge].encode()) for edge in match.span())
                raise ControlTokenError(match.group(), start, end)
            yield text[at : match.start()], None
            yield match.group(), self.spec.special_tokens[match.group()]
            at = match.end()
        yield text[at:], None

    def _wanted(self, special: SpecialPolicy) -> frozenset[str]:
        """The spellings to look for."""
        control_tokens = frozenset(self.spec.control_tokens)
        if isinstance(special, frozenset):
            if not special <= control_tokens:
                raise UnknownControlTokenError(len(control_tokens))
            return special
        return frozenset() if special == "text" else control_tokens

    def _ordinary_tokens(self, text: str, offset: int) -> Iterator[tuple[int, int, int]]:
        """Steps 2 and 3; places are counted from `offset`."""
        ranks = self.spec.ranks
        utf8 = text.encode()
        for start, end in self._splitter.spans(text):
            piece = utf8[start:end]
            at = offset + start
            for token in [piece] if piece in ranks else merge(piece, ranks):
                yield ranks[token], at, at + len(token)
                at += len(token)
