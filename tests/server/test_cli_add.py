"""`tokenwire artifacts add` and `prove` as commands: what is printed, and the exit codes."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenwire_server import cli

from tests.server import made_up, other_formats

END = "<|end|>=300"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a rank file beside it."""
    home = tmp_path / "deployment"
    home.mkdir()
    (tmp_path / "tiny.tiktoken").write_bytes(made_up.rank_file())
    monkeypatch.chdir(home)
    monkeypatch.delenv("TOKENWIRE_SERVE_CONFIG", raising=False)
    return home


def add(*arguments: str, source: str = "file:../tiny.tiktoken", pattern: str = made_up.GPT2_PATTERN) -> int:
    return cli.main(["artifacts", "add", source, "--pattern", pattern, *arguments])


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("folder")
def test_findings_are_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    """What was found is on stdout, a line each, with who proved it; only progress is on stderr."""
    assert add("--special", END) == 0
    output = capsys.readouterr()
    assert "tiny: added to tokenwire.toml" in output.out
    for line in ("byte_level_bpe", "<|end|> = 300", "all special tokens", "compiled", made_up.GPT2_PATTERN):
        assert line in output.out
    assert "golden vectors, proven by tiktoken " in output.out
    assert "Error" not in output.err


@pytest.mark.usefixtures("folder")
def test_findings_are_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints one object with the pin, the digest, the proof and all findings."""
    arguments = (
        "--name",
        "t",
        "--alias",
        "a",
        "--alias",
        "b",
        "--model",
        "m-1",
        "--special",
        END,
        "--special",
        "a=b=301",
    )
    assert add(*arguments, "--json") == 0
    found = printed(capsys)
    assert found["name"] == "t"
    assert found["aliases"] == ["a", "b"]
    assert found["special_tokens"] == {"<|end|>": 300, "a=b": 301}
    assert found["vocab_size"] == 302
    assert found["proven_by"].startswith("tiktoken ")
    assert found["n_vectors"] > 100
    assert found["size_bytes"] == len(made_up.rank_file())
    assert found["file"] == f"artifacts/{found['sha256']}.tiktoken"


def test_a_manifest_elsewhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--config names the manifest; files and sources are relative to its folder."""
    (folder / "sub").mkdir()
    assert add("--config", "sub/mine.toml", source="file:../../tiny.tiktoken") == 0
    assert {path.name for path in (folder / "sub").iterdir()} == {
        "mine.toml",
        "mine.lock",
        "golden",
        "artifacts",
    }
    assert [path.name for path in (folder / "sub" / "golden" / "mine").iterdir()] == ["tiny.json"]
    assert "added to sub/mine.toml" in capsys.readouterr().out
    assert add("--config", "missing/tokenwire.toml") == 1
    assert "STORE_UNWRITABLE" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_warnings_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """No special tokens and a pattern on the regex engine are notes, not refusals; so is what is no longer served."""
    assert add(pattern=made_up.OWN_PATTERN) == 0
    output = capsys.readouterr().out
    assert output.count("note: ") == 3
    assert 'embedded = ["o200k_base", "cl100k_base"]' in output
    assert add("--name", "second", pattern=made_up.OWN_PATTERN) == 0
    assert capsys.readouterr().out.count("note: ") == 2


@pytest.mark.usefixtures("folder")
def test_a_name_that_nothing_here_can_check_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A model's tokenizer that no published file is known of: its name is taken, and said to be."""
    assert add("--name", "qwen3") == 0
    assert "models that use qwen3 are answered by it now" in capsys.readouterr().out


