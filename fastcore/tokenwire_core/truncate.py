"""Cutting a text to a token budget, so that what is left fits when it is encoded again.

A cut can raise a count: what was one token before the cut may be several after it, since the pattern splits
the rest otherwise and merges that crossed the cut are gone. So the text is encoded once, cut behind the N-th
token, the cut moved to a boundary that a reader would accept, and the rest encoded again. Where that has more
than N tokens, the cut steps back a token at a time, then by doubling steps.

Cost: the whole text is encoded once, and what is kept once more, nearly always; O(n log n) for n kept bytes
at worst.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import regex

from tokenwire_core.errors import BudgetTooSmallError, TokenizerError
from tokenwire_core.utf8 import as_sent, repair

if TYPE_CHECKING:
    from tokenwire_core.encoder import Encoder
    from tokenwire_core.encoding import Encoding
    from tokenwire_core.segment import InvalidPolicy, SpecialPolicy

N_SINGLE_STEPS: Final = 4
"""How often the cut steps back by one token before the steps double."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """What is left of a text.

    Attributes:
        text: a prefix or suffix of the text (of the repaired text, where ill-formed bytes were replaced);
            empty for `ids_only`.
        ids: the ids of `text`; for `ids_only` the first or last ids of the whole text.
        n_tokens: len(ids).
        n_tokens_before: how many tokens the whole text has.
        kept: the byte ranges of the input that were kept: one (byte_start, byte_end), empty where nothing fits. Bytes
            of the UTF-8 of a str, or bytes as sent: an ill-formed part that became U+FFFD is kept whole or
            not at all.
        truncated: whether anything was cut.
    """

    text: str
    ids: list[int]
    n_tokens: int
    n_tokens_before: int
    kept: list[tuple[int, int]]
    truncated: bool


def truncate(
    encoder: Encoder,
    text: str | bytes,
    max_tokens: int,
    keep: Literal["start", "end"] = "start",
    cut: Literal["token", "grapheme"] = "grapheme",
    ids_only: bool = False,
    special: SpecialPolicy = "text",
    add_special: bool = False,
    invalid: InvalidPolicy = "error",
) -> Truncation:
    """The start or end of `text` that has at most `max_tokens` tokens when it is encoded again, options as
    here.

    Args:
        max_tokens: the budget; 0 keeps nothing.
        keep: which end is kept.
        cut: where a cut may be. `grapheme`: between user-perceived characters (UAX #29); where not even the
            first of them fits, between code points. `token`: between two tokens of the whole text, never
            inside a character. The edge of a control token is always a place to cut.
        ids_only: give exactly the first or last `max_tokens` ids and no text. Needs cut `token`; the ids may
            end inside a character, and their text may have other ids.
        special, add_special, invalid: as for `Encoder.encode`.

    Raises:
        TokenizerError: `max_tokens` is negative, or an option has a value it cannot have.
        InvalidUtf8Error, ControlTokenError, UnknownControlTokenError, TextTooLongError, PatternTooSlowError:
            of the whole text, as `Encoder.encode`.
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"text must be str or bytes, not {type(text).__name__}")
    max_tokens = operator.index(max_tokens)
    if max_tokens < 0:
        raise TokenizerError(f"max_tokens is {max_tokens}; it must be 0 or more")
    if keep not in ("start", "end"):
        raise TokenizerError("keep must be start or end")
    if cut not in ("token", "grapheme"):
        raise TokenizerError("cut must be token or grapheme")
    if ids_only and cut != "token":
        raise TokenizerError("ids_only gives ids that may end anywhere; ask for it with cut token")

    def encode(part: str | bytes) -> Encoding:
        return encoder.encode(part, special=special, add_special=add_special, invalid=invalid)

    encoding = encode(text)
    n_before = len(encoding)
    if ids_only:
        return _first_or_last_ids(encoding, max_tokens, keep)
    utf8, replaced = _repaired(text)
    if n_before <= max_tokens:
        start, end = 0, len(utf8)
    else:
        if replaced:
            encoding = encode(utf8)  # the spans so far are those of the bytes as sent
        controls = frozenset() if special == "text" else frozenset(encoder.control_tokens.values())
        places = _Places(utf8, encoding, keep, controls)
        at, encoding = _fit(encode, places, max_tokens, cut)
        start, end = (0, at) if keep == "start" else (at, len(utf8))
    return Truncation(
        text=utf8[start:end].decode(),
        ids=encoding.ids,
        n_tokens=len(encoding),
        n_tokens_before=n_before,
        kept=[(as_sent(replaced, start), as_sent(replaced, end))],
        truncated=end - start < len(utf8),
    )


