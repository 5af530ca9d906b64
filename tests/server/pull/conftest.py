"""A machine without settings, where tests of pip's, npm's and the hub's begin; and a mirror to pull from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.pull.mirror import Mirror
from tests.server.pull.transfers import PLAIN

_CLIENTS = (
    "PIP_",
    "NPM_CONFIG_",
    "HF_",
    "HUGGING_FACE_",
    "TRANSFORMERS_",
    "REQUESTS_CA_",
    "CURL_CA_",
    "XDG_",
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, which is also the current folder, and an environment without settings of the clients.

    Files of settings elsewhere on the machine stay.
    """
    for name in list(os.environ):
        if name.upper().startswith(_CLIENTS):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def tools(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is all of PATH, for tools that a test makes up."""
    folder = home / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """A mirror over plain http that has `/file`, and no credentials of whoever runs the tests."""
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with Mirror({"/file": PLAIN}) as mirror:
        yield mirror


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for what is pulled."""
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
def partial(folder: Path) -> Path:
    """A file to fetch to, in that folder."""
    return folder / "file.partial"
