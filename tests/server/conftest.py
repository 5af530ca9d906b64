"""What the tests of `tokenwire report` share: the command, run in an empty folder."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenwire_server import cli

from tests.server import made_up

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_report(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in an empty folder, without settings that a developer may have."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOKENWIRE_SERVE_CONFIG", raising=False)

    def run(*arguments: str | Path, stdin: bytes = b"") -> tuple[int, str, str]:
        (tmp_path / ".stdin").write_bytes(stdin)
        with (tmp_path / ".stdin").open("rb") as file:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
            code = cli.main(["report", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[str, ...]:
    """The arguments that choose a small tokenizer."""
    return ("--config", str(made_up.manifest(tmp_path, made_up.table(tmp_path))), "-t", "tiny")
