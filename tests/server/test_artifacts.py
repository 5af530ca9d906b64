"""Artifacts: the order of proof, and one bad artifact for each mistake."""

from __future__ import annotations

import hashlib
import lzma
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenwire_core
from tokenwire_server import artifacts, golden, manifest
from tokenwire_server.artifacts import ProofError
from tokenwire_server.embedded import embedded
from tokenwire_server.errors import ConfigError
from tokenwire_server.golden import Golden, Vector
from tokenwire_server.manifest import TokenizerConfig

from tests.server import made_up

MAX_BYTES = 1 << 20


def configured(folder: Path, **changes: Any) -> TokenizerConfig:
    """The configuration of the small tokenizer, its file written to `folder`."""
    path = made_up.manifest(folder, made_up.table(folder, **changes))
    return manifest.parse_tokenizers(manifest.read_toml(path)["tokenizer"], path)[0]


def failure(config: TokenizerConfig, max_bytes: int = MAX_BYTES) -> str:
    """The reason why a configuration cannot be proven."""
    with pytest.raises(ProofError) as caught:
        artifacts.prove(config, max_bytes)
    assert str(caught.value)
    return caught.value.reason


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_embedded_tokenizers_prove_themselves(name: str) -> None:
    """The embedded artifacts equal their pins, have the published digests, and hold the golden vectors."""
    config = embedded([name])[0]
    published = {
        "cl100k_base": "ca1a961b1f5a298796288fc3d87af5a145e1623f8a3d56416529639ad7cd8d6b",
        "o200k_base": "6698135781c3fe10126fd7597383325dc427225d751a676c24260ec60a3f9989",
    }
    assert artifacts.prove(config, 1 << 26).digest == published[name]


def test_an_embedded_encoder_needs_no_service() -> None:
    """One call gives the encoder of an embedded tokenizer; any other name is refused."""
    assert artifacts.embedded_encoder("cl100k_base").encode("Hello World").ids == [9906, 4435]
    with pytest.raises(ConfigError, match="did you mean 'cl100k_base'"):
        artifacts.embedded_encoder("cl100k")


def test_a_good_artifact_is_loaded(tmp_path: Path) -> None:
    """A pinned file that is well-formed gives its encoder."""
    assert artifacts.prove(configured(tmp_path), MAX_BYTES).encode("abc").ids == [257]


def test_a_digest_in_the_manifest_is_held_to(tmp_path: Path) -> None:
    """The right digest passes; any other stops the tokenizer."""
    config = configured(tmp_path)
    digest = artifacts.prove(config, MAX_BYTES).digest
    assert artifacts.prove(replace(config, digest=digest), MAX_BYTES).digest == digest
    assert failure(replace(config, digest="0" * 64)) == "DIGEST_MISMATCH"


FLIPPED = bytearray(made_up.rank_file())
FLIPPED[10] ^= 1


@pytest.mark.parametrize(
    "data", [bytes(FLIPPED), made_up.rank_file()[:-40], b"", made_up.rank_file() + b"\n"]
)
def test_any_other_bytes_than_the_pinned_are_refused(tmp_path: Path, data: bytes) -> None:
    """A flipped byte, a cut file, an empty file and a longer one differ from the pin."""
    pin = hashlib.sha256(made_up.rank_file()).hexdigest()
    assert failure(configured(tmp_path, data=data, sha256=pin)) == "SHA256_MISMATCH"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "EMPTY"),
        (made_up.rank_file() + b"YWJjZA== 5\n", "DUPLICATE_RANK"),
        (made_up.rank_file() + b"YWI= 900\n", "DUPLICATE_TOKEN"),
        (made_up.rank_file() + b"Y&&= 900\n", "BAD_BASE64"),
        (made_up.rank_file() + b"YWJjZA== ten\n", "BAD_RANK"),
        (made_up.rank_file() + b"YWJjZA==\n", "BAD_LINE"),
        (made_up.rank_file() + b"A" * 100_000 + b" 900\n", "LINE_TOO_LONG"),
        (made_up.rank_file({t: r for t, r in made_up.RANKS.items() if t != b"q"}), "MISSING_BYTE"),
        (made_up.rank_file() + b"YWJjZA== 300\n", "COLLIDING_SPECIAL"),
    ],
)
def test_a_malformed_artifact_is_refused_by_its_mistake(tmp_path: Path, data: bytes, reason: str) -> None:
    """With the pin of the bad bytes themselves, the parser names the mistake."""
    assert failure(configured(tmp_path, data=data)) == reason


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A file that is not there is a named failure, not a crash, and the message names the file."""
    config = configured(tmp_path)
    (tmp_path / config.file).unlink()
    assert failure(config) == "FILE_UNREADABLE"
    with pytest.raises(ProofError, match=r"^tiny\.tiktoken cannot be read: No such file"):
        artifacts.prove(config, MAX_BYTES)


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    """At the limit a file is read, one byte over it is refused."""
    config = configured(tmp_path)
    size = len(made_up.rank_file())
    assert artifacts.read_pinned(config, size) == made_up.rank_file()
    assert failure(config, size - 1) == "FILE_TOO_LARGE"


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    """A named pipe nobody writes to is refused at once."""
    config = configured(tmp_path)
    (tmp_path / config.file).unlink()
    os.mkfifo(tmp_path / config.file)
    assert failure(config) == "FILE_UNREADABLE"


@pytest.mark.case("BR-256")
def test_a_link_may_not_leave_the_folder(tmp_path: Path) -> None:
    """A symbolic link to a file or folder outside is refused; one that stays inside is followed."""
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    config = configured(inside)
    (inside / config.file).rename(outside / config.file)
    (inside / config.file).symlink_to(outside / config.file)
    assert failure(config) == "FILE_OUTSIDE_FOLDER"
    (inside / "folder").symlink_to(outside)
    assert failure(replace(config, file=f"folder/{config.file}")) == "FILE_OUTSIDE_FOLDER"
    (inside / config.file).unlink()
    (outside / config.file).rename(inside / "real")
    (inside / config.file).symlink_to("real")
    assert artifacts.prove(config, MAX_BYTES).vocab_size == 302


@pytest.mark.case("BR-253")
def test_the_bytes_that_were_hashed_are_the_bytes_that_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file swapped while its tokenizer loads changes nothing: it was read once."""
    config = configured(tmp_path)
    read_spec = tokenwire_core.read_spec

    def swapping(data: bytes, **options: Any) -> tokenwire_core.TokenizerSpec:
        (tmp_path / config.file).write_bytes(b"something else")
        assert hashlib.sha256(data).hexdigest() == config.sha256
        return read_spec(data, **options)

    monkeypatch.setattr(tokenwire_core, "read_spec", swapping)
    assert artifacts.prove(config, MAX_BYTES).vocab_size == 302
    assert (tmp_path / config.file).read_bytes() == b"something else"


