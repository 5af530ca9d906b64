r"""Patterns of a tokenizer.json: which of them mean in Oniguruma what `pattern.py` reads in them.

`tokenizers` hands a pattern to Oniguruma with Ruby's syntax; `pattern.py` reads the syntax of Rust's fancy-regex. On
what tokenizers are made of the two agree: classes, general categories, scripts, `\s`, `\d`, look-ahead, greedy, lazy
and possessive quantifiers. Where they do not, the pattern is refused: no tokenizer is better than one a little off.

Refused, with Oniguruma's meaning: `^` and `$` (an edge of a line, always), `\w` and `\b` (superscript digits are word
characters, joiners are not), `{2,3}+` (not possessive) and `{2}?` (not lazy), `(?i)` behind the start (alternatives
are inside it), ignoring case of more than single ASCII letters (`(?i:ss)` matches ß), properties by names beyond
categories and scripts, `\xE9` (a byte), quantifiers and groups in a look-behind, quantifiers on groups with an
assertion in them (an error if there is nothing else), `--` and `~~` in a class, and there a range that ends in `[` or
`&&` (a class or an operator).
"""

from __future__ import annotations

import re
from typing import Final

from tokenwire_core import pattern
from tokenwire_core.errors import ArtifactError
from tokenwire_core.json_fields import Fields, bad_value
from tokenwire_core.pipeline import Regex
from tokenwire_core.unicode_ranges import GENERAL_CATEGORY, SCRIPT_NAMES

MAX_PATTERN_BYTES: Final = 4096

_PROPERTIES: Final = frozenset(
    {*map(str.lower, GENERAL_CATEGORY), *"lmnpszc", "letter", "punctuation", "alphabetic", *SCRIPT_NAMES}
)
"""Names of which every code point was compared."""

