"""A machine without settings: tests of pip's, npm's and the hub's settings begin there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