def compressed(folder: Path, data: bytes, **changes: Any) -> TokenizerConfig:
    """The small tokenizer in an xz file whose pin is that of `data`."""
    config = configured(folder)
    (folder / config.file).write_bytes(data)
    return replace(config, xz_sha256=hashlib.sha256(data).hexdigest(), **changes)


def test_a_compressed_artifact_is_pinned_twice(tmp_path: Path) -> None:
    """Compressed bytes are compared before they are unpacked, and unpacked bytes before they are parsed."""
    data = lzma.compress(made_up.rank_file())
    config = compressed(tmp_path, data)
    assert artifacts.prove(config, MAX_BYTES).vocab_size == 302
    assert failure(replace(config, sha256="0" * 64)) == "SHA256_MISMATCH"
    (tmp_path / config.file).write_bytes(data[:-1])
    assert failure(config) == "SHA256_MISMATCH"


@pytest.mark.parametrize(
    "data",
    [lzma.compress(made_up.rank_file())[:-5], lzma.compress(made_up.rank_file()) + b"more", b"no xz at all"],
)
def test_bad_compression_is_refused(tmp_path: Path, data: bytes) -> None:
    """A cut xz file, one with data after its end, and something else are refused by name."""
    assert failure(compressed(tmp_path, data)) == "BAD_COMPRESSION"


def test_a_decompression_bomb_is_bounded(tmp_path: Path) -> None:
    """What unpacks to more than the limit is refused without being unpacked."""
    bomb = lzma.compress(bytes(1 << 26), preset=0)
    assert failure(compressed(tmp_path, bomb), 1 << 22) == "FILE_TOO_LARGE"


def with_golden(config: TokenizerConfig, *vectors: Vector) -> TokenizerConfig:
    """The configuration, held to these golden vectors."""
    data = golden.to_json(Golden("", vectors))
    (config.folder / "golden.json").write_bytes(data)
    return replace(config, golden="golden.json", golden_sha256=hashlib.sha256(data).hexdigest())


def test_a_golden_vector_that_does_not_hold_stops_the_tokenizer(tmp_path: Path) -> None:
    """Vectors that hold pass; one wrong id, other bytes than locked, or a file that is none, stops the tokenizer."""
    config = configured(tmp_path)
    held = with_golden(config, Vector("abc", (257,)), Vector("q", (113,)), Vector("<|end|>", (300,), True))
    assert artifacts.prove(held, MAX_BYTES).vocab_size == 302
    assert failure(replace(held, golden_sha256="0" * 64)) == "SHA256_MISMATCH"
    assert failure(with_golden(config, Vector("abc", (256, 99)))) == "GOLDEN_MISMATCH"
    (tmp_path / "golden.json").write_text('{"golden_version": 1, "vectors": []}')
    assert failure(replace(held, golden_sha256=None)) == "BAD_GOLDEN"


def test_changed_ids_are_served_only_where_exactly_these_are_accepted(tmp_path: Path) -> None:
    """The refusal names the sha256 of the new ids; with that in the manifest they are served, with another not."""
    config = with_golden(configured(tmp_path), Vector("abc", (256, 99)), Vector("q", (113,)))
    with pytest.raises(ProofError) as caught:
        artifacts.prove(config, MAX_BYTES)
    accepted = golden.ids_sha256([[257], [113]])
    assert f'accept_ids = "{accepted}"' in str(caught.value)
    assert artifacts.prove(replace(config, accept_ids=accepted), MAX_BYTES).encode("abc").ids == [257]
    assert failure(replace(config, accept_ids=golden.ids_sha256([[256, 99], [113]]))) == "GOLDEN_MISMATCH"
