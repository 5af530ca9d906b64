"""`tokenwire artifacts diff A B [FILE...]`: which texts two tokenizers encode differently.

Exit codes are those of diff(1): 0 nothing differs, 1 something does, 2 trouble (wrong usage, a tokenizer or a file
that cannot be had, a text that a side refused).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tokenwire_server import detector
from tokenwire_server.cli_render import one_line, visible, well_formed
from tokenwire_server.errors import ConfigError, shorten
from tokenwire_server.tools import corpus, deployment, diff_sides, diffing, golden_texts
from tokenwire_server.tools.cli_progress import place, with_progress
from tokenwire_server.tools.corpus import CorpusError, Text
from tokenwire_server.tools.diff_sides import Description, Opened, SideError
from tokenwire_server.tools.diffing import Different, NotCompared, Report, Sums

SAME, DIFFERENT, TROUBLE = 0, 1, 2

_NO_TROUBLE = frozenset({"INVALID_UTF8"})
"""What keeps a text from being compared without being anybody's failure."""
_SHOWN_BYTES, _SHOWN_BEFORE_BYTES = 160, 40
_EPILOG = """A and B are each
  NAME                        a tokenizer of the manifest, or an embedded one
  FOLDER/tokenwire.toml#NAME  one of another deployment
  PATH                        an artifact
  reference:...               any of these, encoded by the reference library of its format

exit codes: 0 nothing differs, 1 something does, 2 trouble"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `diff`; it sets `run`, a function from the parsed arguments to the exit code."""
    parser = commands.add_parser(
        "diff",
        help="which texts two tokenizers encode differently",
        description="Encode the texts of a corpus with two tokenizers and tell which differ, by how much, and in "
        "which languages. Without a corpus the texts of the golden vectors are taken.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("a", metavar="A")
    parser.add_argument("b", metavar="B")
    parser.add_argument(
        "corpus",
        nargs="*",
        metavar="FILE",
        help="a text file, also .xz or .gz; a folder of *.txt, *.txt.xz, *.txt.gz; - is stdin",
    )
    parser.add_argument("--config", metavar="FILE", help="the manifest (tokenwire.toml in this folder)")
    unit = parser.add_mutually_exclusive_group()
    unit.add_argument("--lines", action="store_true", help="each line is a text (default)")
    unit.add_argument("--documents", action="store_true", help="each file is a text")
    parser.add_argument(
        "--special",
        choices=("text", "allow"),
        default="text",
        help="a control token's spelling in a text is text (default) or the control token",
    )
    parser.add_argument(
        "--show",
        type=_number,
        metavar="N",
        default=20,
        help="list at most N texts (20); --json lists all",
    )
    parser.add_argument("--show-text", action="store_true", help="print the texts too")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.set_defaults(trouble=TROUBLE, run=_run)


def _number(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text):
        raise argparse.ArgumentTypeError("a number from 0 on")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    try:
        found = deployment.read(options.config, allow_embedded=True)
        a, b = (diff_sides.open_side(name, found, options.special) for name in (options.a, options.b))
        printer = _Json(options.show_text) if options.json else _Human(options.show, options.show_text)
        between = diff_sides.differences(a.description, b.description)
        printer.tokenizers(a.description, b.description, between)
        report = Report()
        is_trouble = False
        texts = with_progress(_texts(options, a, b, found.limits.text_bytes))
        tells = detector.load(found.language_detector)[0]
        for item in diffing.compare(a.side, b.side, texts, report, tells):
            is_trouble |= isinstance(item, NotCompared) and item.reason not in _NO_TROUBLE
            printer.item(item)
        printer.end(report)
        sys.stdout.flush()
    except (ConfigError, CorpusError) as error:
        return _complain(str(error))
    except SideError as error:
        return _complain(f"{error.reason}: {error}")
    if not report.total.n_texts:
        return _complain("no text was compared")
    if is_trouble:
        return _complain("some texts could not be compared; they are listed with their reasons")
    return DIFFERENT if report.total.n_different else SAME


def _complain(message: str) -> int:
    sys.stdout.flush()
    print(f"tokenwire artifacts diff: {one_line(well_formed(message))}", file=sys.stderr)
    return TROUBLE


def _texts(options: argparse.Namespace, a: Opened, b: Opened, max_bytes: int) -> Iterable[Text]:
    if options.corpus:
        return corpus.read(options.corpus, by_line=not options.documents, max_bytes=max_bytes)
    texts = dict.fromkeys((*golden_texts.TEXTS, *a.golden_texts, *b.golden_texts))
    return (Text("(golden)", number, text.encode()) for number, text in enumerate(texts, 1))


class _Json:
    """One object a line: the tokenizers, each text that differs or was not compared, and the sums."""

    def __init__(self, with_text: bool) -> None:
        self._with_text = with_text

    def tokenizers(self, a: Description, b: Description, between: dict[str, Any]) -> None:
        self._print({"kind": "tokenizers", "a": a.fields(), "b": b.fields(), "differences": between})

    def item(self, item: Different | NotCompared) -> None:
        place = {"file": well_formed(item.file), "line": item.line}
        if isinstance(item, NotCompared):
            self._print({"kind": "not_compared", **place, "reason": item.reason, "message": item.message})
            return
        fields = {
            "kind": "different",
            **place,
            "language": item.language,
            "n_tokens_a": item.n_tokens_a,
            "n_tokens_b": item.n_tokens_b,
            "byte_start": item.byte_start,
        }
        self._print({**fields, "text": item.text} if self._with_text else fields)

    def end(self, report: Report) -> None:
        rows = {
            "by_language": {label: self._sums(sums) for label, sums in sorted(report.by_language.items())},
            "by_file": {well_formed(file): self._sums(sums) for file, sums in report.by_file.items()},
        }
        self._print({"kind": "total", **self._sums(report.total), **rows})

    def _sums(self, sums: Sums) -> dict[str, Any]:
        fields = {name: getattr(sums, name) for name in Sums.__slots__}
        return {**fields, "ratio": round(sums.ratio, 6)}

    def _print(self, fields: dict[str, Any]) -> None:
        print(json.dumps(fields))


class _Human:
    """What a person reads: the tokenizers at once; the sums, tables and first texts at the end."""

    def __init__(self, most: int, with_text: bool) -> None:
        self._most = most
        self._with_text = with_text
        self._different: list[Different] = []
        self._not_compared: list[NotCompared] = []

    def tokenizers(self, a: Description, b: Description, between: dict[str, Any]) -> None:
        for mark, side in (("A", a), ("B", b)):
            name = one_line(well_formed(side.name))
            identity = f"digest {side.digest}" if side.digest else f"sha256 {side.sha256}"
            print(f"{mark}  {name}: {side.vocab_size} ids, {side.format} by {side.engine}, {identity}")
        print("\n".join(list(_sentences(between)) or ["the tokenizers are the same"]), end="\n\n")

    def item(self, item: Different | NotCompared) -> None:
        if isinstance(item, NotCompared):
            if len(self._not_compared) < self._most:
                self._not_compared.append(item)
        elif len(self._different) < self._most:
            # A text may be a whole document; what is kept of it is what will be shown.
            self._different.append(replace(item, text=_excerpt(item) if self._with_text else ""))

    def end(self, report: Report) -> None:
        total = report.total
        print(
            f"{total.n_texts} texts: {total.n_different} encode differently, {total.n_other_count} of them also count "
            f"differently; {total.n_tokens_a} tokens in A, {total.n_tokens_b} in B, ratio {total.ratio:.4f}"
        )
        if total.n_texts:
            print()
            _print_table("language", sorted(report.by_language.items()))
        if len(report.by_file) > 1:
            print()
            _print_table("file", report.by_file.items())
        if self._different:
            print()
        for item in self._different:
            print(
                f"{place(item)}: {item.n_tokens_a} tokens in A, {item.n_tokens_b} in B, "
                f"different from byte {item.byte_start} on"
            )
            if self._with_text:
                print(f"    {item.text}")
        _print_more(total.n_different - len(self._different), "texts that differ")
        if total.n_not_compared:
            print(f"\n{total.n_not_compared} texts were not compared")
        for left in self._not_compared:
            print(f"{place(left)}: {left.reason}: {one_line(left.message)}")
        _print_more(total.n_not_compared - len(self._not_compared), "texts that were not compared")


def _excerpt(item: Different) -> str:
    """The text around where the tokens part, with blanks visible, on one line."""
    utf8 = item.text.encode()
    begin = max(0, item.byte_start - _SHOWN_BEFORE_BYTES)
    part = utf8[begin : begin + _SHOWN_BYTES].decode("utf-8", "ignore")
    cut = "…" if begin + _SHOWN_BYTES < len(utf8) else ""
    return ("…" if begin else "") + visible(part).replace("\n", "") + cut


def _print_more(n_more: int, what: str) -> None:
    if n_more:
        print(f"and {n_more} more {what}; --show N lists more, --json all")


def _sentences(between: dict[str, Any]) -> Iterator[str]:
    """What differs between the tokenizers, a line each."""
    for key, name in (("format", "format"), ("vocab_size", "number of ids")):
        if key in between:
            left, right = between[key]
            yield f"the {name} differs: {left} in A, {right} in B"
    if "parts" in between:
        yield f"settings that differ: {', '.join(map(one_line, between['parts']))}"
    for key, name in (("special_tokens", "special tokens"), ("entries", "ordinary tokens")):
        counts = between.get(key, {})
        if counts is None:
            yield "the ordinary tokens of two formats are not compared with each other"
        elif counts:
            spellings = ", ".join(one_line(shorten(each, 60)) for each in counts.get("spellings", ()))
            yield (
                f"{name}: {counts['only_a']} only in A, {counts['only_b']} only in B, {counts['other_id']} with "
                f"another id" + (f": {spellings}" if spellings else "")
            )
    if between and between.keys() <= {"sha256", "digest"}:
        yield "the files differ in what is not looked at here"


def _print_table(name: str, rows: Iterable[tuple[str, Sums]]) -> None:
    cells: list[Sequence[str]] = [(name, "texts", "different", "tokens A", "tokens B", "ratio")]
    cells += [
        (
            one_line(well_formed(label)),
            *map(str, (row.n_texts, row.n_different, row.n_tokens_a, row.n_tokens_b)),
            f"{row.ratio:.4f}",
        )
        for label, row in rows
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for first, *others in cells:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        print(f"{first:<{widths[0]}}  {numbers}")
