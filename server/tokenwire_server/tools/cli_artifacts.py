"""The commands on artifacts: `tokenwire artifacts list | add | prove | pull | verify | diff`.

`list` and `pull` are here. What they say of each tokenizer goes to stdout, one line or with --json one object;
progress goes to stderr. Exit codes: 0 all well, 1 something is not, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tokenwire_core.describe import describe

from tokenwire_server import artifacts
from tokenwire_server.artifacts import ProofError
from tokenwire_server.cli_render import say
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.tools import cli_add, cli_diff, cli_verify, deployment
from tokenwire_server.tools.cli_progress import Progress

if TYPE_CHECKING:
    from tokenwire_server.pull.run import Outcome

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_artifacts_commands(commands: Subparsers) -> None:
    """Add the group; each command sets `run`, a function from the parsed arguments to the exit code."""
    group = commands.add_parser(
        "artifacts",
        help="pull, pin, prove and compare tokenizers",
        description="Tokenizers of a manifest: where they are from, and that they are what they were.",
    )
    artifacts = group.add_subparsers(dest="artifacts_command", required=True, metavar="COMMAND")
    listing = _add(artifacts, "list", "what the manifest names, what is on disk and what it is proven by")
    listing.add_argument("--long", action="store_true", help="also sources, pins, tokens and the pipeline")
    listing.set_defaults(run=_list)
    cli_add.add_commands(artifacts)
    pull = _add(artifacts, "pull", "fetch what is missing, checked against its pin, and write the lock")
    pull.add_argument("names", nargs="*", metavar="NAME", help="only these tokenizers")
    pull.add_argument("--frozen", action="store_true", help="fail where the lock would change")
    pull.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="the most one file may take (1800)", dest="timeout_s"
    )
    pull.add_argument(
        "--allow-private-redirects",
        action="store_true",
        help="follow redirects into private networks, as a mirror of your own may need",
    )
    pull.set_defaults(run=_pull)
    cli_verify.add_command(artifacts)
    cli_diff.add_command(artifacts)


def _add(commands: Subparsers, name: str, summary: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    parser.add_argument("--config", metavar="FILE", help="the manifest (tokenwire.toml in this folder)")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    return parser


def _list(options: argparse.Namespace) -> int:
    found = deployment.read(options.config, allow_embedded=True)
    for config in found.tokenizers:
        entry = _entry(config, found.limits.artifact_bytes, options.long)
        if options.json:
            _print_json(entry)
            continue
        say(_line(entry))
        if options.long:
            for key, value in entry.items():
                if key not in ("name", "state", "digest") and value not in ("", [], (), {}, None):
                    say(f"    {key}: {_shown(value)}")
    return 0


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return "; ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _entry(config: TokenizerConfig, max_bytes: int, is_long: bool) -> dict[str, Any]:
    """What there is to say of a tokenizer without compiling it; in the long form its artifact is read."""
    entry: dict[str, Any] = {
        "name": config.name,
        "state": deployment.state(config, max_bytes),
        "digest": config.known_digest,
        "format": config.format,
        "proven_by": config.proof,
        "aliases": list(config.aliases),
    }
    if is_long:
        entry |= {
            "source": config.source,
            "file": config.file,
            "sha256": config.sha256,
            "size_bytes": config.size_bytes,
            "models": list(config.models),
            "model_prefixes": list(config.model_prefixes),
            "pattern": config.pattern or "",
            "special_tokens": dict(config.special_tokens or {}),
            "control_tokens": list(config.control_tokens or ()),
            "tokenizer_config": config.tokenizer_config or "",
        }
        entry |= _pipeline(config, max_bytes)
    return entry


def _pipeline(config: TokenizerConfig, max_bytes: int) -> dict[str, Any]:
    """The stages, in the field's words, as GetTokenizer has them; of an artifact that cannot be read why not."""
    try:
        spec = artifacts.read_spec(config, artifacts.read_pinned(config, max_bytes))
    except ProofError as error:
        return {"unreadable": f"{error.reason}: {error}"}
    return asdict(describe(spec))


def _line(entry: dict[str, Any]) -> str:
    proof = f"proven by {entry['proven_by']}" if entry["proven_by"] else "unproven"
    return f"{entry['name']:<24} {entry['state']:<9} {entry['digest'] or '-':<64} {proof}"


def _pull(options: argparse.Namespace) -> int:
    from tokenwire_server.pull.errors import PullError
    from tokenwire_server.pull.remote import Bounds
    from tokenwire_server.pull.run import LockWouldChangeError, pull
    from tokenwire_server.pull.store import Store

    before = deployment.read(options.config)
    max_bytes = before.limits.artifact_bytes
    bounds = Bounds(artifact_bytes=max_bytes)
    if options.timeout_s is not None:
        bounds = Bounds(artifact_bytes=max_bytes, timeout_s=options.timeout_s)
    progress = Progress()
    try:
        with Store(
            before.folder,
            bounds,
            allow_private_redirects=options.allow_private_redirects,
            report=progress.show,
        ) as store:
            # Read anew: an `add` may have ended just before this pull had the folder to itself.
            found = deployment.read(options.config)
            wanted = found.named(options.names)
            outcomes = pull(found.tokenizers, wanted, found.lock_path, store, max_bytes, options.frozen)
    except PullError as error:
        progress.clear()
        say(f"tokenwire: {error.reason}: {error}", error=True)
        return 1
    except LockWouldChangeError as error:
        progress.clear()
        say(f"tokenwire: {before.lock_path.name}: {error}; pull without --frozen", error=True)
        return 1
    progress.clear()
    for outcome in outcomes:
        _tell(outcome, options.json)
    return 0 if all(outcome.state != "failed" for outcome in outcomes) else 1


def _tell(outcome: Outcome, as_json: bool) -> None:
    locked = outcome.locked
    if as_json:
        entry = {"name": outcome.name, "state": outcome.state}
        entry |= {"reason": outcome.reason, "message": outcome.message} if outcome.reason else {}
        entry |= {"note": outcome.note} if outcome.note else {}
        entry |= {"digest": locked.digest, "file": locked.file.path} if locked is not None else {}
        _print_json(entry)
    elif locked is None:
        say(f"{outcome.name:<24} failed    {outcome.reason}: {outcome.message}")
    else:
        say(f"{outcome.name:<24} {outcome.state:<9} {locked.digest}")
        if outcome.note:
            say(f"    {outcome.note}")


def _print_json(entry: dict[str, Any]) -> None:
    print(json.dumps(entry, ensure_ascii=True))
