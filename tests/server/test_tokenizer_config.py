"""A tokenizer_config.json rides along: named in the manifest, pinned in the lock, and no part of the digest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tokenwire_core.spec import PipelineSpec
from tokenwire_server import artifacts, cli, lockfile, manifest
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import TokenizerConfig

from tests.server import made_up, other_formats

MAX_BYTES = 1 << 20
CONFIG = {"bos_token": "[UNK]", "model_max_length": 512, "chat_template": "{{ messages }}"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a tokenizer.json of a manifest, and a tokenizer_config.json beside it."""
    monkeypatch.chdir(tmp_path)
    data = other_formats.tokenizer_json()
    (tmp_path / "tokenizer.json").write_bytes(data)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(CONFIG))
    made_up.manifest(
        tmp_path,
        f"""
[[tokenizer]]
name = "json"
format = "hf_json"
file = "tokenizer.json"
sha256 = "{hashlib.sha256(data).hexdigest()}"
tokenizer_config = "tokenizer_config.json"
""",
    )
    return tmp_path


def read(folder: Path) -> TokenizerConfig:
    path = folder / "tokenwire.toml"
    tables = manifest.parse_tokenizers(manifest.read_toml(path)["tokenizer"], path)
    (config,) = lockfile.apply(tables, lockfile.read(lockfile.path_of(path)))
    return config


def spec_of(folder: Path) -> PipelineSpec:
    config = read(folder)
    artifacts.check_lock(config)
    spec = artifacts.read_spec(config, artifacts.read_pinned(config, MAX_BYTES))
    assert isinstance(spec, PipelineSpec)
    return spec


def failure(folder: Path) -> str:
    with pytest.raises(ProofError) as caught:
        spec_of(folder)
    return caught.value.reason


def run(*arguments: str) -> int:
    return cli.main(["artifacts", *arguments])


def test_it_is_read_and_changes_no_digest(folder: Path) -> None:
    """Its members are the tokenizer's, and the digest is that of the tokenizer.json alone."""
    with_it = spec_of(folder)
    assert with_it.pipeline.config is not None
    assert with_it.pipeline.config.model_max_length == 512
    path = folder / "tokenwire.toml"
    path.write_text(path.read_text().replace("tokenizer_config =", "#"))
    assert spec_of(folder).pipeline.config is None
    assert spec_of(folder).digest == with_it.digest


def test_a_pull_pins_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lock has its sha256; what is changed after that is not served before another pull, which tells of it."""
    assert run("pull") == 0
    lock = lockfile.read(folder / "tokenwire.lock")
    assert lock is not None
    data = (folder / "tokenizer_config.json").read_bytes()
    assert lock.tokenizers["json"].tokenizer_config_sha256 == hashlib.sha256(data).hexdigest()
    assert spec_of(folder).pipeline.config is not None
    assert run("pull", "--frozen") == 0
    (folder / "tokenizer_config.json").write_text(json.dumps(CONFIG | {"model_max_length": 1024}))
    assert failure(folder) == "SHA256_MISMATCH"
    assert run("pull", "--frozen") == 1
    capsys.readouterr()
    assert run("pull") == 0
    assert "tokenizer_config.json is another than it was" in capsys.readouterr().out
    assert spec_of(folder).pipeline.config is not None


def test_manifest_and_lock_agree_on_it(folder: Path) -> None:
    """A lock without it, or with another file, is no lock of this tokenizer."""
    assert run("pull") == 0
    path = folder / "tokenwire.toml"
    (folder / "other.json").write_text("{}")
    for other in ('tokenizer_config = "other.json"', ""):
        text = path.read_text()
        path.write_text(text.replace('tokenizer_config = "tokenizer_config.json"', other))
        assert failure(folder) == "LOCK_MISMATCH"
        path.write_text(text)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "FILE_UNREADABLE"), (b"{", "BAD_JSON"), (b'{"bos_token": 5}', "BAD_VALUE")],
)
def test_one_that_cannot_be_read_is_refused(folder: Path, content: bytes | None, reason: str) -> None:
    """A file that is gone or malformed stops its tokenizer by name, in a pull too."""
    path = folder / "tokenizer_config.json"
    path.unlink() if content is None else path.write_bytes(content)
    assert failure(folder) == reason
    assert run("pull") == 1


def test_only_a_tokenizer_json_has_one(tmp_path: Path) -> None:
    """Beside a rank file it means nothing."""
    (tmp_path / "tokenizer_config.json").write_text("{}")
    path = made_up.manifest(
        tmp_path, made_up.table(tmp_path, extra='tokenizer_config = "tokenizer_config.json"')
    )
    (config,) = manifest.parse_tokenizers(manifest.read_toml(path)["tokenizer"], path)
    with pytest.raises(ProofError) as caught:
        artifacts.read_spec(config, made_up.rank_file())
    assert caught.value.reason == "BAD_OPTION"


@pytest.mark.parametrize(
    "name", ["../x.json", "/x.json", "tokenwire.lock", "golden/x.json", "tokenizer.json", ""]
)
def test_it_lies_in_the_folder_and_is_no_other_file(folder: Path, name: str) -> None:
    """A path out of the folder, or to the files of others, is refused when the manifest is read."""
    path = folder / "tokenwire.toml"
    path.write_text(path.read_text().replace('"tokenizer_config.json"', f'"{name}"'))
    with pytest.raises(ConfigError):
        read(folder)


@pytest.mark.parametrize(
    "entry",
    [
        {"tokenizer_config": "x.json"},
        {"tokenizer_config_sha256": "0" * 64},
        {"tokenizer_config": "x.json", "tokenizer_config_sha256": "0"},
    ],
)
def test_a_lock_has_both_or_neither(folder: Path, entry: dict[str, Any]) -> None:
    """A path without a pin, a pin without a path and a pin that is none make no lock."""
    assert run("pull") == 0
    path = folder / "tokenwire.lock"
    text = "\n".join(
        line for line in path.read_text().splitlines() if not line.startswith("tokenizer_config")
    )
    more = "\n".join(f'{key} = "{value}"' for key, value in entry.items())
    path.write_text(text.replace('name = "json"', f'name = "json"\n{more}'))
    with pytest.raises(ConfigError, match="not a lock"):
        lockfile.read(path)


def test_add_writes_it_down(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`add --tokenizer-config` names it in the manifest, pins it in the lock, and shows what it says."""
    (folder / "tokenwire.toml").unlink()
    assert run("add", "file:tokenizer.json", "--tokenizer-config", "tokenizer_config.json", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tokenizer_config"]["model_max_length"] == 512
    assert read(folder).tokenizer_config == "tokenizer_config.json"
    assert read(folder).tokenizer_config_sha256 is not None
    assert run("verify") == 0


def test_the_long_list_has_the_stages(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The stages in the field's words, for people and as JSON; of a file that cannot be read, why not."""
    assert run("list", "--long") == 0
    assert "    normalizer: NFC; Lowercase\n" in capsys.readouterr().out
    assert run("list", "--long", "--json") == 0
    entry = json.loads(capsys.readouterr().out)
    assert entry["normalizer"] == ["NFC", "Lowercase"]
    assert entry["model"].startswith("BPE(n_vocab=4, n_merges=1")
    assert entry["n_added_tokens"] == 3
    (folder / "tokenizer.json").write_bytes(b"{}")
    assert run("list", "--long") == 0
    assert "unreadable: SHA256_MISMATCH" in capsys.readouterr().out
