"""The commands on text: `tokenwire encode | decode | count | truncate | show [FILE...]`.

Input is read as bytes, each FILE (or stdin) is one input, and one that fails leaves the others alone. Exit codes:
0 all done, 1 an input or the service failed, 2 wrong usage (an unknown tokenizer too).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenwire_server.cli_backend import Backend, Connection, Local, RefusalError, Remote, TextOptions
from tokenwire_server.cli_ids import FORMS_HELP, parse_ids
from tokenwire_server.cli_render import Token, one_line, printable, render, well_formed

STDIN = "-"
_JSON_HELP = """with --json, one object a line for each input, with the keys
  input    the FILE, or - for stdin
  digest   sha256 identity of the tokenizer
  error    {reason, message, metadata} instead of the following, for an input that failed
"""
_NOT_FOR_TERMINALS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_PROGRESS_BYTES = 1 << 20
"""Inputs smaller than this are done before a progress line could be read."""

Work = Callable[[Backend, argparse.Namespace, bytes], "Answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one input gave: `fields` for --json, else `plain` to be written as it is."""

    fields: dict[str, Any]
    plain: bytes


def add_text_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands; each sets `run`, a function from the parsed arguments to the exit code."""
    encode = _add(commands, "encode", "text to token ids", _encode, "ids, and offsets with --offsets")
    encode.add_argument(
        "--offsets",
        choices=("byte", "codepoint", "utf16"),
        metavar="UNIT",
        help="also print where each token is, one token a line: id, start, end; UNIT is byte, codepoint or utf16",
    )
    _add_text_options(encode)

    keys = "text; with --bytes instead bytes, in hex"
    decode = _add(commands, "decode", "token ids to text", _decode, keys, input_help=FORMS_HELP)
    decode.add_argument("--skip-special", action="store_true", help="leave control tokens out")
    decode.add_argument(
        "--bytes", action="store_true", dest="as_bytes", help="the exact bytes, no U+FFFD; hex in --json"
    )

    count = _add(commands, "count", "number of tokens, as wc does", _count, "n_tokens, n_bytes, n_codepoints")
    _add_text_options(count)

    truncate = _add(
        commands,
        "truncate",
        "the part of a text that fits a budget",
        _truncate,
        "text, ids, n_tokens, n_tokens_before, truncated,\n"
        "           kept ([[byte_start, byte_end]] in the input; [] with --ids-only)",
    )
    truncate.add_argument("--max-tokens", type=_budget, required=True, metavar="N", help="the budget")
    truncate.add_argument("--keep", choices=("start", "end"), default="start", help="default start")
    truncate.add_argument("--cut", choices=("token", "grapheme"), default="grapheme", help="default grapheme")
    truncate.add_argument(
        "--ids-only", action="store_true", help="print the exact first or last N ids; goes with --cut token"
    )
    _add_text_options(truncate)

    show = _add(
        commands,
        "show",
        "the tokens of a text, coloured or in brackets",
        _show,
        "tokens, a list of {id, bytes (hex), text (plain, U+FFFD for parts of a character), control}",
    )
    show.add_argument("--ids", action="store_true", help="print each id before its token")
    _add_text_options(show)


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    work: Work,
    keys: str,
    input_help: str = "",
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"{input_help}{_JSON_HELP}  and      {keys}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="- or none is stdin")
    parser.add_argument(
        "-t", "--tokenizer", metavar="NAME", help="a tokenizer, an alias, or a model that uses it"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--address", help="ask a running service: HOST:PORT or unix:PATH")
    where.add_argument(
        "--config", metavar="FILE", help="tokenwire.toml with the tokenizers; default the embedded"
    )
    parser.add_argument("--ca", metavar="FILE", help="with --address: TLS, trusting the CA of this PEM file")
    parser.add_argument("--cert", metavar="FILE", help="with --key: the client's own certificate, PEM")
    parser.add_argument("--key", metavar="FILE", help="its private key, PEM")
    parser.add_argument("--token-file", metavar="FILE", help="with --address: send the bearer token in it")
    parser.add_argument(
        "--expect-digest", metavar="HEX", default="", help="fail unless the tokenizer has this digest"
    )
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.add_argument(
        "--progress", action="store_true", help="progress on stderr, also if that is no terminal"
    )
    parser.set_defaults(run=lambda arguments: _run(arguments, work))
    return parser


def _add_text_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--special",
        choices=("text", "allow", "reject"),
        default="text",
        help="a control token's spelling in the input is text (default), the control token, or an error",
    )
    parser.add_argument(
        "--add-special", action="store_true", help="add the tokens of the tokenizer's template"
    )
    parser.add_argument("--replace-invalid", action="store_true", help="take U+FFFD for ill-formed UTF-8")


def _budget(text: str) -> int:
    if not re.fullmatch("[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError("a budget is a whole number of tokens from 0 on, as 100")
    return int(text)


def _run(arguments: argparse.Namespace, work: Work) -> int:
    if vars(arguments).get("ids_only") and arguments.cut != "token":
        _complain(arguments, "--ids-only goes with --cut token only")
        return 2
    try:
        with _backend(arguments) as backend:
            if arguments.expect_digest not in ("", backend.digest):
                raise RefusalError(
                    "DIGEST_MISMATCH", f"the tokenizer has digest {backend.digest}, not the one expected", {}
                )
            return _run_inputs(arguments, work, backend)
    except RefusalError as refusal:
        _complain(arguments, refusal.message)
        return 2 if refusal.is_usage else 1


def _backend(arguments: argparse.Namespace) -> Backend:
    files = {name: vars(arguments)[name] for name in ("ca", "cert", "key", "token_file")}
    if arguments.address is not None:
        return Remote(arguments.tokenizer, Connection(arguments.address, **files))
    for name, value in files.items():
        if value is not None:
            raise RefusalError("INVALID_REQUEST", f"--{name.replace('_', '-')} goes with --address only", {})
    return Local(arguments.tokenizer, arguments.config)


def _run_inputs(arguments: argparse.Namespace, work: Work, backend: Backend) -> int:
    names = arguments.files or [STDIN]
    exit_code = 0
    n_tokens_total = 0
    for index, name in enumerate(names):
        progress = _Progress(arguments, f"input {index + 1} of {len(names)}")
        try:
            data = _read(name, progress)
            progress.show(f"{len(data) / 2**20:.1f} MiB read, working")
            answer = work(backend, arguments, data)
        except RefusalError as refusal:
            progress.clear()
            exit_code = 1
            if refusal.is_usage:
                raise
            advice = " (--replace-invalid)" if refusal.reason == "INVALID_UTF8" else ""
            _complain(arguments, f"{name}: {refusal.message}{advice}")
            if arguments.json:
                error = {"reason": refusal.reason, "message": refusal.message, "metadata": refusal.metadata}
                _write_json({"input": name, "digest": backend.digest, "error": error})
            continue
        progress.clear()
        if arguments.json:
            _write_json({"input": name, "digest": backend.digest, **answer.fields})
        else:
            _write_plain(arguments, name, answer.plain, is_one_of_many=len(names) > 1)
        n_tokens_total += answer.fields.get("n_tokens", 0)
    if arguments.command == "count" and len(names) > 1 and not arguments.json:
        _write(f"{n_tokens_total:8} total\n".encode())
    return exit_code


def _read(name: str, progress: _Progress) -> bytes:
    """All of an input. Raises `RefusalError` where it cannot be read."""
    try:
        if name == STDIN:
            return sys.stdin.buffer.read()
        path = Path(name)
        if path.stat().st_size >= _PROGRESS_BYTES:
            progress.show("reading")
        return path.read_bytes()
    except OSError as error:
        raise RefusalError("", f"cannot be read: {error.strerror}", {}) from None


def _encode(backend: Backend, arguments: argparse.Namespace, data: bytes) -> Answer:
    encoded = backend.encode(data, _options(arguments), arguments.offsets, token_bytes=False)
    if encoded.offsets is None:
        return Answer({"ids": encoded.ids}, (" ".join(map(str, encoded.ids)) + "\n").encode())
    spans = zip(encoded.ids, encoded.offsets, strict=True)
    lines = "".join(f"{token_id}\t{start}\t{end}\n" for token_id, (start, end) in spans)
    return Answer({"ids": encoded.ids, "offsets": encoded.offsets}, lines.encode())


def _count(backend: Backend, arguments: argparse.Namespace, data: bytes) -> Answer:
    count = backend.count(data, _options(arguments))
    fields = {"n_tokens": count.n_tokens, "n_bytes": count.n_bytes, "n_codepoints": count.n_codepoints}
    return Answer(fields, str(count.n_tokens).encode())


def _truncate(backend: Backend, arguments: argparse.Namespace, data: bytes) -> Answer:
    kept = backend.truncate(
        data,
        _options(arguments),
        arguments.max_tokens,
        arguments.keep,
        arguments.cut,
        ids_only=arguments.ids_only,
    )
    fields = {
        "text": kept.text,
        "ids": kept.ids,
        "n_tokens": kept.n_tokens,
        "n_tokens_before": kept.n_tokens_before,
        "kept": kept.kept,
        "truncated": kept.truncated,
    }
    plain = " ".join(map(str, kept.ids)) + "\n" if arguments.ids_only else kept.text
    return Answer(fields, plain.encode())


def _decode(backend: Backend, arguments: argparse.Namespace, data: bytes) -> Answer:
    parts = [
        backend.decode(ids, skip_special=arguments.skip_special, as_bytes=arguments.as_bytes)
        for ids in parse_ids(data, backend.digest)
    ]
    plain = b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    return Answer({"bytes": plain.hex()} if arguments.as_bytes else {"text": plain.decode()}, plain)


def _show(backend: Backend, arguments: argparse.Namespace, data: bytes) -> Answer:
    encoded = backend.encode(data, _options(arguments), None, token_bytes=True)
    tokens = [
        Token(token_id, piece, token_id in backend.control_ids)
        for token_id, piece in zip(encoded.ids, encoded.token_bytes or [], strict=True)
    ]
    if arguments.json:
        shown = [
            {
                "id": token.token_id,
                "bytes": token.data.hex(),
                "text": token.data.decode("utf-8", "replace"),
                "control": token.is_control,
            }
            for token in tokens
        ]
        return Answer({"tokens": shown}, b"")
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Answer({}, ("".join(render(tokens, colour=colour, with_ids=arguments.ids)) + "\n").encode())


def _options(arguments: argparse.Namespace) -> TextOptions:
    invalid = "replace" if arguments.replace_invalid else "error"
    return TextOptions(arguments.special, arguments.add_special, invalid)  # type: ignore[arg-type]  # one of two words


def _write_plain(arguments: argparse.Namespace, name: str, plain: bytes, *, is_one_of_many: bool) -> None:
    if arguments.command == "count":
        label = "" if name == STDIN and not is_one_of_many else f" {one_line(name)}"
        width = 8 if is_one_of_many else 0
        _write(f"{int(plain):{width}}{label}\n".encode())
        return
    if arguments.command == "show" and is_one_of_many:
        _write(f"==> {one_line(name)} <==\n".encode())
    if arguments.command in {"decode", "truncate"} and sys.stdout.isatty():
        # A pipe gets the exact bytes; a terminal would act on control characters.
        plain = (printable(plain.decode("utf-8", "replace")) + "\n").encode()
    _write(plain)


def _write_json(fields: dict[str, Any]) -> None:
    """JSON may carry characters a terminal acts on; they are escaped as JSON allows."""
    line = json.dumps({**fields, "input": well_formed(fields["input"])}, ensure_ascii=False)
    escaped = _NOT_FOR_TERMINALS.sub(lambda match: f"\\u{ord(match[0]):04x}", line)
    _write(escaped.encode() + b"\n")


def _write(data: bytes) -> None:
    """All of `data`: with PYTHONUNBUFFERED, stdout is a raw file, and one write to a pipe may be a part only."""
    rest = memoryview(data)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def _complain(arguments: argparse.Namespace, message: str) -> None:
    print(f"tokenwire {arguments.command}: {one_line(well_formed(message))}", file=sys.stderr)


class _Progress:
    """A line on stderr that is overwritten and at last removed; only for a terminal, or with --progress."""

    def __init__(self, arguments: argparse.Namespace, label: str) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._is_on = arguments.progress or self._is_terminal
        self._label = f"tokenwire {arguments.command}: {label}"

    def show(self, state: str) -> None:
        if self._is_on:
            print(
                f"{self._label}: {state}",
                end="\r" if self._is_terminal else "\n",
                file=sys.stderr,
                flush=True,
            )

    def clear(self) -> None:
        if self._is_terminal:
            print("\x1b[2K", end="", file=sys.stderr, flush=True)
