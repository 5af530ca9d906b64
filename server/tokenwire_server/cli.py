"""The `tokenwire` command. `serve` is here; the commands on text are in `cli_text.py`, imported for them."""

from __future__ import annotations

import argparse
import difflib
import errno
import io
import os
import re
import signal
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code: 0 done, 1 refused or failed, 2 wrong usage.

    As the process's own command, with `argv` None, an interrupt ends it with 130 and no traceback, also while it
    still imports; `serve` takes the signal over once it has something to finish.
    """
    if argv is None:
        signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # Names of files may have what a terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    from tokenwire_server.errors import ConfigError

    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="tokenwire", description="Exact, pinned, metered tokenization.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_serve(commands)
    if arguments[:1] != ["serve"]:
        from tokenwire_server.cli_text import add_text_commands
        from tokenwire_server.tools.cli_artifacts import add_artifacts_commands
        from tokenwire_server.tools.report.cli import add_report_command

        add_text_commands(commands)
        add_report_command(commands)
        add_artifacts_commands(commands)
    options, extra = parser.parse_known_args(arguments)
    if extra:
        command = commands.choices[options.command]
        command.error(_unknown_argument(extra[0], re.findall(r"--[a-z][a-z-]*", command.format_help())))
    try:
        code = int(options.run(options))
        sys.stdout.flush()
    except ConfigError as error:
        print(f"tokenwire: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            if error.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF):
                raise
            print(f"tokenwire: the output cannot be written: {error.strerror}", file=sys.stderr)
        # The reader has what it wanted (`| head`). Python would complain again when it flushes stdout at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(vars(options).get("trouble", 1))
    return code


def _unknown_argument(argument: str, flags: Sequence[str]) -> str:
    from tokenwire_server.errors import shorten

    flag = argument.partition("=")[0]
    if not flag.startswith("-"):
        return "unknown argument; each is given to a flag, and --help lists them"
    near = difflib.get_close_matches(flag, flags, n=1)
    return f"unknown flag {shorten(flag, 80)}; " + (
        f"did you mean {near[0]}?" if near else "--help lists them"
    )


class _Version(argparse.Action):
    """Prints the installed version and ends; looked up only then, because that takes longer than to parse."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print("tokenwire", version("tokenwire-server"))
        except PackageNotFoundError:
            print("tokenwire, from a source tree that is not installed")
        parser.exit()


def _add_serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "serve",
        help="serve tokenizers over gRPC",
        description="Serve in foreground. One JSON line on stdout says where, once ready; SIGTERM drains."
        " Settings come from defaults, the file, TOKENWIRE_SERVE_* variables and flags; a later one wins.",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="tokenwire.toml with settings and [[tokenizer]] tables"
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="gRPC over TCP (127.0.0.1:50051); empty for none"
    )
    parser.add_argument("--unix", metavar="DIR", help="gRPC on DIR/tokenwire.sock")
    parser.add_argument(
        "--http", metavar="HOST:PORT", help="metrics and health pages (127.0.0.1:9464); empty for none"
    )
    parser.add_argument("--tls-cert", metavar="PEM", dest="tls.cert", help="certificate chain of the server")
    parser.add_argument("--tls-key", metavar="PEM", dest="tls.key", help="its private key")
    parser.add_argument(
        "--tls-client-ca",
        metavar="PEM",
        dest="tls.client_ca",
        help="ask clients for a certificate of this CA",
    )
    parser.add_argument(
        "--allow-plaintext", action="store_const", const=True, help="allow plain text beyond this machine"
    )
    parser.add_argument("--embedded", metavar="NAMES", help="embedded tokenizers to serve, comma-separated")
    parser.add_argument("--tenants", metavar="NAMES", help="tenants to count by name, comma-separated")
    parser.add_argument(
        "--language-detector",
        metavar="auto|on|off",
        help="tell languages of one script apart for the metrics: if installed (auto), always, never",
    )
    parser.add_argument(
        "--limit", metavar="NAME=VALUE", action="append", default=[], help="set a limit; repeatable"
    )
    parser.add_argument(
        "--check", action="store_true", help="prove the configuration and all tokenizers offline, and exit"
    )
    parser.set_defaults(run=_serve)


def _serve(options: argparse.Namespace) -> int:
    from tokenwire_server import app, config
    from tokenwire_server.errors import ConfigError

    given: dict[str, object] = {
        name: vars(options)[name]
        for name in (
            "config",
            "listen",
            "unix",
            "http",
            "allow_plaintext",
            "embedded",
            "tenants",
            "language_detector",
            "tls.cert",
            "tls.key",
            "tls.client_ca",
        )
    }
    for setting in options.limit:
        name, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"--limit takes NAME=VALUE, as text_bytes=1MiB, not {setting!r}")
        given[f"limits.{name}"] = value
    loaded = config.load(given, os.environ)
    return app.check(loaded) if options.check else app.supervise(loaded)


if __name__ == "__main__":
    sys.exit(main())
