"""How SentencePiece normalizes what it has decoded, for the few models that say so: text to text, as it arrives."""

from __future__ import annotations

from typing import Final

from tokenwire_core.sentencepiece_spec import NormalizerRules

BLANK: Final = "▁"


class Denormalizer:
    """The rules of a normalizer on one text.

    Held back is what may be the beginning of a key of the charsmap, and of blanks that may be the last ones their
    number. Cost: some microseconds a character.
    """

    def __init__(self, rules: NormalizerRules) -> None:
        self._rules = rules
        self._space = BLANK.encode() if rules.escape_whitespaces else b" "
        self._waiting = b""
        self._has_begun = False
        self._after_blank = rules.remove_extra_whitespaces
        self._n_spaces = 0

    def push(self, text: str) -> str:
        self._waiting += text.encode()
        return self._certain(is_all=False)

    def flush(self) -> str:
        rules = self._rules
        rest = self._certain(is_all=True)
        if self._has_begun and rules.add_dummy_prefix and rules.treat_whitespace_as_suffix:
            rest += self._space.decode()
        return rest

    def _certain(self, *, is_all: bool) -> str:
        rules, waiting = self._rules, self._waiting
        result: list[bytes] = []
        at = 0
        while at < len(waiting):
            if not is_all and rules.charsmap and rules.charsmap.may_go_on(waiting, at):
                break
            new, n_bytes = self._replaced(waiting, at)
            at += n_bytes
            if not self._has_begun:
                if rules.remove_extra_whitespaces and new == b" ":
                    continue
                self._has_begun = True
                if rules.add_dummy_prefix and not rules.treat_whitespace_as_suffix:
                    result.append(self._held_back(self._space))
            if self._after_blank:
                new = new.lstrip(b" ")
            if new:
                result.append(self._held_back(new.replace(b" ", self._space)))
                self._after_blank = rules.remove_extra_whitespaces and new.endswith(b" ")
        self._waiting = waiting[at:]
        return b"".join(result).decode()

    def _held_back(self, new: bytes) -> bytes:
        """What goes out by `new`: not the blanks that it ends with, if those at the end of the text go."""
        if not self._rules.remove_extra_whitespaces:
            return new
        size = len(self._space)
        kept = new
        while kept.endswith(self._space):
            kept = kept[:-size]
        n_spaces = (len(new) - len(kept)) // size
        if not kept:
            self._n_spaces += n_spaces
            return b""
        certain = self._space * self._n_spaces + kept
        self._n_spaces = n_spaces
        return certain

    def _replaced(self, text: bytes, at: int) -> tuple[bytes, int]:
        """What stands for what begins at `at`, and how many bytes of text that is."""
        charsmap = self._rules.charsmap
        if charsmap and (match := charsmap.longest_match(text, at)):
            n_bytes, replacement = match
            return replacement, n_bytes
        lead = text[at]
        n_bytes = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        character = text[at : at + n_bytes]
        try:
            character.decode()
        except UnicodeDecodeError:
            return "\ufffd".encode(), 1
        return character, n_bytes
