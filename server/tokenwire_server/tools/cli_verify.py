"""`tokenwire artifacts verify`: proves a whole deployment offline; fit for CI.

Exit codes: 0 everything holds, 1 something does not, 2 wrong usage (a name that the manifest has not, too).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenwire_server import lockfile
from tokenwire_server.cli_render import say
from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.tools import deployment, model_config, verifying
from tokenwire_server.tools.deployment import Deployment
from tokenwire_server.tools.verifying import Finding, Verdict

_MOST_SHOWN = 20


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `verify`; it sets `run`, a function from the parsed arguments to the exit code."""
    parser = commands.add_parser(
        "verify",
        help="prove all tokenizers anew, offline; fit for CI",
        description="Prove every tokenizer of a manifest anew: lock, files, digests, golden vectors, offsets. "
        "Writes nothing and touches no network.",
        epilog="exit codes: 0 everything holds, 1 something does not, 2 wrong usage",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these tokenizers")
    parser.add_argument("--config", metavar="FILE", help="the manifest (tokenwire.toml in this folder)")
    parser.add_argument(
        "--model-config",
        metavar="FILE",
        help="a model's config.json, or its folder: check that the tokenizer fits the model",
    )
    parser.add_argument(
        "--require-proof",
        action="store_true",
        help="fail where no reference library stands behind the ids",
    )
    parser.add_argument(
        "--with-reference",
        action="store_true",
        help="also encode the golden texts with the installed reference library",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    try:
        # In a folder without a manifest, the embedded tokenizers are only verified by name.
        found = deployment.read(options.config, allow_embedded=True, need_manifest=not options.names)
        lock = lockfile.read(found.lock_path)
    except ConfigError as error:
        return _report([Finding("BAD_CONFIG", str(error))], [], options.json)
    try:
        wanted = _wanted(found, options)
    except ConfigError as error:
        say(f"tokenwire artifacts verify: {error}", error=True)
        return 2
    stale = (
        [] if lock is None or options.names else verifying.stale_entries(lock.tokenizers, found.tokenizers)
    )
    return _report(stale, [_verify(config, found, options) for config in wanted], options.json)


def _wanted(found: Deployment, options: argparse.Namespace) -> Sequence[TokenizerConfig]:
    wanted = found.named(options.names)
    if options.model_config is not None and len(wanted) != 1:
        raise ConfigError(f"--model-config is about one tokenizer, here are {len(wanted)}; name the one")
    return wanted


def _verify(config: TokenizerConfig, found: Deployment, options: argparse.Namespace) -> dict[str, Any]:
    """What `--json` says of one tokenizer. The encoder is let go of: there may be many."""
    verdict = verifying.verify(
        config,
        found.limits.artifact_bytes,
        with_reference=options.with_reference,
        require_proof=options.require_proof,
    )
    if options.model_config is not None:
        _check_bundle(verdict, Path(options.model_config))
    return verdict.fields()


def _check_bundle(verdict: Verdict, path: Path) -> None:
    if verdict.encoder is None:
        verdict.notes.append("the model's configuration was not looked at: the tokenizer does not load")
        return
    bundle = model_config.check(verdict.encoder, path)
    verdict.findings += bundle.findings
    verdict.notes += bundle.notes


def _report(findings: list[Finding], tokenizers: list[dict[str, Any]], as_json: bool) -> int:
    ok = not findings and all(item["ok"] for item in tokenizers)
    faults = [{"reason": item.reason, "message": item.message} for item in findings]
    if as_json:
        print(json.dumps({"ok": ok, "findings": faults, "tokenizers": tokenizers}))
        return 0 if ok else 1
    for item in tokenizers:
        say(_line(item))
        _print_findings(item["findings"], "    ")
        for note in item["notes"]:
            say(f"    {note}")
    _print_findings(faults, "")
    return 0 if ok else 1


def _line(item: dict[str, Any]) -> str:
    state = "ok" if item["ok"] else "FAILED"
    proof = f"proven by {item['proven_by']}" if item["proof"] == verifying.PROVEN else item["proof"]
    if item["reference"]:
        proof += f", now by {item['reference']}"
    line = f"{item['name']:<24} {state:<6} {item['digest'] or '-':<64} {proof}".rstrip()
    return f"{line}, {item['n_vectors']} vectors" if item["n_vectors"] else line


def _print_findings(findings: Sequence[dict[str, str]], indent: str) -> None:
    for item in findings[:_MOST_SHOWN]:
        say(f"{indent}{item['reason']}: {item['message']}")
    if (more := len(findings) - _MOST_SHOWN) > 0:
        say(f"{indent}and {more} findings more; --json has them all")