def _first_or_last_ids(encoding: Encoding, max_tokens: int, keep: str) -> Truncation:
    n = len(encoding)
    n_kept = min(n, max_tokens)
    first, last = (0, n_kept) if keep == "start" else (n - n_kept, n)
    starts, ends = encoding.spans()
    edges = [*starts, *ends[-1:]] or [0]
    return Truncation(
        text="",
        ids=encoding.ids[first:last],
        n_tokens=n_kept,
        n_tokens_before=n,
        kept=[(edges[first], ends[last - 1] if n_kept else edges[first])],
        truncated=n_kept < n,
    )


def _fit(
    encode: Callable[[bytes], Encoding], places: _Places, max_tokens: int, cut: str
) -> tuple[int, Encoding]:
    """Where to cut, and what is kept, encoded."""
    if cut == "token":
        return _step_back(encode, places, max_tokens, places.token)
    at, encoding = _step_back(encode, places, max_tokens, places.grapheme)
    if at != places.empty or max_tokens == 0:
        return at, encoding
    # Nothing so far. Steps may have been too long to try the outermost grapheme alone.
    at = places.outermost_grapheme()
    encoding = encode(places.kept(at))
    if len(encoding) <= max_tokens:
        return at, encoding
    return _step_back(encode, places, max_tokens, places.codepoint)


def _step_back(
    encode: Callable[[bytes], Encoding], places: _Places, max_tokens: int, place: Callable[[int], int]
) -> tuple[int, Encoding]:
    """The first of the places, from the `max_tokens`-th token towards nothing, where what is kept fits."""
    n_tries = 0
    at = place(places.edge(max_tokens))
    while True:
        encoding = encode(places.kept(at))
        if len(encoding) <= max_tokens:
            return at, encoding
        if at == places.empty:
            raise BudgetTooSmallError(max_tokens, len(encoding))
        n_tries += 1
        n_back = 1 if n_tries <= N_SINGLE_STEPS else 2 ** (n_tries - N_SINGLE_STEPS)
        at = place(places.edge_before(at, n_back))


