"""Verify: a whole deployment proven offline, and each fault found by its name."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import tokenwire_core
from tokenwire_server import golden, lockfile
from tokenwire_server.artifacts import ProofError
from tokenwire_server.golden import Golden, Vector
from tokenwire_server.lockfile import Lock, LockedFile, LockedTokenizer
from tokenwire_server.tools import cli_verify, model_config, reference_library, verifying

from tests.server import made_up
from tests.service import environment

TEXTS = ("", "the abc\n", "日本語 thethe", "a <|end|> b", "\x00 ab\t\r\n" * 40)
NO_EMBEDDED = "embedded = []"
Verify = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    """Runs the command with --json: gives its exit code and the object."""

    def verify(*arguments: str | Path) -> tuple[int, dict[str, Any]]:
        code = run(*arguments, "--json")
        return code, json.loads(capsys.readouterr().out)

    return verify


def run(*arguments: str | Path) -> int:
    parser = ArgumentParser()
    cli_verify.add_command(parser.add_subparsers())
    options = parser.parse_args(["verify", *map(str, arguments)])
    return int(options.run(options))


def encoder() -> tokenwire_core.Encoder:
    return tokenwire_core.load(
        made_up.rank_file(), pattern=made_up.GPT2_PATTERN, special_tokens=made_up.SPECIAL_TOKENS
    )


def vectors() -> tuple[Vector, ...]:
    return tuple(
        Vector(text, tuple(encoder().encode(text, special="allow" if special else "text").ids), special)
        for text in TEXTS
        for special in (False, True)
    )


def deploy(folder: Path, *extra: str, made_by: str = "tiktoken 0.14.0", name: str = "tiny") -> Path:
    """A manifest with the small tokenizer, its lock and its golden vectors, all in order."""
    manifest = made_up.manifest(folder, NO_EMBEDDED, made_up.table(folder, name, extra="\n".join(extra)))
    (folder / "golden").mkdir(exist_ok=True)
    lock_golden(folder, golden.to_json(Golden(made_by, vectors())), made_by, name)
    return manifest


def lock_golden(folder: Path, data: bytes, made_by: str, name: str = "tiny", **changes: Any) -> None:
    """Write golden vectors and a lock that pins them; `changes` make the lock's entry wrong in one way."""
    (folder / "golden" / f"{name}.json").write_bytes(data)
    file = folder / f"{name}.tiktoken"
    locked_file: dict[str, Any] = {
        "path": file.name,
        "source": "",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "size_bytes": file.stat().st_size,
        "pulled_at": datetime(2026, 1, 2, tzinfo=UTC),
    }
    entry: dict[str, Any] = {
        "name": name,
        "format": "tiktoken",
        "digest": encoder().digest,
        "golden": f"golden/{name}.json",
        "golden_sha256": hashlib.sha256(data).hexdigest(),
        "proven_by": made_by,
    }
    locked_file |= {key: value for key, value in changes.items() if key in locked_file}
    entry |= {key: value for key, value in changes.items() if key in entry}
    locked = LockedTokenizer(file=LockedFile(**locked_file), **entry)
    (folder / "tokenwire.lock").write_text(lockfile.text(Lock({locked.name: locked})))


def good_golden(folder: Path) -> bytes:
    return (folder / "golden" / "tiny.json").read_bytes()


def reasons(answer: dict[str, Any]) -> list[str]:
    """The reasons of the one tokenizer and of the deployment."""
    found = [item for tokenizer in answer["tokenizers"] for item in tokenizer["findings"]]
    return [item["reason"] for item in [*found, *answer["findings"]]]


def test_a_deployment_in_order_is_proven(tmp_path: Path, verify: Verify) -> None:
    """Lock, file, digest and golden vectors in order: exit 0, and what it is proven by."""
    code, answer = verify("--config", deploy(tmp_path))
    (tokenizer,) = answer["tokenizers"]
    assert (code, answer["ok"], tokenizer["findings"]) == (0, True, [])
    assert tokenizer["proof"] == "proven"
    assert tokenizer["proven_by"] == "tiktoken 0.14.0"
    assert tokenizer["n_vectors"] == 2 * len(TEXTS)
    assert tokenizer["digest"] == encoder().digest


