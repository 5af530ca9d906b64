"""Tokens as a reader can see them: colours or brackets, and no character that could act on the terminal.

A character stands for itself only where it is visible. A space is `·`, a tab `→`, a newline `⏎` and a new line;
whatever else cannot be seen, or would act on the terminal (controls, format characters, variation selectors,
private and unassigned code points), is `\\u{200D}`, and a byte that is part of a character only is `<E4>`.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols that show nothing; the other invisible characters are known by their category."""

_SUBSTITUTES = {" ": "·", "\t": "→", "\n": "⏎\n"}
_DOTTED_CIRCLE = "\u25cc"
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_RESET = "\x1b[0m"
# Black on two pale grounds, white on red for control tokens: readable on dark and on light terminals.
_GROUNDS = ("\x1b[38;5;16;48;5;153m", "\x1b[38;5;16;48;5;223m")
_CONTROL_GROUND = "\x1b[1;38;5;231;48;5;160m"
# Ill-formed bytes decode to lone surrogates, U+DC80 to U+DCFF, which no well-formed text has.
_FIRST_BYTE_SURROGATE, _LAST_BYTE_SURROGATE = "\udc80", "\udcff"


@dataclass(frozen=True, slots=True)
class Token:
    """One token to show: its bytes need not be whole characters."""

    token_id: int
    data: bytes
    is_control: bool


def render(tokens: Iterable[Token], *, colour: bool, with_ids: bool) -> Iterator[str]:
    """The tokens as pieces of text to write one after the other.

    With `colour` tokens are told apart by their ground, control tokens are white on red. Without, a token is
    `[token]` and a control token `⟦token⟧`. `with_ids` puts each id before its token.
    """
    for index, token in enumerate(tokens):
        body = visible(token.data.decode("utf-8", "surrogateescape"))
        if with_ids:
            body = f"{token.token_id} {body}"
        if colour:
            ground = _CONTROL_GROUND if token.is_control else _GROUNDS[index % len(_GROUNDS)]
            # A ground left on over a line's end would colour the rest of the line.
            yield "\n".join(f"{ground}{line}{_RESET}" if line else "" for line in body.split("\n"))
        else:
            yield f"⟦{body}⟧" if token.is_control else f"[{body}]"


@lru_cache(maxsize=1 << 16)  # tokens repeat: a text of 16 MiB has millions, of some thousand kinds
def visible(text: str) -> str:
    """`text` with everything that cannot be seen written out, and right-to-left text isolated.

    Ill-formed bytes are expected as `surrogateescape` decodes them. A combining mark without a base before it
    stands on a dotted circle.
    """
    shown: list[str] = []
    has_base = False
    is_right_to_left = False
    for character in text:
        category = unicodedata.category(character)
        if character in _SUBSTITUTES:
            shown.append(_SUBSTITUTES[character])
            has_base = False
        elif _FIRST_BYTE_SURROGATE <= character <= _LAST_BYTE_SURROGATE:
            shown.append(f"<{ord(character) - 0xDC00:02X}>")
            has_base = False
        elif category[0] in "CZ" or _INVISIBLE.match(character):
            shown.append(f"\\u{{{ord(character):04X}}}")
            has_base = False
        elif category[0] == "M":
            shown.append(character if has_base else _DOTTED_CIRCLE + character)
            has_base = True
        else:
            shown.append(character)
            has_base = True
        is_right_to_left = is_right_to_left or unicodedata.bidirectional(character) in _RIGHT_TO_LEFT
    joined = "".join(shown)
    if not is_right_to_left:
        return joined
    # Line by line: an isolate ends with its line.
    return "\n".join(f"{_ISOLATE}{line}{_END_ISOLATE}" if line else "" for line in joined.split("\n"))


def printable(text: str) -> str:
    """`text` for a terminal: readable as it is, but for characters that would act on the terminal."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        else f"\\u{{{ord(character):04X}}}"
        for character in text
    )


def say(line: str, *, error: bool = False) -> None:
    """Print a line that may hold what others wrote: to stdout, or stderr."""
    print(one_line(line), file=sys.stderr if error else sys.stdout)


def one_line(text: str) -> str:
    """`printable` for a name or a message: newlines and tabs are written out too."""
    return printable(text).replace("\n", "\\u{000A}").replace("\t", "\\u{0009}")


def well_formed(name: str) -> str:
    """A file name that is not UTF-8 holds surrogates, which no output can carry."""
    return os.fsencode(name).decode("utf-8", "replace")