_TOKEN: Final = re.compile(
    r"""\\ (?: [pP]\{ \^? (?P<property> [^}]* ) \} | x\{[0-9A-Fa-f]+\} | u[0-9A-Fa-f]{4} | x[0-7][0-9A-Fa-f]
             | (?P<escape> . ) )
      | (?P<open> \( (?: \?i: | \?: | \?= | \?! | \?<= | \?<! | \?> | \?<[A-Za-z_]\w*> | (?!\?) ) )
      | (?P<flag> \(\?i\) )
      | (?P<other_group> \(\? )
      | (?P<bound> \{[0-9,]*\} (?P<after> [?+]? ) )
      | (?P<operator> --|~~ )
      | (?P<range> -(?= (?P<range_end> \[|&&) ) )
      | (?P<class> \[\^?\]? )
      | (?P<one> . )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ASSERTIONS: Final = frozenset(("\\A", "\\z", "(?=", "(?!", "(?<=", "(?<!"))
_REFUSED_ESCAPES: Final = frozenset("wWbBpPxuUZ")
_FOLDED_TOGETHER: Final = frozenset(("ss", "st", "ff", "fi", "fl"))
"""Neighbours that one character stands for when case is ignored: ß, ﬆ, ﬀ, ﬁ, ﬂ."""


def read_pattern(fields: Fields) -> str | Regex:
    """The member `pattern`: literal text or a regular expression.

    Raises:
        ArtifactError: those of `check_pattern` and of `fields`.
    """
    path = fields.at("pattern")
    inner = Fields(fields.take("pattern"), path)
    kind = "Regex" if "Regex" in inner else "String"
    text = inner.text(kind)
    inner.finish()
    if kind == "Regex":
        check_pattern(text, f"{path}.Regex")
        return Regex(text)
    if not text:
        raise bad_value(f"{path}.String", "it is empty and would match everywhere")
    return text


def check_pattern(text: str, path: str) -> None:
    """Proves that a pattern can be followed to the letter.

    Raises:
        ArtifactError: BAD_PATTERN if it is none; UNSUPPORTED_PATTERN if it could mean something else here.
    """
    n_bytes = len(text.encode())
    if n_bytes > MAX_PATTERN_BYTES:
        raise ArtifactError(
            "BAD_PATTERN", f"the pattern has {n_bytes} bytes, the limit is {MAX_PATTERN_BYTES}", path=path
        )
    try:
        pattern.rewrite(text)
    except ArtifactError as error:
        raise ArtifactError(error.reason, str(error), path=path) from None
    scan = _Scan()
    for token in _TOKEN.finditer(text):
        if refused := scan.refuses(token):
            raise ArtifactError(
                "UNSUPPORTED_PATTERN", f"the pattern has {refused} at character {token.start()}", path=path
            )


class _Scan:
    """Goes over the tokens of a pattern that `pattern.py` has read, so brackets close and escapes are whole."""

    def __init__(self) -> None:
        self._n_classes = 0
        # The groups around the token: `(?i:`, `(?<=` and so on, and whether there is an assertion in each.
        self._groups: list[str] = []
        self._asserts: list[bool] = []
        self._closed_asserts = False
        self._before = ""

    def refuses(self, token: re.Match[str]) -> str:
        """What is refused in this token, in words; empty if nothing is."""
        if refused := self._escape(token):
            return refused
        if self._n_classes:
            return self._in_class(token)
        if token["class"]:
            self._n_classes = 1
            self._before = "["
            return self._class(token) or ("a class that ignores case" if self._ignores_case() else "")
        return self._outside(token)

    def _escape(self, token: re.Match[str]) -> str:
        if token["escape"] and token["escape"] in _REFUSED_ESCAPES:
            return f"the escape \\{token['escape']}"
        if token["property"] and re.sub("[ _-]", "", token["property"].lower()) not in _PROPERTIES:
            return "a property that is neither a general category nor a script by its full name"
        return "an escape that ignores case" if token[0][0] == "\\" and self._ignores_case() else ""

    def _class(self, token: re.Match[str]) -> str:
        return "a class that begins with ]" if token["class"].endswith("]") else ""

    def _in_class(self, token: re.Match[str]) -> str:
        if token["operator"]:
            return f"the set operator {token['operator']}"
        if token["range"]:
            return f"a range that ends in {token['range_end']}"
        if token["class"]:
            self._n_classes += 1
            return self._class(token)
        self._n_classes -= token["one"] == "]"
        return ""

    def _outside(self, token: re.Match[str]) -> str:
        if token["other_group"]:
            return f"the group {token['other_group']}..."
        if token["flag"] and token.start():
            return "the flags (?i) behind the start"
        if token["bound"] and token["after"] and (token["after"] == "+" or "," not in token["bound"]):
            return f"the quantifier {token['bound']}"
        repeats = token["bound"] or token["one"] in ("*", "+", "?")
        if repeats and self._before == ")" and self._closed_asserts:
            return "a quantifier on a group with an assertion in it"
        if (repeats or token["open"]) and self._groups and self._groups[-1] in ("(?<=", "(?<!"):
            return "a group or quantifier in a look-behind"
        if token["one"] in ("^", "$"):
            return f"the edge {token['one']}"
        refused = self._folded(token) if self._ignores_case() else ""
        self._before = token[0]
        if token[0] in _ASSERTIONS:
            self._asserts = [True] * len(self._asserts)
        if token["open"] or token["flag"]:
            self._groups.append(token[0])
            self._asserts.append(False)
        elif token["one"] == ")":
            self._groups.pop()
            self._closed_asserts = self._asserts.pop()
        return refused

    def _ignores_case(self) -> bool:
        return any(opening.startswith("(?i") for opening in self._groups)

    def _folded(self, token: re.Match[str]) -> str:
        """What is refused where case is ignored: all but single ASCII characters and alternatives of them."""
        if (self._before + token[0]).lower() in _FOLDED_TOGETHER:
            return "neighbours that ignore case and that one character can stand for"
        if token["one"] == ")" or (token["one"] and token[0].isascii() and token[0] not in ".*+?"):
            return ""
        return "something other than ASCII characters that ignores case"