def test_a_refusal_is_one_line_with_its_reason(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refused is exit code 1 and one line on stderr; nothing is on stdout or in the folder."""
    for arguments, reason in (
        (["file:../tiny.tiktoken"], "MISSING_PATTERN"),
        (["file:../nowhere"], "FILE_UNREADABLE"),
        (["file:../tiny.tiktoken", "--sha256", "0" * 64], "SHA256_MISMATCH"),
        (["file:../tiny.tiktoken", "--format", "sentencepiece"], "OTHER_FORMAT"),
        (["tiny.tiktoken"], "is not a source"),
        (["file:../tiny.tiktoken", "--like", "qwne"], "did you mean 'qwen'"),
    ):
        assert cli.main(["artifacts", "add", *arguments]) == 1
        output = capsys.readouterr()
        assert output.out == ""
        (line,) = [each for each in output.err.splitlines() if each.startswith("tokenwire: ")]
        assert reason in line
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("before", ["", "embedded = []\n"])
def test_the_manifest_bounds_what_is_added(
    folder: Path, capsys: pytest.CaptureFixture[str], before: str
) -> None:
    """At the limit of the service that will load it an artifact is added, one byte over it is refused."""
    size = len(made_up.rank_file())
    for limit, code in ((size - 1, 1), (size, 0)):
        (folder / "tokenwire.toml").write_text(f"{before}[limits]\nartifact_bytes = {limit}\n")
        assert add() == code
        assert ("TOO_LARGE" in capsys.readouterr().err) == (code == 1)


def test_addresses_are_the_services_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A service may get its TLS from the environment: the artifacts commands ask nothing of where it listens."""
    (folder / "tokenwire.toml").write_text('listen = "0.0.0.0:50051"\n')
    assert add() == 0
    for command in ("list", "pull", "verify", "prove"):
        assert cli.main(["artifacts", command]) == 0, command
    capsys.readouterr()


def test_a_setting_that_serve_would_refuse_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A manifest that could not be served before could not be served after either."""
    (folder / "tokenwire.toml").write_text("lisen = 5\n")
    assert add() == 1
    assert "did you mean 'listen'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--special", "<|end|>"],
        ["--special", "=300"],
        ["--special", "<|end|>=-1"],
        ["--special", "<|end|>=३"],
        ["--special", "<|end|>=99999999999"],
        ["--sha256", "ABC"],
        ["--format", "gguf"],
        ["--pattern", "x", "--like", "qwen"],
    ],
)
def test_wrong_usage_is_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments that can mean nothing are exit code 2, before anything is looked at."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["artifacts", "add", "file:../tiny.tiktoken", *arguments])
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_two_ids_for_one_spelling_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The same special token given twice is a mistake, not a choice."""
    assert add("--special", END, "--special", "<|end|>=301") == 1
    assert "two ids" in capsys.readouterr().err


def test_other_formats_are_described(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The stages of a tokenizer.json are shown, and its unflagged chat markers proposed as control tokens."""
    (folder.parent / "tokenizer.json").write_bytes(other_formats.tokenizer_json())
    assert cli.main(["artifacts", "add", "file:../tokenizer.json", "--name", "one"]) == 0
    output = capsys.readouterr().out
    assert "normalizer:               NFC; Lowercase\n" in output
    assert "Add --control" in output
    assert "proven by tokenizers" in output.splitlines()[-1]
    arguments = ["--name", "two", "--control", "<think>", "--json"]
    assert cli.main(["artifacts", "add", "file:../tokenizer.json", *arguments]) == 0
    found = printed(capsys)
    assert found["control_tokens"] == ["<think>"]
    assert found["proposed_control_tokens"] == []


def test_prove_makes_what_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table written by hand gets its vectors once; --renew makes them anew."""
    made_up.manifest(folder, made_up.table(folder))
    states = []
    for arguments in ([], [], ["--renew", "tiny"]):
        assert cli.main(["artifacts", "prove", "--json", *arguments]) == 0
        (entry,) = printed(capsys)["tokenizers"]
        states.append(entry["state"])
        assert entry["proven_by"].startswith("tiktoken ")
    assert states == ["made", "present", "made"]
    assert (folder / "golden" / "tiny.json").exists()
    assert cli.main(["artifacts", "prove"]) == 0
    assert "--renew makes them anew" in capsys.readouterr().out


def test_prove_without_a_library_says_unproven(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin's vectors are called unproven by both commands, and the way to a proof is said."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    assert add("--special", END) == 0
    assert "artifacts prove --renew tiny" in capsys.readouterr().out
    assert cli.main(["artifacts", "prove", "--renew"]) == 0
    assert "unproven" in capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert cli.main(["artifacts", "prove", "--renew"]) == 0
    assert "proven by tiktoken" in capsys.readouterr().out


def test_prove_shows_which_ids_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each text whose ids are not what they were is a line with both; --json has all of them."""
    assert add("--special", END) == 0
    capsys.readouterr()
    path, lock = folder / "golden" / "tiny.json", folder / "tokenwire.lock"
    before = path.read_bytes()
    changed = before.replace(b'{"text": "<|endoftext|", "ids": [', b'{"text": "<|endoftext|", "ids": [7, ')
    assert changed != before
    lock_text = lock.read_text()
    for arguments in ([], ["--json"]):
        path.write_bytes(changed)
        pin, changed_pin = (hashlib.sha256(data).hexdigest() for data in (before, changed))
        lock.write_text(lock_text.replace(pin, changed_pin))
        assert cli.main(["artifacts", "prove", "--renew", *arguments]) == 0
        output = capsys.readouterr().out
        if arguments:
            ((change,),) = [entry["changes"] for entry in json.loads(output)["tokenizers"]]
            assert change["text"] == "<|endoftext|"
            assert change["before"] == [7, *change["after"]]
        else:
            assert "    <|endoftext|: [7, 60, " in output
    assert path.read_bytes() == before
    assert lock.read_text() == lock_text


def test_prove_answers_for_each_tokenizer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One that fails leaves the others alone, and is exit code 1."""
    made_up.manifest(folder, made_up.table(folder, "good"), made_up.table(folder, "bad"))
    (folder / "bad.tiktoken").write_bytes(b"tampered")
    assert cli.main(["artifacts", "prove", "--json"]) == 1
    found = {entry["name"]: entry for entry in printed(capsys)["tokenizers"]}
    assert {name: entry["state"] for name, entry in found.items()} == {
        "good": "made",
        "bad": "failed",
    }
    assert found["bad"]["reason"] == "SHA256_MISMATCH"
    assert cli.main(["artifacts", "prove", "good"]) == 0
    assert cli.main(["artifacts", "prove", "goood"]) == 1
    assert "did you mean 'good'" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_prove_without_tokenizers_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a manifest, or with an empty one, there is nothing to prove."""
    for _ in range(2):
        assert cli.main(["artifacts", "prove"]) == 1
        assert "artifacts add" in capsys.readouterr().err
        Path("tokenwire.toml").write_text("")
