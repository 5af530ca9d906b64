"""The language label: tag, then script, then `und`, and never a value outside the closed list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server import language


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("en", "en"),
        ("pt-BR", "pt"),
        ("PT_br", "pt"),
        ("zh-Hant-TW", "zh"),
        ("iw", "he"),
        ("nn-NO", "nb"),
        ("fil", "fil"),
    ],
)
def test_a_declared_tag_counts_as_its_primary_language(tag: str, expected: str) -> None:
    """A tag on the list is normalised to its primary language, whatever the text's script."""
    assert language.label(tag, "ελληνικά".encode()) == (expected, language.DECLARED)


@pytest.mark.parametrize(
    "tag", ["xx", "english", "und", "-", "e", "en-", "en-€", "en-" * 50 + "en", "i-klingon"]
)
def test_any_other_tag_counts_as_undetermined(tag: str) -> None:
    """A tag that is unknown or no tag makes no label of its own."""
    assert language.label(tag, "ελληνικά".encode()) == ("und", language.NONE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("한국어 문장입니다", "ko"),
        ("これは日本語の文です", "ja"),
        ("カタカナ", "ja"),
        ("人工智能正在改变世界", "zh"),
        ("สวัสดีชาวโลก", "th"),
        ("Ελληνικά", "el"),
        ("שלום עולם", "he"),
        ("வணக்கம்", "ta"),
        ("নমস্কার", "bn"),
        ("გამარჯობა", "ka"),
        ("Բարեւ", "hy"),
        ("Ελληνικά, 2024! GPT", "el"),
    ],
)
def test_a_script_of_one_language_decides(text: str, expected: str) -> None:
    """Where 70% of the letters share a script of one language, that is the label; digits and marks do not vote."""
    assert language.label("", text.encode()) == (expected, language.SCRIPT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "123 !?",
        "hello",
        "привет",
        "مرحبا",
        "नमस्ते",
        "abc אבג",
        "👍",
        "\x00",
        "人工智能 and a lot of English text",
    ],
)
def test_all_else_is_undetermined(text: str) -> None:
    """Scripts of many languages, mixtures and texts without letters stay `und`."""
    assert language.label("", text.encode()) == ("und", language.NONE)


def test_the_share_is_at_least_70_percent() -> None:
    """Seven letters of ten decide, and 69 of a hundred do not."""
    assert language.label("", ("α" * 7 + "a" * 3).encode())[0] == "el"
    assert language.label("", ("α" * 69 + "a" * 31).encode())[0] == "und"


def test_only_the_first_256_characters_are_looked_at() -> None:
    """What stands behind the sample does not change the label."""
    assert language.label("", ("α" * 256 + "a" * 10_000).encode())[0] == "el"


@given(st.text(max_size=20), st.text(max_size=300))
def test_every_label_is_on_the_closed_list(tag: str, text: str) -> None:
    """Whatever is declared and whatever is sent, no new label appears."""
    label, source = language.label(tag, text.encode("utf-8", "replace"))
    assert label in language.LANGUAGES
    assert source in language.SOURCES
    assert (label == "und") == (source == language.NONE)