def test_the_embedded_tokenizers_are_verified_by_name(
    tmp_path: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a manifest there is no deployment, which a job in the wrong folder must notice."""
    monkeypatch.chdir(tmp_path)
    code, answer = verify("--require-proof", "o200k_base", "cl100k_base")
    assert code == 0
    assert [item["name"] for item in answer["tokenizers"]] == ["o200k_base", "cl100k_base"]
    code, answer = verify()
    assert code == 1
    assert [item["reason"] for item in answer["findings"]] == ["BAD_CONFIG"]


def test_unproven_holds_unless_proof_is_required(tmp_path: Path, verify: Verify) -> None:
    """Vectors of the slow twin, or none: unproven, which only --require-proof takes for a fault."""
    manifest = deploy(tmp_path, made_by="")
    for change in ({}, {"golden": "", "golden_sha256": "", "proven_by": ""}):
        lock_golden(tmp_path, good_golden(tmp_path), "", **change)
        code, answer = verify("--config", manifest)
        assert (code, answer["tokenizers"][0]["proof"]) == (0, "unproven")
        code, answer = verify("--config", manifest, "--require-proof")
        assert (code, reasons(answer)) == (1, ["UNPROVEN"])


def test_accepted_ids_are_named_so(tmp_path: Path, verify: Verify) -> None:
    """Changed ids that the manifest accepts hold as `accepted`; that is no proof."""
    changed = Golden("tiktoken 0.14.0", (Vector("the", (1,)), *vectors()))
    accepted = golden.changed(changed, encoder())[1]
    manifest = deploy(tmp_path, f'accept_ids = "{accepted}"')
    lock_golden(tmp_path, golden.to_json(changed), "tiktoken 0.14.0")
    code, answer = verify("--config", manifest)
    assert (code, answer["tokenizers"][0]["proof"]) == (0, "accepted")
    code, answer = verify("--config", manifest, "--require-proof")
    assert (code, reasons(answer)) == (1, ["UNPROVEN"])


WRONG_GOLDEN = golden.to_json(Golden("tiktoken 0.14.0", (Vector("the", (1,)),)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"size_bytes": 7}, "SIZE_MISMATCH"),
        ({"sha256": "0" * 64}, "LOCK_MISMATCH"),
        ({"source": "file:elsewhere"}, "LOCK_MISMATCH"),
        ({"format": "hf_json"}, "LOCK_MISMATCH"),
        ({"digest": "0" * 64}, "DIGEST_MISMATCH"),
        ({"digest": ""}, "NOT_LOCKED"),
        ({"golden": "golden/other.json"}, "FILE_UNREADABLE"),
        ({"golden": "../golden/tiny.json"}, "FILE_OUTSIDE_FOLDER"),
        ({"golden_sha256": "0" * 64}, "SHA256_MISMATCH"),
        ({"proven_by": "tiktoken 9.9.9"}, "PROOF_MISMATCH"),
        ({"data": WRONG_GOLDEN}, "GOLDEN_MISMATCH"),
        ({"data": b"{}"}, "BAD_GOLDEN"),
    ],
)
def test_a_fault_of_the_lock_or_the_vectors_is_named(
    tmp_path: Path, verify: Verify, changes: dict[str, Any], reason: str
) -> None:
    """Each thing that can be wrong beside the artifact ends in exit 1 and its own reason, and only that."""
    manifest = deploy(tmp_path)
    data = changes.pop("data", good_golden(tmp_path))
    if changes.get("golden", "").startswith(".."):
        (tmp_path.parent / "golden").mkdir(exist_ok=True)
        (tmp_path.parent / "golden" / "tiny.json").write_bytes(data)
    lock_golden(tmp_path, data, "tiktoken 0.14.0", **changes)
    code, answer = verify("--config", manifest)
    assert (code, answer["ok"]) == (1, False)
    assert reasons(answer) == [reason]
    assert answer["tokenizers"][0]["findings"][0]["message"]


def test_every_fault_is_found_in_one_run(tmp_path: Path, verify: Verify) -> None:
    """Faults do not hide each other, nor does a tokenizer that fails hide the next."""
    manifest = deploy(tmp_path)
    lock_golden(tmp_path, WRONG_GOLDEN, "tiktoken 0.14.0", digest="0" * 64, size_bytes=1)
    manifest.write_text(manifest.read_text() + made_up.table(tmp_path, "other"))
    code, answer = verify("--config", manifest)
    assert code == 1
    assert reasons(answer) == [
        "SIZE_MISMATCH",
        "DIGEST_MISMATCH",
        "GOLDEN_MISMATCH",
        "NOT_LOCKED",
    ]
    assert verify("--config", manifest, "tiny")[1]["tokenizers"][0]["name"] == "tiny"


def test_without_a_lock_nothing_is_proven(tmp_path: Path, verify: Verify) -> None:
    """A manifest without a lock is not what CI may pass."""
    manifest = deploy(tmp_path)
    (tmp_path / "tokenwire.lock").unlink()
    code, answer = verify("--config", manifest)
    assert code == 1
    assert reasons(answer) == ["NOT_LOCKED"]


def test_a_tokenizer_that_left_the_manifest_is_found(tmp_path: Path, verify: Verify) -> None:
    """A lock entry without its table is stale, and is told so, unless other tokenizers are asked for."""
    deploy(tmp_path, name="gone")
    locked = lockfile.read(tmp_path / "tokenwire.lock")
    assert locked is not None
    manifest = deploy(tmp_path)
    both = {**locked.tokenizers, **(lockfile.read(tmp_path / "tokenwire.lock") or lockfile.EMPTY).tokenizers}
    (tmp_path / "tokenwire.lock").write_text(lockfile.text(Lock(both)))
    code, answer = verify("--config", manifest)
    assert (code, reasons(answer)) == (1, ["STALE_LOCK"])
    assert "gone" in answer["findings"][0]["message"]
    assert verify("--config", manifest, "tiny")[0] == 0


@pytest.mark.parametrize("broken", ["tokenwire.toml", "tokenwire.lock"])
def test_a_manifest_or_lock_that_cannot_be_read_is_a_finding(
    tmp_path: Path, verify: Verify, broken: str
) -> None:
    """Also then --json prints one object, and the exit code is 1."""
    manifest = deploy(tmp_path)
    (tmp_path / broken).write_text("lock_version = ")
    code, answer = verify("--config", manifest)
    assert (code, reasons(answer), answer["tokenizers"]) == (1, ["BAD_CONFIG"], [])


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.unlink(), "FILE_UNREADABLE"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "SHA256_MISMATCH"),
        (lambda path: path.write_bytes(path.read_bytes() + b"\n"), "SHA256_MISMATCH"),
        (as_pipe, "FILE_UNREADABLE"),
    ],
)
def test_a_file_that_changed_is_found(
    tmp_path: Path, verify: Verify, change: Callable[[Path], Any], reason: str
) -> None:
    """A file that is gone, shorter, longer, or a pipe."""
    manifest = deploy(tmp_path)
    change(tmp_path / "tiny.tiktoken")
    code, answer = verify("--config", manifest)
    assert (code, reasons(answer), answer["tokenizers"][0]["digest"]) == (1, [reason], "")


def test_an_engine_that_is_wrong_is_found(
    tmp_path: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Golden vectors aside: other ids than the slow twin's, and offsets that leave a gap, have their reasons."""
    manifest = deploy(tmp_path)
    monkeypatch.setattr("tokenwire_core.reference.merge", lambda piece, _ranks: [bytes((b,)) for b in piece])
    assert reasons(verify("--config", manifest)[1]) == ["TWIN_MISMATCH"]
    monkeypatch.undo()
    monkeypatch.setattr(
        "tokenwire_server.tools.verifying._tiles", lambda _encoder, item: item.text != TEXTS[1]
    )
    assert reasons(verify("--config", manifest)[1]) == ["OFFSETS_MISMATCH"]


@pytest.mark.parametrize(
    ("spans", "pieces", "holds"),
    [
        ([(0, 2), (2, 3)], [b"ab", b"c"], True),
        ([(0, 1), (2, 3)], [b"a", b"c"], False),
        ([(0, 2), (1, 3)], [b"ab", b"bc"], False),
        ([(1, 3)], [b"bc"], False),
        ([(0, 2)], [b"ab"], False),
        ([(0, 2), (2, 3)], [b"ab", b"d"], False),
        ([], [], False),
    ],
)
def test_what_tiles_a_text(spans: list[tuple[int, int]], pieces: list[bytes], holds: bool) -> None:
    """Spans from edge to edge over the whole text, each over the token's own bytes, and nothing else."""
    encoding = SimpleNamespace(offsets=lambda _unit: spans, token_bytes=lambda: pieces)
    fake: Any = SimpleNamespace(encode=lambda _text, special: encoding)  # noqa: ARG005  the encoder's
    assert verifying._tiles(fake, Vector("abc", ())) is holds


def test_the_installed_reference_library_is_asked(
    tmp_path: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--with-reference names the library of today beside that of the vectors; a difference or its lack is a fault."""
    manifest = deploy(tmp_path, made_by="tiktoken 0.1.0")
    assert verify("--config", manifest)[1]["tokenizers"][0]["reference"] == ""
    code, answer = verify("--config", manifest, "--with-reference")
    assert code == 0
    assert answer["tokenizers"][0]["proven_by"] == "tiktoken 0.1.0"
    assert re.fullmatch(r"tiktoken \d.*", answer["tokenizers"][0]["reference"])

    class Other:
        name = "tiktoken 99.0"
        finds_control_tokens = True

        def encode(self, text: str, *_: object) -> list[int]:
            return list(text.encode())

    monkeypatch.setattr(reference_library, "installed", lambda *_args, **_options: Other())
    lock_golden(tmp_path, b"", "", golden="", golden_sha256="")
    assert reasons(verify("--config", manifest, "--with-reference")[1]) == ["REFERENCE_MISMATCH"]
    deploy(tmp_path, made_by="tiktoken 0.1.0")
    code, answer = verify("--config", manifest, "--with-reference")
    assert (code, reasons(answer)) == (1, ["REFERENCE_MISMATCH"])
    message = answer["tokenizers"][0]["findings"][0]["message"]
    assert "tiktoken 99.0" in message
    assert "tiktoken 0.1.0" in message

    def fail(*_args: object, **_options: object) -> None:
        raise reference_library.ReferenceFailedError("it fails")

    monkeypatch.setattr(reference_library, "installed", fail)
    assert reasons(verify("--config", manifest, "--with-reference")[1]) == ["REFERENCE_FAILED"]
    monkeypatch.setattr(reference_library, "installed", lambda *_args, **_options: None)
    assert reasons(verify("--config", manifest, "--with-reference")[1]) == ["REFERENCE_MISSING"]


def test_nothing_is_written_and_no_network_is_touched(
    tmp_path: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the folder every name, size and time stays; a socket is never made."""

    def refuse(*_args: object, **_options: object) -> None:
        raise AssertionError("a socket was made")

    manifest = deploy(tmp_path)
    before = {path: path.stat() for path in sorted(tmp_path.rglob("*"))}
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert verify("--config", manifest, "--with-reference")[0] == 0
    after = {path: path.stat() for path in sorted(tmp_path.rglob("*"))}
    assert [(path, stat.st_mtime_ns, stat.st_size) for path, stat in after.items()] == [
        (path, stat.st_mtime_ns, stat.st_size) for path, stat in before.items()
    ]


def test_the_part_that_fetches_is_not_even_imported() -> None:
    """Neither command imports what talks to registries, or http or gRPC."""
    script = (
        "import sys, tokenwire_server.tools.cli_verify, tokenwire_server.tools.cli_diff;"
        "print([name for name in sys.modules if name.split('.')[0] in ('http', 'grpc', 'ssl')"
        " or name.startswith('tokenwire_server.pull')])"
    )
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, env=environment(), capture_output=True, check=True).stdout == b"[]\n"


def test_wrong_usage_is_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name, and a model's configuration for several tokenizers: exit 2 and nothing on stdout."""
    manifest = deploy(tmp_path)
    manifest.write_text(manifest.read_text() + made_up.table(tmp_path, "other"))
    for arguments in (["tinny"], ["--model-config", tmp_path]):
        assert run("--config", manifest, *arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "tiny" in err or "2" in err


def test_what_a_person_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each tokenizer, findings indented below it."""
    manifest = deploy(tmp_path)
    manifest.write_text(manifest.read_text() + made_up.table(tmp_path, "other"))
    assert run("--config", manifest) == 1
    lines = capsys.readouterr().out.splitlines()
    digest = encoder().digest
    assert lines[0] == f"{'tiny':<24} ok     {digest} proven by tiktoken 0.14.0, {2 * len(TEXTS)} vectors"
    assert lines[1] == f"{'other':<24} FAILED {digest} unproven"
    assert lines[2].startswith("    NOT_LOCKED: ")


def test_a_bundle_is_checked_with_its_tokenizer(tmp_path: Path, verify: Verify) -> None:
    """--model-config adds the findings of the bundle to those of the tokenizer."""
    manifest = deploy(tmp_path)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"vocab_size": 320, "eos_token_id": 300}))
    code, answer = verify("--config", manifest, "--model-config", config)
    assert code == 0
    assert any("18 more than ids" in note for note in answer["tokenizers"][0]["notes"])
    config.write_text(json.dumps({"vocab_size": 301, "eos_token_id": 300}))
    code, answer = verify("--config", manifest, "--model-config", tmp_path)
    assert (code, reasons(answer)) == (1, ["ID_BEYOND_EMBEDDING"])
    (tmp_path / "tiny.tiktoken").unlink()
    code, answer = verify("--config", manifest, "--model-config", config)
    assert (code, reasons(answer)) == (1, ["FILE_UNREADABLE"])


def test_many_findings_are_cut_for_people_only(
    tmp_path: Path, verify: Verify, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person sees the first twenty and how many are left; a program gets them all."""
    manifest = deploy(tmp_path)
    (tmp_path / "config.json").write_text('{"vocab_size": 302}')
    tokens = {"additional_special_tokens": [f"<|{number}|>" for number in range(30)]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokens))
    assert reasons(verify("--config", manifest, "--model-config", tmp_path)[1]) == ["UNKNOWN_SPECIAL"] * 30
    assert run("--config", manifest, "--model-config", tmp_path) == 1
    out = capsys.readouterr().out
    assert out.count("UNKNOWN_SPECIAL") == 20
    assert "and 10 findings more" in out


@pytest.mark.parametrize("module", [verifying, model_config])
def test_the_table_of_reasons_is_whole(module: ModuleType) -> None:
    """Every reason that the code names is in its table or documented for a load, and every one of the table is used."""
    assert module.__file__ is not None
    code = Path(module.__file__).read_text().partition('"""Each reason')[2]
    used = set(re.findall(r'"([A-Z]+_[A-Z0-9_]+|UNPROVEN)"', code)) | {"BAD_CONFIG"}
    table = {**verifying.REASONS, **module.REASONS}
    documented = set(re.findall(r"`([A-Z0-9_]+)`", ProofError.__doc__ or ""))
    assert used - table.keys() - documented == set()
    assert module.REASONS.keys() <= used
