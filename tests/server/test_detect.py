"""Formats are told from bytes, and what is no artifact is refused by what it is."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import pickle
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_core.formats import strict_json
from tokenwire_server.tools import detect
from tokenwire_server.tools.detect import DetectError

from tests.server import made_up, other_formats


def refusal(data: bytes) -> str:
    with pytest.raises(DetectError) as caught:
        detect.detect(data)
    return caught.value.reason


def zip_file() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("tokenizer.json", other_formats.tokenizer_json())
    return stream.getvalue()


def tar_file() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("vocab.tiktoken"))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (made_up.rank_file(), "tiktoken"),
        (b"\r\n\r\n" + made_up.rank_file().replace(b"\n", b"\r\n"), "tiktoken"),
        (b"= 50256\n", "tiktoken"),
        (b"IQ==\t0", "tiktoken"),
        (b"GGUF 7\n", "tiktoken"),
        (other_formats.tokenizer_json(), "hf_json"),
        (b"\n  " + other_formats.tokenizer_json(), "hf_json"),
        (other_formats.sentencepiece_model(), "sentencepiece"),
    ],
)
def test_an_artifact_is_known_by_its_bytes(data: bytes, format: str) -> None:
    """Each format is told from its bytes alone, with any line end and blanks before it."""
    assert detect.detect(data) == format


def test_a_rank_file_that_is_malformed_further_down_is_still_one() -> None:
    """Only the first line decides, so that the reader can name the line that is wrong."""
    assert detect.detect(made_up.rank_file() + b"not a line\n") == "tiktoken"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "EMPTY"),
        (b" \r\n\t\n", "EMPTY"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "LFS_POINTER"),
        (b"<!DOCTYPE html>\n<html>", "HTML_PAGE"),
        (b"\n  <HTML lang=en>", "HTML_PAGE"),
        (b"\xef\xbb\xbf<!DOCTYPE html>", "HTML_PAGE"),
        (b'<?xml version="1.0"?><Error/>', "XML_DOCUMENT"),
        (gzip.compress(made_up.rank_file()), "COMPRESSED"),
        (lzma.compress(made_up.rank_file()), "COMPRESSED"),
        (bz2.compress(made_up.rank_file()), "COMPRESSED"),
        (b"\x28\xb5\x2f\xfd\x00", "COMPRESSED"),
        (zip_file(), "ARCHIVE"),
        (tar_file(), "ARCHIVE"),
        (b"GGUF\x03\x00\x00\x00", "GGUF"),
        (b"\x40\x00\x00\x00\x00\x00\x00\x00" + b'{"__metadata__":{}}', "SAFETENSORS"),
        (pickle.dumps({"vocab": 1}, protocol=4), "PICKLE"),
        (b"#version: 0.2\na b\n", "MERGES_FILE"),
        (b'{"model": {"vocab": {"a": 0}}', "BAD_JSON"),
        (b"[" * 100_000, "TOO_DEEP"),
        (b'{"a": ' * 100_000, "TOO_DEEP"),
        (b'{"a": "\xff"}', "BAD_JSON"),
        (b'{"model": ' + b"9" * 5000 + b"}", "BAD_NUMBER"),
        (b'{"model": {}, "model": {}}', "DUPLICATE_KEY"),
        (b"[]", "OTHER_JSON"),
        (b'{"model": {"vocab": 7}}', "OTHER_JSON"),
        (b'{"model": 5, "vocab": {}}', "OTHER_JSON"),
        (json.dumps({f"word{n}": n for n in range(300)} | {"model": 300}).encode(), "OTHER_JSON"),
        (b"hello\nworld\n", "UNKNOWN_FORMAT"),
        (b"\xff\xfe\x00\x01", "UNKNOWN_FORMAT"),
        (b"a 5 6\n", "UNKNOWN_FORMAT"),
        (b"A" * 100_000, "UNKNOWN_FORMAT"),
    ],
)
def test_what_is_no_artifact_is_refused_by_what_it_is(data: bytes, reason: str) -> None:
    """Each thing that comes in place of an artifact has its own reason."""
    assert refusal(data) == reason


@pytest.mark.parametrize(
    ("document", "hint"),
    [
        ({"tokenizer_class": "X", "model_max_length": 5}, "a tokenizer_config.json"),
        ({"model_type": "llama", "architectures": []}, "a model's config.json"),
        ({"bos_token": "<s>", "eos_token": "</s>"}, "a special_tokens_map.json"),
        ({f"word{n}": n for n in range(300)}, "a vocab.json"),
        ({"x": 1}, "no tokenizer.json"),
    ],
)
def test_the_neighbours_of_a_tokenizer_json_are_named(document: dict[str, object], hint: str) -> None:
    """The message says which of a model's other JSON files it is."""
    with pytest.raises(DetectError, match=hint):
        detect.detect(json.dumps(document).encode())


def test_json_is_read_within_the_bounds_of_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document at the bound of bytes is read, one over it is refused unread."""
    data = other_formats.tokenizer_json()
    monkeypatch.setattr(strict_json, "MAX_JSON_BYTES", len(data))
    assert detect.detect(data) == "hf_json"
    assert refusal(data + b" ") == "TOO_LARGE"


def test_a_model_is_known_by_its_first_piece() -> None:
    """Cut behind its first piece, and with its settings first, a model is one: what is missing, its reader says."""
    data = other_formats.sentencepiece_model()
    first = len(other_formats.sentencepiece_model(other_formats.PIECES[:1])) - len(
        other_formats.sentencepiece_model([])
    )
    assert [size for size in range(1, len(data)) if refused(data[:size])] == list(range(1, first))
    settings = other_formats.sentencepiece_model([])
    assert detect.detect(settings + data) == "sentencepiece"
    assert refusal(settings) == "UNKNOWN_FORMAT"


def refused(data: bytes) -> bool:
    try:
        detect.detect(data)
    except DetectError:
        return True
    return False


HEADS = (
    b"",
    b"{",
    b'{"model":',
    b"\n",
    b"\x0a\x05",
    b"= 5\n",
    b"GGUF",
    b"\x80\x04",
    b"PK\x03\x04",
    b"<",
    b"#version: 0.2",
)


@given(st.sampled_from(HEADS), st.binary(max_size=400))
def test_any_bytes_are_a_format_or_a_named_refusal(head: bytes, tail: bytes) -> None:
    """No bytes at all get anything but a format or a `DetectError`."""
    with contextlib.suppress(DetectError):
        assert detect.detect(head + tail) in ("tiktoken", "hf_json", "sentencepiece")


@given(st.integers(0, 200), st.binary(min_size=1, max_size=8))
def test_a_damaged_model_is_a_model_or_refused(at: int, damage: bytes) -> None:
    """Bytes overwritten in a sentencepiece model leave a model or a refusal, never another exception."""
    data = bytearray(other_formats.sentencepiece_model())
    data[at : at + len(damage)] = damage
    with contextlib.suppress(DetectError):
        assert detect.detect(bytes(data))
