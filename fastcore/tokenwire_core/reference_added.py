"""Added tokens, as the `tokenizers` library finds them: before everything else, in two passes.

First those that are looked for in the text as it came; then what lies between is normalized, and the others are looked
for there, in their own normalized spelling. In each pass they are found from the left, the longest where several begin
at one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tokenwire_core.pipeline import AddedToken, Pipeline
from tokenwire_core.reference_aligned import AlignedText
from tokenwire_core.reference_normalize import normalize
from tokenwire_core.reference_unicode import BLANKS, WORD_CHARS

Part = tuple[AlignedText, AddedToken | None]
"""A stretch of the text, normalized if it is no token."""


class AddedTokens:
    """The added tokens of a pipeline, and the spellings they are looked for and decoded as.

    The reader has made sure that no two of one pass are spelled the same, and none is nothing.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.spellings = {token: self._spelling(token) for token in pipeline.added_tokens}
        as_it_came, normalized = (
            [token for token in pipeline.added_tokens if token.normalized is flag] for flag in (False, True)
        )
        self._passes = (self._search(as_it_came), self._search(normalized))

    def cut(self, text: str, special_is_text: bool) -> list[Part]:
        """The text between added tokens, and those, in order; `special_is_text` leaves special ones where they are."""
        parts: list[Part] = []
        for part, token in self._found(AlignedText.of(text), 0, special_is_text):
            if token is not None:
                parts.append((part, token))
            else:
                normalize(part, self._pipeline.normalizer)
                parts += self._found(part, 1, special_is_text)
        return parts

    def _spelling(self, token: AddedToken) -> str:
        if not token.normalized:
            return token.content
        text = AlignedText.of(token.content)
        normalize(text, self._pipeline.normalizer)
        return text.text

    def _search(self, tokens: Iterable[AddedToken]) -> Callable[[str], Iterator[tuple[int, int, AddedToken]]]:
        """Where each token is found in a text."""
        by_spelling = {self.spellings[token]: token for token in tokens}
        sizes = sorted({len(spelling) for spelling in by_spelling}, reverse=True)

        def matches(text: str) -> Iterator[tuple[int, int, AddedToken]]:
            at = 0
            while at < len(text):
                candidates = (text[at : at + size] for size in sizes)
                found = next((candidate for candidate in candidates if candidate in by_spelling), "")
                if found:
                    yield at, at + len(found), by_spelling[found]
                at += max(1, len(found))

        return matches

    def _found(self, part: AlignedText, number: int, special_is_text: bool) -> list[Part]:
        """One pass over one part. A token that is found and does not count is text, and so is all that is in it."""
        text = part.text
        found: list[Part] = []
        at = 0
        for start, end, token in self._passes[number](text):
            if special_is_text and token.special:
                continue
            if token.single_word and (text[start - 1 : start] or " ") in WORD_CHARS:
                continue
            if token.single_word and (text[end : end + 1] or " ") in WORD_CHARS:
                continue
            if token.lstrip:
                while start and text[start - 1] in BLANKS:
                    start -= 1
                start = max(start, at)
            if token.rstrip:
                while end < len(text) and text[end] in BLANKS:
                    end += 1
            if at < start:
                found.append((part.slice(at, start), None))
            if start < end:
                found.append((part.slice(start, end), token))
            at = end
        if at < len(text):
            found.append((part.slice(at, len(text)), None))
        return found
