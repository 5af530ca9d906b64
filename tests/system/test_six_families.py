"""The manifest of six families in docs/ can be pulled from the package index, proven and served."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import tokenwire

from tests.service import COMMAND, ROOT, environment, running_service

pytestmark = pytest.mark.system

MOST_S = 300
MANIFEST = ROOT / "docs" / "six-families.toml"
MODELS = {
    "o200k_base": "byte_level_bpe",
    "deepseek": "byte_level_bpe",
    "mistral_v1": "bpe",
    "kyoto-unigram": "unigram",
    "nepali-unigram": "unigram",
    "nepali-wordpiece": "wordpiece",
}


def test_six_families_from_one_manifest(tmp_path: Path) -> None:
    """What the comment at its head says works, each tokenizer answers, and every one is proven by its library."""
    path = tmp_path / MANIFEST.name
    shutil.copy(MANIFEST, path)
    for command in ("pull", "prove"):
        told = subprocess.run(
            [*COMMAND, "artifacts", command, "--config", path],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=MOST_S,
        )
        assert told.returncode == 0, told.stdout + told.stderr
    with running_service("--config", str(path)) as service, tokenwire.Client(service.address) as client:
        infos = client.list_tokenizers()
        assert {info.name: info.model for info in infos} == MODELS
        for info in infos:
            assert (info.state, bool(info.proven_by)) == ("ready", True)
            text = "नमस्ते दुनिया, Hello world 東京"
            assert client.count(info.name, text) == len(client.encode(info.name, text).ids) > 0
        assert {"<think>", "<｜User｜>"} <= client.get_tokenizer("deepseek").control_tokens.keys()
