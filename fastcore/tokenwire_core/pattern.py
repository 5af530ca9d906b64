r"""Patterns as tiktoken's engine (Rust's fancy-regex) reads them, rewritten for the `regex` module.

The engines differ in their Unicode versions (in `\p{L}` alone by 17,144 code points), in `$` and `\Z`, in case folding
and in classes: `[a&&[^b]]` is an intersection in Rust. So every character, class and escape is evaluated here, by our
own tables, to a set of code points, and the rewritten pattern has nothing but sets of symbols (see `alphabet`), groups,
quantifiers and look-arounds, in which the two engines agree. What is not known to be the same in both is refused.

Cost: milliseconds per pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from tokenwire_core import charset
from tokenwire_core.alphabet import Alphabet
from tokenwire_core.charset import CharSet
from tokenwire_core.errors import ArtifactError

MAX_DEPTH: Final = 50
"""Groups or classes within each other."""
MAX_REPEATS: Final = 1000
"""The highest count in a quantifier."""
MAX_ITEMS: Final = 2000
"""Characters, classes, alternatives and assertions of a pattern once every count is written out, as engines do."""
MAX_SETS: Final = 1000
"""Different characters and classes."""

_NEWLINE = CharSet.only("\n")
_CONTROL_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
_HEX_ESCAPE = re.compile(
    r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]{1,8})\}", re.A
)
_PROPERTY = re.compile(r"[pP](?:([A-Za-z])|\{(\^?)([\w \-=:]+)\})", re.A)
_QUANTIFIER = re.compile(r"[*+?]|\{(?:[0-9]+(?:,[0-9]*)?|,[0-9]+)\}")
_GROUP = re.compile(r"\(\?(?:P?<[A-Za-z_]\w*>|<?[=!]|[:>])|\((?!\?)", re.A)
_PLAIN_GROUPS = ("(?=", "(?!", "(?<=", "(?<!", "(?>")
_FLAGS = re.compile(r"\(\?([imsu]*)(?:-([ims]+))?([:)])")
_SET_OPERATORS = {"&&": CharSet.__and__, "--": CharSet.__sub__, "~~": CharSet.__xor__}


@dataclass(frozen=True, slots=True)
class RewrittenPattern:
    """`pattern`, for the `regex` module, matches `alphabet.symbols(text)` where the original matches the text."""

    pattern: str
    alphabet: Alphabet


def parse(pattern: str) -> list[CharSet | str]:
    """The pattern from left to right: sets of characters, and text for what is not a set.

    The text is `|`, a group's opening or `)`, a quantifier, `\\A` or `\\Z` (the very ends of the text).

    Raises:
        ArtifactError: BAD_PATTERN, UNSUPPORTED_PATTERN, as `rewrite`.
    """
    return _Parser(pattern).parse()


def rewrite(pattern: str) -> RewrittenPattern:
    """The pattern with all that depends on Unicode or on the engine made explicit.

    Raises:
        ArtifactError: BAD_PATTERN if it is no pattern, UNSUPPORTED_PATTERN if it has a part that could mean something
            else here; the message names the part and its place.
    """
    parts = parse(pattern)
    sets = list({part: None for part in parts if isinstance(part, CharSet)})
    if len(sets) > MAX_SETS:
        raise ArtifactError(
            "UNSUPPORTED_PATTERN",
            f"the pattern has {len(sets)} different characters and classes, the limit is {MAX_SETS}; "
            "put alternatives of one character into one class",
        )
    alphabet = Alphabet(sets)
    return RewrittenPattern(
        "".join(alphabet.symbol_class(part) if isinstance(part, CharSet) else part for part in parts),
        alphabet,
    )


@dataclass(frozen=True, slots=True)
class _Flags:
    i: bool = False
    m: bool = False
    s: bool = False

    def changed(self, on: str, off: str) -> _Flags:
        return _Flags(*(name not in off and (name in on or getattr(self, name)) for name in "ims"))


class _Parser:
    """One pass over a pattern. `_parts` is the result so far: sets, and text for what is not a set."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags = _Flags()
        self._open: list[tuple[_Flags, str]] = []
        self._parts: list[CharSet | str] = []
        self._class_depth = 0
        # Items so far of the pattern and of each open group, with counts written out, and those of the last target.
        self._n_items = [0]
        self._n_last = 0

    def parse(self) -> list[CharSet | str]:
        # What a quantifier would apply to: nothing, an atom, an assertion, or something with a quantifier.
        target = "nothing"
        while self._at < len(self._pattern):
            c = self._pattern[self._at]
            if c == "(":
                target = self._open_group()
            elif c == ")":
                target = self._close_group()
            elif c == "|":
                self._at += 1
                self._add("|")
                target = "nothing"
            elif c in "*+?{":
                self._quantifier(target)
                target = "a quantifier"
            elif c in "^$":
                self._at += 1
                self._edge(c)
                target = "an assertion"
            elif c == "\\" and self._pattern[self._at + 1 : self._at + 2] in ("A", "z", "b", "B"):
                self._at += 2
                self._assertion(self._pattern[self._at - 1])
                target = "an assertion"
            else:
                self._add(self._atom(c))
                target = "an atom"
        if self._open:
            self._fail("BAD_PATTERN", "a group that is not closed")
        return self._parts

    def _fail(self, reason: str, what: str, advice: str = "") -> NoReturn:
        raise ArtifactError(reason, f"the pattern has {what} at character {self._at}{advice}")

    def _add(self, *parts: CharSet | str) -> None:
        self._parts += parts
        self._n_last = len(parts)
        self._count_items(len(parts))

    def _count_items(self, n: int) -> None:
        self._n_items[-1] += n
        if self._n_items[-1] > MAX_ITEMS:
            self._fail(
                "UNSUPPORTED_PATTERN",
                f"more than {MAX_ITEMS} items, with every count written out,",
                "; lower the counts, which multiply where groups are within each other",
            )

    def _open_group(self) -> str:
        after = self._flags
        if match := _FLAGS.match(self._pattern, self._at):
            after = after.changed(on=match[1], off=match[2] or "")
            if match[3] == ")":
                if self._open:
                    # In Rust's regex it ends with the group, in fancy-regex it does not.
                    self._fail("UNSUPPORTED_PATTERN", f"the flags {match[0]} inside a group")
                self._at = match.end()
                self._flags = after
                return "nothing"
        else:
            match = _GROUP.match(self._pattern, self._at)
        if match is None:
            self._fail("UNSUPPORTED_PATTERN", f"the group {self._pattern[self._at : self._at + 3]}...")
        if len(self._open) == MAX_DEPTH:
            self._fail("UNSUPPORTED_PATTERN", f"more than {MAX_DEPTH} groups within each other")
        self._at = match.end()
        # Nothing refers to what a group has matched, and flags are done with here.
        opening = match[0] if match[0] in _PLAIN_GROUPS else "(?:"
        self._open.append((self._flags, opening))
        self._flags = after
        self._parts.append(opening)
        self._n_items.append(0)
        return "nothing"

    def _close_group(self) -> str:
        if not self._open:
            self._fail("BAD_PATTERN", "a ) without its (")
        self._at += 1
        self._flags, opening = self._open.pop()
        self._parts.append(")")
        self._n_last = self._n_items.pop() + (opening != "(?:") or 1
        self._count_items(self._n_last)
        return "an assertion" if opening[-1] in "=!" else "an atom"

    def _quantifier(self, target: str) -> None:
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None:
            self._fail("UNSUPPORTED_PATTERN", "a { that starts no quantifier; write \\{ for the character")
        if target == "nothing":
            self._fail("BAD_PATTERN", f"the quantifier {match[0]} on nothing")
        if target != "an atom":
            self._fail("UNSUPPORTED_PATTERN", f"the quantifier {match[0]} on {target}")
        counts = [int(count) for count in re.findall("[0-9]+", match[0])]
        if max(counts, default=0) > MAX_REPEATS:
            self._fail("UNSUPPORTED_PATTERN", f"a quantifier that counts beyond {MAX_REPEATS}")
        if len(counts) == 2 and counts[0] > counts[1]:
            self._fail("BAD_PATTERN", f"the quantifier {match[0]}, whose counts are the wrong way round")
        self._count_items(self._n_last * (max(counts, default=1) - 1))
        self._at = match.end()
        mode = self._pattern[self._at : self._at + 1]
        if mode not in ("?", "+"):
            mode = ""
        self._at += len(mode)
        self._parts.append(match[0].replace("{,", "{0,") + mode)

    def _edge(self, c: str) -> None:
        """`^` or `$`: an end of the text, or with the flag m of a line."""
        if not self._flags.m:
            self._add("\\A" if c == "^" else "\\Z")
        else:
            self._add("(?<!" if c == "^" else "(?!", ~_NEWLINE, ")")

    def _assertion(self, letter: str) -> None:
        if letter in "Az":
            self._add("\\A" if letter == "A" else "\\Z")
            return
        word = charset.perl_class("w")
        behind, ahead = ("(?!", "(?=") if letter == "b" else ("(?=", "(?!")
        self._add("(?:(?<=", word, ")", behind, word, ")|(?<!", word, ")", ahead, word, "))")

    def _atom(self, c: str) -> CharSet:
        if c == "[":
            return self._bracketed()
        if c == "\\":
            return self._folded(self._escape())
        self._at += 1
        if c == ".":
            return ~CharSet(()) if self._flags.s else ~_NEWLINE
        return self._folded(CharSet.only(c))

    def _folded(self, characters: CharSet) -> CharSet:
        return characters.ignoring_case() if self._flags.i else characters

    def _escape(self) -> CharSet:
        """What the escape at hand matches: a set that is the same in either case, or a character as it is written."""
        escape = self._pattern[self._at : self._at + 2]
        letter = escape[1:]
        if not letter:
            self._fail("BAD_PATTERN", "a \\ with nothing behind it")
        if letter in "dDsSwW":
            self._at += 2
            named = charset.perl_class(letter.lower())
            return named if letter.islower() else ~named
        if letter in "pP":
            return self._property(letter == "P")
        if letter in "xuU":
            match = _HEX_ESCAPE.match(self._pattern, self._at + 1)
            if match is None:
                self._fail("BAD_PATTERN", f"the escape {escape} without its hexadecimal digits")
            value = int(next(filter(None, match.groups())), 16)
            if value >= charset.N_CODE_POINTS or 0xD800 <= value < 0xE000:
                self._fail("BAD_PATTERN", f"the escape {escape} of what is no character")
            self._at = match.end()
            return CharSet(((value, value + 1),))
        if letter.isdigit():
            self._fail("UNSUPPORTED_PATTERN", f"the back-reference {escape}")
        if letter in _CONTROL_ESCAPES:
            letter = _CONTROL_ESCAPES[letter]
        elif not letter.isascii() or letter.isalnum() or letter in "<>":
            self._fail("UNSUPPORTED_PATTERN", f"the escape {escape}")
        self._at += 2
        return CharSet.only(letter)

    def _property(self, negated: bool) -> CharSet:
        match = _PROPERTY.match(self._pattern, self._at + 1)
        if match is None:
            self._fail("BAD_PATTERN", "a \\p without a property")
        kind, _, value = (match[1] or match[3]).replace(":", "=").rpartition("=")
        kind, value = (re.sub("[ _-]", "", name.lower()).removeprefix("is") for name in (kind, value))
        if kind in ("gc", "generalcategory"):
            named = charset.general_category(value)
        elif kind in ("sc", "script"):
            named = charset.script(value)
        elif kind:
            named = None
        else:
            named = charset.binary_property(value) or charset.general_category(value) or charset.script(value)
        if named is None:
            self._fail("UNSUPPORTED_PATTERN", f"the property \\{match[0]}")
        self._at = match.end()
        named = self._folded(named)
        return ~named if negated != bool(match[2]) else named

    def _bracketed(self) -> CharSet:
        """A class in brackets: unions, with `&&`, `--` and `~~` between them from left to right."""
        self._class_depth += 1
        if self._class_depth > MAX_DEPTH:
            self._fail("UNSUPPORTED_PATTERN", f"more than {MAX_DEPTH} classes within each other")
        start = self._at
        self._at += 1
        negated = self._take("^")
        whole: CharSet | None = None
        operator = ""
        union = CharSet(())
        if self._pattern.startswith("]", self._at):
            union = self._character()
        while self._take("-"):
            union |= CharSet.only("-")
        while True:
            if self._at >= len(self._pattern):
                self._at = start
                self._fail("BAD_PATTERN", "a class that is not closed")
            two = self._pattern[self._at : self._at + 2]
            closes = self._take("]")
            if not closes and two not in _SET_OPERATORS:
                union |= self._class_item()
                continue
            union = self._folded(union)
            whole = union if whole is None else _SET_OPERATORS[operator](whole, union)
            if closes:
                break
            operator, union = two, CharSet(())
            self._at += 2
        self._class_depth -= 1
        return ~whole if negated else whole

    def _class_item(self) -> CharSet:
        if self._pattern.startswith("[:", self._at):
            self._fail("UNSUPPORTED_PATTERN", "a class by name, [:...:]")
        if self._pattern[self._at] == "[":
            return self._bracketed()
        first = self._character()
        after = self._pattern[self._at + 1 : self._at + 2]
        if not self._pattern.startswith("-", self._at) or after in ("]", "-"):
            return self._folded(first)
        self._at += 1
        last = self._character() if after else CharSet(())
        ends = [*first.ranges, *last.ranges]
        if len(ends) != 2 or any(end - start != 1 for start, end in ends) or ends[0] > ends[1]:
            self._fail("BAD_PATTERN", "a range in a class that does not go from one character up to another")
        return self._folded(CharSet(((ends[0][0], ends[1][1]),)))

    def _character(self) -> CharSet:
        """A character or escape in a class, as `_escape`."""
        if self._pattern[self._at] == "\\":
            return self._escape()
        self._at += 1
        return CharSet.only(self._pattern[self._at - 1])

    def _take(self, text: str) -> bool:
        taken = self._pattern.startswith(text, self._at)
        self._at += len(text) * taken
        return taken
