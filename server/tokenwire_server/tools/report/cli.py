"""`tokenwire report [FILE...]`: texts and tokenizers to a table, a JSON object and a page.

Exit codes: 0 all measured but what is no UTF-8, 1 something else left out or no text at all, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from pathlib import Path

from tokenwire_core import Encoder
from tokenwire_core.spec import PipelineSpec

from tokenwire_server import config, detector
from tokenwire_server.cli_backend import RefusalError, find, load_encoder
from tokenwire_server.cli_render import say, well_formed
from tokenwire_server.config import Config
from tokenwire_server.tools.cli_progress import with_progress
from tokenwire_server.tools.corpus import STDIN
from tokenwire_server.tools.report import as_json, page, terminal, texts
from tokenwire_server.tools.report.charts import MAX_SERIES
from tokenwire_server.tools.report.measuring import measure
from tokenwire_server.tools.report.numbers import Report, TokenizerNumbers

_EPILOG = """\
each FILE is a text file, also .xz or .gz, or a folder, of which all files but hidden ones are taken; - or none is
stdin. A file is one text, as documents are; --lines and --jsonl are for prompts and logs, as those of a gateway.

exit codes: 0 all is measured but what is not UTF-8, as pictures; 1 something else is left out, or there is no text;
2 wrong usage. Whatever is left out is counted and named with its reason."""

_NO_TROUBLE = frozenset({"INVALID_UTF8"})
"""What keeps a text out of the report without being anybody's failure."""


def add_report_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `report`; it sets `run`, a function from the parsed arguments to the exit code."""
    parser = commands.add_parser(
        "report",
        help="what texts cost in tokens, by tokenizer, language and script",
        description="Tokens by language and script, lengths, what is unknown or does not fit: for texts and tokenizers "
        "of your choice.\nNo text is printed.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument(
        "-t",
        "--tokenizer",
        action="append",
        metavar="NAME",
        help="a tokenizer, an alias, or a model that uses it; repeatable; default all of the configuration",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="tokenwire.toml with the tokenizers; default the embedded"
    )
    unit = parser.add_mutually_exclusive_group()
    unit.add_argument("--documents", action="store_true", help="each file is a text (default)")
    unit.add_argument("--lines", action="store_true", help="each line that is not empty is a text")
    unit.add_argument(
        "--jsonl",
        action="append",
        metavar="FIELD",
        help="each line is JSON, its string at FIELD a text; keys joined by dots, a list stands for all its members, "
        "as in messages.content",
    )
    parser.add_argument(
        "--limit",
        type=_limit,
        metavar="N",
        help="the context limit in tokens; default the model_max_length of each tokenizer_config.json",
    )
    parser.add_argument(
        "--add-special", action="store_true", help="add the tokens of the tokenizer's template to each text"
    )
    parser.add_argument("--replace-invalid", action="store_true", help="take U+FFFD for ill-formed UTF-8")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--html", metavar="FILE", help="also write a page with plots, for any browser")
    parser.set_defaults(run=_run)


def _limit(text: str) -> int:
    if not re.fullmatch("[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError("a limit is a whole number of tokens, as 8192")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    loaded = config.load({"config": options.config}, os.environ)
    try:
        encoders = _encoders(options.tokenizer, loaded)
    except RefusalError as refusal:
        _complain(refusal.message)
        return 2 if refusal.is_usage else 1
    if options.jsonl is not None and len(options.jsonl) > 1:
        _complain("--jsonl takes one field; a list on the way stands for all its members")
        return 2
    if options.html is not None and len(encoders) > MAX_SERIES:
        _complain(f"--html shows at most {MAX_SERIES} tokenizers, not {len(encoders)}; choose some with -t")
        return 2
    labels, state = detector.load(loaded.language_detector)
    report = Report(
        inputs=tuple(options.files or [STDIN]),
        unit="field" if options.jsonl is not None else "line" if options.lines else "file",
        add_special=options.add_special,
        language_detector=state,
        tokenizers=[_numbers(name, encoder, options.limit) for name, encoder in encoders.items()],
    )
    found = texts.read(
        report.inputs,
        report.unit,
        "" if options.jsonl is None else options.jsonl[0],
        max_bytes=loaded.limits.text_bytes,
        replace_invalid=options.replace_invalid,
    )
    measure(with_progress(found), list(encoders.values()), report, labels)
    is_trouble = any(gap.reason not in _NO_TROUBLE for gap in report.gaps.values())
    if options.html is not None:
        try:
            Path(options.html).write_text(page.html(report), "utf-8")
        except OSError as error:
            _complain(f"{options.html} cannot be written: {error.strerror}")
            is_trouble = True
    if options.json:
        print(json.dumps(as_json.fields(report)))
    else:
        for line in terminal.lines(report):
            print(line)
    if not report.texts.n_texts:
        _complain("no text was measured")
        is_trouble = True
    return int(is_trouble)


def _encoders(names: list[str] | None, loaded: Config) -> dict[str, Encoder]:
    """Those asked for by their configured names, each once. Raises `RefusalError`."""
    chosen = loaded.tokenizers if names is None else [find(name, loaded) for name in names]
    by_name = {each.name: each for each in chosen}
    return {name: load_encoder(each, loaded) for name, each in by_name.items()}


def _numbers(name: str, encoder: Encoder, limit: int | None) -> TokenizerNumbers:
    spec = encoder.spec
    stated = spec.pipeline.config if isinstance(spec, PipelineSpec) else None
    if limit is not None:
        return TokenizerNumbers(name, encoder.digest, limit, "option")
    if stated is not None and stated.model_max_length is not None:
        return TokenizerNumbers(name, encoder.digest, stated.model_max_length, "tokenizer_config")
    return TokenizerNumbers(name, encoder.digest, None, None)


def _complain(message: str) -> None:
    sys.stdout.flush()
    say(f"tokenwire report: {well_formed(message)}", error=True)
