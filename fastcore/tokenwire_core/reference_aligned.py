"""Text on its way through normalizers and pre-tokenizers, each character knowing which of the source it came from.

This is the `NormalizedString` of the `tokenizers` library, and so are its rules, oddities included, since a token's
span is where its characters came from:

- a character that replaces others takes the place of the first of them;
- one that is added shares the place of the one before it, whatever that is (so the accent that NFD takes off `é`
  is at the same place as the `e`); before everything else there is the empty place at the start;
- what is removed leaves no trace.

In one case we differ: where a pattern that matches nothing puts text before everything, the library takes later
changes for those of the characters behind it, and panics or says characters twice.

Places are bytes of the source's UTF-8 throughout: that is what the library counts in, and some of its answers can
only be told in them. Cost: linear for each change.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

Span = tuple[int, int]
"""A half-open range of bytes of the source."""

Change = tuple[str, int]
"""A character of a new text. 1: it is added; 0: it replaces the next character of the old text; -n: it replaces the
next one, and n more behind that are removed."""


class AlignedText:
    """A text, the place of each character, and the stretch of the source that it was made from.

    Attributes:
        text: as it is now.
        spans: the place of each of its characters.
        source: the bytes of the source this text was cut out as.
    """

    def __init__(self, text: str, spans: Sequence[Span], source: Span) -> None:
        self.text = text
        self.spans = list(spans)
        self.source = source

    @classmethod
    def of(cls, text: str) -> AlignedText:
        """A source text, not yet changed."""
        edges = [0, *itertools.accumulate(len(char.encode()) for char in text)]
        return cls(text, list(itertools.pairwise(edges)), (0, edges[-1]))

    def slice(self, start: int, end: int) -> AlignedText:
        """The characters from `start` to before `end`, of which there is at least one."""
        source = (self.spans[start][0], self.spans[end - 1][1])
        return AlignedText(self.text[start:end], self.spans[start:end], source)

    def token_spans(self, tokens: Iterable[Span]) -> list[Span | None]:
        """Where tokens came from that are given as bytes of this text's UTF-8; None for one that is not in it."""
        edges = [0, *itertools.accumulate(len(char.encode()) for char in self.text)]
        return [self._token_span(start, end, edges) for start, end in tokens]

    def change(self, new: Iterable[Change], n_removed: int = 0) -> None:
        """The text replaced, after `n_removed` characters at its start were removed."""
        self._change(0, len(self.text), new, n_removed)

    def map(self, new_char: Callable[[str], str]) -> None:
        """Each character replaced by one."""
        self.change([(new_char(char), 0) for char in self.text])

    def expand(self, new_chars: Callable[[str], str]) -> None:
        """Each character replaced by some: the first in its place, the others added."""
        self.change(
            (new, int(number > 0)) for char in self.text for number, new in enumerate(new_chars(char))
        )

    def keep(self, is_kept: Callable[[str], bool]) -> None:
        """Characters removed."""
        kept = [at for at, char in enumerate(self.text) if is_kept(char)]
        ends = [*kept[1:], len(self.text)] if kept else []
        new = [(self.text[at], at + 1 - end) for at, end in zip(kept, ends, strict=True)]
        self.change(new, kept[0] if kept else 0)

    def prepend(self, prefix: str) -> None:
        """A prefix before a text that is not empty. It takes the place of the first character, which is added."""
        if self.text:
            new = [(char, int(number > 0)) for number, char in enumerate(prefix)]
            self._change(0, 1, [*new, (self.text[0], 1)], 0)

    def replace(self, matches: Iterable[tuple[int, int]], content: str) -> None:
        """Stretches of characters, in order, each replaced by `content`, which is at the place of the last of it."""
        text: list[str] = []
        spans: list[Span] = []
        at = 0
        for start, end in matches:
            text += (self.text[at:start], content)
            spans += self.spans[at:start]
            spans += [self.spans[end - 1] if end else self._nowhere()] * len(content)
            at = end
        self.text = "".join([*text, self.text[at:]])
        self.spans = spans + self.spans[at:]

    def _token_span(self, start: int, end: int, edges: list[int]) -> Span | None:
        if start == end:
            return self.source[0] + start, self.source[0] + end
        if start > end or end > edges[-1]:
            return None
        first, last = (bisect_right(edges, byte) - 1 for byte in (start, end - 1))
        return self.spans[first][0], self.spans[last][1]

    def _nowhere(self) -> Span:
        """The place before everything."""
        return self.source[0], self.source[0]

    def _change(self, start: int, end: int, new: Iterable[Change], n_removed: int) -> None:
        at = start + n_removed
        text: list[str] = []
        spans: list[Span] = []
        for char, change in new:
            if change > 0:
                spans.append(self.spans[at - 1] if at else self._nowhere())
            else:
                spans.append(self.spans[at])
                at = min(at + 1 - change, end)
            text.append(char)
        self.text = self.text[:start] + "".join(text) + self.text[end:]
        self.spans[start:end] = spans