class _Places:
    """Where a text may be cut, in bytes of its UTF-8. A method moves a place towards keeping less, or not at
    all.

    The texts of all places asked for with one method are read once in all, since they are asked for in order.
    """

    def __init__(self, utf8: bytes, encoding: Encoding, keep: str, controls: frozenset[int]) -> None:
        starts, ends = encoding.spans()
        self._utf8 = utf8
        self._text = utf8.decode()
        self._graphemes = _Graphemes(self._text)
        self._from_start = keep == "start"
        self._edges = [0, *ends] if self._from_start else [*starts, len(utf8)]
        self._control_edges: list[int] = []
        if controls:
            for id_, start, end in zip(encoding.ids_u32, starts, ends, strict=True):
                if id_ in controls:
                    self._control_edges += (start, end)
        self.empty = 0 if self._from_start else len(utf8)

    def kept(self, at: int) -> bytes:
        return self._utf8[:at] if self._from_start else self._utf8[at:]

    def edge(self, n_tokens: int) -> int:
        """The edge of the `n_tokens`-th token from the end that is kept."""
        return self._edges[n_tokens if self._from_start else -1 - n_tokens]

    def edge_before(self, at: int, n_back: int) -> int:
        """The edge that is `n_back` edges back from `at`, or the last there is."""
        if self._from_start:
            return self._edges[max(0, bisect_left(self._edges, at) - n_back)]
        return self._edges[min(len(self._edges), bisect_right(self._edges, at) + n_back) - 1]

    def token(self, at: int) -> int:
        while self._is_inside_character(at):
            at = self.edge_before(at, 1)
        return at

    def codepoint(self, at: int) -> int:
        while self._is_inside_character(at):
            at += -1 if self._from_start else 1
        return at

    def grapheme(self, at: int) -> int:
        edge = self.codepoint(at)
        index = len(self._utf8[:edge].decode())
        if self._from_start:
            moved = self._graphemes.floor(index)
            edge -= len(self._text[moved:index].encode())
            i = bisect_right(self._control_edges, at)
            return max(edge, self._control_edges[i - 1]) if i else edge
        moved = self._graphemes.ceil(index)
        edge += len(self._text[index:moved].encode())
        i = bisect_left(self._control_edges, at)
        return min(edge, self._control_edges[i]) if i < len(self._control_edges) else edge

    def outermost_grapheme(self) -> int:
        graphemes = _Graphemes(self._text)
        if self._from_start:
            return len(self._text[: graphemes.ceil(1)].encode())
        return len(self._text[: graphemes.floor(len(self._text) - 1)].encode())

    def _is_inside_character(self, at: int) -> bool:
        return at < len(self._utf8) and self._utf8[at] & 0xC0 == 0x80


class _Graphemes:
    """Grapheme boundaries of a text, as indices of code points, near the places asked for.

    Boundaries are found from the left, so a scan starts at the nearest place that is one whatever stands
    around it. For one object `floor` is to be called with falling places, or `ceil` with rising ones; no text
    is scanned twice.
    """

    # Two neighbours, each an ordinary character or a whole Hangul syllable, are never one grapheme.
    _CERTAIN = regex.compile(
        r"(?r)(?<=[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}])(?=[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}])"
    )
    # \X alone is quadratic on a run of flags: at each it counts the regional indicators before it.
    _GRAPHEME = regex.compile(
        r"\p{GCB=Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}]*+|\X"
    )

    def __init__(self, text: str) -> None:
        self._text = text
        self._boundaries: list[int] = []

    def floor(self, index: int) -> int:
        """The last boundary at or before `index`."""
        if not self._boundaries or index < self._boundaries[0]:
            self._scan(0, index)
        return self._boundaries[bisect_right(self._boundaries, index) - 1]

    def ceil(self, index: int) -> int:
        """The first boundary at or behind `index`."""
        if not self._boundaries or index > self._boundaries[-1]:
            self._scan(self._boundaries[-1] if self._boundaries else 0, index)
        return self._boundaries[bisect_left(self._boundaries, index)]

    def _scan(self, boundary: int, index: int) -> None:
        """Find the boundaries around `index`, of which `boundary` is one before it."""
        certain = self._CERTAIN.search(self._text, boundary, index, concurrent=True)
        start = certain.start() if certain else boundary
        self._boundaries = [start]
        for match in self._GRAPHEME.finditer(self._text, start, concurrent=True):
            self._boundaries.append(match.end())
            if match.end() > index:
                break


def _repaired(text: str | bytes) -> tuple[bytes, bytes]:
    """The UTF-8 that was encoded, and what of the bytes as sent became U+FFFD, for `as_sent`."""
    if isinstance(text, bytes):
        return repair(text)
    try:
        return text.encode(), b""
    except UnicodeEncodeError:
        # As `Encoder` does: a lone surrogate becomes one U+FFFD. No bytes were sent, so nothing is to be
        # mapped.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode(), b""
