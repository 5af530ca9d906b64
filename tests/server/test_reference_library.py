"""Reference libraries answer for the bytes in hand, and for nothing else."""

from __future__ import annotations

import socket
import sys
from typing import Any, NoReturn

import pytest
import tokenwire_core
from tokenwire_server.tools import reference_library
from tokenwire_server.tools.reference_library import Reference, ReferenceFailedError

from tests.server import made_up, other_formats

TEXTS = ("", "abc", "the ab 東京 \U0001f600", "a<|end|>b", "ab<think>ab")


def references() -> dict[str, Reference]:
    """One of each format, with its slow twin."""
    options: dict[str, Any] = {"pattern": made_up.GPT2_PATTERN, "special_tokens": made_up.SPECIAL_TOKENS}
    found = {
        "tiktoken": reference_library.installed(made_up.rank_file(), "tiktoken", **options),
        "hf_json": reference_library.installed(other_formats.tokenizer_json(), "hf_json"),
        "sentencepiece": reference_library.installed(other_formats.sentencepiece_model(), "sentencepiece"),
        "twin": reference_library.twin(tokenwire_core.read_spec(made_up.rank_file(), "tiktoken", **options)),
    }
    return {name: reference for name, reference in found.items() if reference is not None}


def test_each_library_reads_the_bytes_in_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """All three give the ids of their format, without a connection, and say their version."""

    def connect(*_: object) -> NoReturn:
        raise AssertionError("a reference library opened a connection")

    monkeypatch.setattr(socket.socket, "connect", connect)
    found = references()
    assert found["tiktoken"].encode("abc the", special=False) == [257, 32, 260]
    assert found["hf_json"].encode("AB a", special=False) == [3, 1]
    assert found["sentencepiece"].encode("ab", special=False) == [8]
    for name in ("tiktoken", "tokenizers", "sentencepiece"):
        assert any(item.name.startswith(f"{name} ") for item in found.values())
    assert found["twin"].name == ""


def test_special_tokens_are_text_unless_allowed() -> None:
    """A special token is found where it is allowed; sentencepiece never finds one."""
    found = references()
    assert found["tiktoken"].encode("<|end|>", special=True) == [300]
    assert len(found["tiktoken"].encode("<|end|>", special=False)) == 7
    assert found["hf_json"].encode("[UNK]", special=True) == [0]
    assert found["hf_json"].encode("[UNK]", special=False) != [0]
    assert found["sentencepiece"].encode("<s>", special=True) == found["sentencepiece"].encode(
        "<s>", special=False
    )


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("special", [False, True])
def test_starts_are_of_the_ids(text: str, special: bool) -> None:
    """There is one start for each id, in order, and within the text."""
    for reference in references().values():
        starts = reference.byte_starts(text, special)
        assert len(starts) == len(reference.encode(text, special))
        assert starts == sorted(starts)
        assert all(0 <= start <= len(text.encode()) for start in starts)


def test_the_twin_is_the_core_and_tiktoken() -> None:
    """On a rank file tiktoken and the twin give the same ids and starts."""
    found = references()
    for text in TEXTS:
        for special in (False, True):
            ids = found["twin"].encode(text, special)
            assert found["tiktoken"].encode(text, special) == ids
            assert found["tiktoken"].byte_starts(text, special) == found["twin"].byte_starts(text, special)


@pytest.mark.parametrize("format", reference_library.LIBRARIES)
def test_a_library_that_is_not_installed_is_none(monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """Without its library a format has no reference."""
    monkeypatch.setitem(sys.modules, reference_library.LIBRARIES[format], None)
    assert reference_library.installed(b"", format, pattern="") is None


@pytest.mark.parametrize(
    ("data", "format", "pattern"),
    [
        (made_up.rank_file(), "tiktoken", "(unclosed"),
        (b"no rank file", "tiktoken", "."),
        (b"{}", "hf_json", None),
        (b"\x00", "sentencepiece", None),
    ],
)
def test_what_a_library_cannot_read_is_one_error(data: bytes, format: str, pattern: str | None) -> None:
    """Whatever a library raises becomes a `ReferenceFailedError` that names the library."""
    with pytest.raises(ReferenceFailedError, match=f"^{reference_library.LIBRARIES[format]} "):
        reference_library.installed(data, format, pattern=pattern)
