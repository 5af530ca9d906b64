"""What a stage of decoding is, and the simplest ones: `decoder_stages` has the others and says more."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from tokenwire_core.errors import TextTooLongError

Texts = list[str]
Each = Callable[[str, bool], str]
"""What becomes of a token's text; True for the first token."""


class Setting(NamedTuple):
    """Where a stage stands.

    Attributes:
        raw: bytes that are no text are kept, as lone surrogates (`surrogateescape`).
        max_held_bytes: how much text may be held back, or None.
        is_joined: whether what the stage gives is joined, so that a token may come in fragments.
    """

    raw: bool = False
    max_held_bytes: int | None = None
    is_joined: bool = False


class Stage(Protocol):
    """What texts run through: all that `push` gives and then `flush` is what the stage makes of all texts."""

    def push(self, texts: Texts) -> Texts: ...

    def flush(self) -> Texts: ...


class Passing:
    """Gives at once what comes in; of that, stages that hold nothing back change something."""

    def push(self, texts: Texts) -> Texts:
        return texts

    def flush(self) -> Texts:
        return []


class OneByOne(Passing):
    """Each token by itself."""

    def __init__(self, each: Each) -> None:
        self._each = each
        self._is_first = True

    def push(self, texts: Texts) -> Texts:
        changed = []
        for text in texts:
            changed.append(self._each(text, self._is_first))
            self._is_first = False
        return changed


class Gather:
    """All fragments as one token at the end."""

    def __init__(self, setting: Setting) -> None:
        self._max_held_bytes = setting.max_held_bytes
        self._text = io.StringIO()
        self._n_bytes = 0

    def push(self, texts: Texts) -> Texts:
        self._n_bytes += sum(len(text.encode(errors="surrogatepass")) for text in texts)
        check_held(self._n_bytes, self._max_held_bytes)
        self._text.writelines(texts)
        return []

    def flush(self) -> Texts:
        return [self._text.getvalue()]


def check_held(n_bytes: int, limit: int | None) -> None:
    if limit is not None and n_bytes > limit:
        raise TextTooLongError(n_bytes, limit)


class Row(NamedTuple):
    """A row of the table. `fuses`: makes one text of all tokens, and gives it in fragments."""

    each: Callable[[Any], Each] | None = None
    on_tokens: Callable[[Any, Setting], Stage] | None = None
    on_fragments: Callable[[Any, Setting], Stage] | None = None
    fuses: bool = False
