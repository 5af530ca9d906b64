"""What `show` prints: every token can be read, and nothing of the input acts on the terminal."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server.cli_render import Token, one_line, printable, render, say, visible

FSI, PDI = "\u2068", "\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello", "Hello"),
        (" two\tcolumns", "·two→columns"),
        ("one\n\ntwo", "one⏎\n⏎\ntwo"),
        ("\r\n", "\\u{000D}⏎\n"),
        ("日本語、漢字", "日本語、漢字"),
        ("👍🏽", "👍🏽"),
        ("👩\u200d💻", "👩\\u{200D}💻"),
        ("❤\ufe0f", "❤\\u{FE0F}"),
        ("\x1b[2J\x07", "\\u{001B}[2J\\u{0007}"),
        ("\x9b31m", "\\u{009B}31m"),
        ("\u00a0\u3000\u2028", "\\u{00A0}\\u{3000}\\u{2028}"),
        ("\u3164\u2800\u034f", "\\u{3164}\\u{2800}\\u{034F}"),
        ("e\u0301", "e\u0301"),
        ("\u0301\u0302", "\u25cc\u0301\u0302"),
        (" \u0301", "·\u25cc\u0301"),
        ("\ue000\U000e0041", "\\u{E000}\\u{E0041}"),
        ("שלום", f"{FSI}שלום{PDI}"),
        ("a\nسلام\n", f"{FSI}a⏎{PDI}\n{FSI}سلام⏎{PDI}\n"),
        ("a\u202eb", "a\\u{202E}b"),
    ],
)
def test_characters_are_shown(text: str, shown: str) -> None:
    """Visible characters stand for themselves, all others are written out."""
    assert visible(text) == shown


def test_parts_of_characters_are_hex() -> None:
    """Bytes that are part of a character only are <E4>, beside the whole characters of the same token."""
    assert visible(b" \xe6\x9d".decode("utf-8", "surrogateescape")) == "·<E6><9D>"
    assert visible("\xb1é".encode().removeprefix(b"\xc2").decode("utf-8", "surrogateescape")) == "<B1>é"


def test_brackets_tell_tokens_apart() -> None:
    """Without colour a token is in brackets, a control token in double ones, and ids come first."""
    tokens = [Token(1, b"a", False), Token(2, b" b\n", False), Token(9, b"<|x|>", True)]
    assert "".join(render(tokens, colour=False, with_ids=False)) == "[a][·b⏎\n]⟦<|x|>⟧"
    assert "".join(render(tokens, colour=False, with_ids=True)) == "[1 a][2 ·b⏎\n]⟦9 <|x|>⟧"


def test_colours_tell_tokens_apart() -> None:
    """Neighbours differ, control tokens are marked, and no colour runs over the end of a line."""
    tokens = [Token(1, b"a", False), Token(2, b"b\nc", False), Token(9, b"<|x|>", True)]
    blue, pale, red, reset = (
        "\x1b[38;5;16;48;5;153m",
        "\x1b[38;5;16;48;5;223m",
        "\x1b[1;38;5;231;48;5;160m",
        "\x1b[0m",
    )
    assert list(render(tokens, colour=True, with_ids=False)) == [
        f"{blue}a{reset}",
        f"{pale}b⏎{reset}\n{pale}c{reset}",
        f"{red}<|x|>{reset}",
    ]


@given(st.binary())
def test_nothing_acts_on_the_terminal(data: bytes) -> None:
    """Whatever the bytes: only newlines, our isolates and our own colours are left of what a terminal obeys."""
    shown = "".join(render([Token(7, data, False)], colour=True, with_ids=True))
    rest = re.sub("\x1b\\[[0-9;]+m|[\n\u2068\u2069]", "", shown)
    assert not [
        character for character in rest if unicodedata.category(character)[0] in "CZ" and character != " "
    ]


@given(st.text())
def test_messages_and_names_stay_on_one_line(text: str) -> None:
    """printable keeps newlines and tabs, one_line writes these out too; neither lets a control through."""
    assert not [c for c in printable(text) if unicodedata.category(c) in {"Cc", "Cf"} and c not in "\n\t"]
    assert not [c for c in one_line(text) if unicodedata.category(c) in {"Cc", "Cf"}]


def test_what_others_wrote_does_not_act_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A line stays one line, without escapes, on stdout and stderr."""
    for error in (False, True):
        say("a\x1b[2J\nb\u202e", error=error)
    out, err = capsys.readouterr()
    assert out == err == "a\\u{001B}[2J\\u{000A}b\\u{202E}\n"
