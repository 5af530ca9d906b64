"""A real browser opens the page of a report and has nothing to complain of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tokenwire_server import cli

OFFLINE = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
)
AS_ROOT = "--no-sand" + "box"
"""Chromium refuses to start as root without it."""
FLAGS = ("--headless", AS_ROOT, "--disable-gpu", "--no-first-run", "--enable-logging=stderr", *OFFLINE)
PATIENCE_S = 120


def opened(page: Path, *flags: str) -> tuple[str, list[str]]:
    """The page as the browser has it, and what it wrote to its console."""
    profile = page.with_suffix(".profile")
    command = ["chromium", *FLAGS, *flags, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return answer.stdout, [line for line in answer.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.parametrize("flags", [(), ("--blink-settings=preferredColorScheme=0",)], ids=["light", "dark"])
def test_the_page_opens_without_a_complaint(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """Its policy lets nothing in, so that a reference to anything else would be a complaint."""
    (tmp_path / "a.txt").write_text("A model never sees text.\n")
    (tmp_path / "b.txt").write_text("한국어 문장은 토큰이 많다")
    page = tmp_path / "page.html"
    assert cli.main(["report", str(tmp_path), "--limit", "8", "--html", str(page)]) == 0
    shown, complaints = opened(page, *flags)
    assert complaints == []
    assert shown.count('role="img"') == 3


def test_a_planted_reference_is_a_complaint(tmp_path: Path) -> None:
    """The check would see one."""
    (tmp_path / "a.txt").write_text("abc")
    page = tmp_path / "page.html"
    assert cli.main(["report", str(tmp_path), "--html", str(page)]) == 0
    page.write_text(page.read_text().replace("<main>", '<main><img src="http://127.0.0.1:1/x.png">'))
    assert len(opened(page)[1]) == 1
