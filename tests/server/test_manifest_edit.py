"""A table behind a manifest gives back its tokenizer and leaves what a person wrote alone."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenwire_server import manifest
from tokenwire_server.errors import ConfigError
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.tools import manifest_edit

SHA256 = "ab" * 32
NASTY = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
    st.text("'\"\\#=\n\r\t\x00\x7f {}[]\u2028<|>.", min_size=1, max_size=12),
)
SOURCES = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\\"), min_size=1).map(
    "file:{}".format
)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:@/-]{0,20}", fullmatch=True)


def config(**fields: object) -> TokenizerConfig:
    """A tokenizer as `add` makes it."""
    made: dict[str, object] = {
        "name": "qwen",
        "format": "tiktoken",
        "folder": Path("somewhere"),
        "file": manifest.artifact_path("tiktoken", SHA256),
        "sha256": SHA256,
        "source": "file:qwen.tiktoken",
    }
    return TokenizerConfig(**(made | fields))  # type: ignore[arg-type]


def read(data: bytes, folder: Path) -> tuple[TokenizerConfig, ...]:
    return manifest.parse_tokenizers(tomllib.loads(data.decode())["tokenizer"], folder / "tokenwire.toml")


@settings(max_examples=50)  # each makes and reads a manifest a few times
@given(
    name=NAMES,
    aliases=st.lists(NAMES, max_size=3),
    source=SOURCES,
    pattern=st.none() | NASTY,
    special_tokens=st.none() | st.dictionaries(NASTY, st.integers(0, 2**31), min_size=1, max_size=8),
    control_tokens=st.none() | st.lists(NASTY, min_size=1, max_size=3),
    models=st.lists(NAMES, max_size=3),
)
def test_a_table_gives_back_its_tokenizer(
    name: str,
    aliases: list[str],
    source: str,
    pattern: str | None,
    special_tokens: dict[str, int] | None,
    control_tokens: list[str] | None,
    models: list[str],
) -> None:
    """Any pattern, spelling and name comes back as it was, twice in one file too."""
    made = config(
        name=name,
        aliases=tuple(aliases),
        source=source,
        pattern=pattern,
        special_tokens=special_tokens,
        control_tokens=tuple(control_tokens) if control_tokens else None,
        models=tuple(models),
    )
    once = manifest_edit.appended(b"", made)
    assert read(once, made.folder) == (made,)
    assert read(manifest_edit.appended(once, config()), made.folder) == (made, config())


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"# only a comment",
        b'listen = "127.0.0.1:1"\r\n[limits]\r\ninputs = 5   # mine\r\n\r\n\r\n',
        b"[tls]\ncert = 'a'\nkey = 'b'",
        manifest_edit.table(config(name="other", special_tokens={"<|a|>": 5})).encode(),
        manifest_edit.table(config(name="other", special_tokens={f"<|{n}|>": n for n in range(9)})).encode(),
        "# \u2028 ünïcode".encode(),
    ],
)
def test_what_is_there_stays_byte_for_byte(before: bytes) -> None:
    """The manifest before is a prefix of the one after, and its tokenizers stay what they were."""
    after = manifest_edit.appended(before, config())
    assert after.startswith(before)
    assert read(after, Path("somewhere"))[-1] == config()


@pytest.mark.parametrize(
    "before",
    [
        b"tokenizer = []\n",
        b'tokenizer = [{ name = "a", format = "tiktoken", file = "a", sha256 = "' + b"0" * 64 + b'" }]\n',
        b'text = """unclosed\n',
        b"\xff",
    ],
)
def test_a_manifest_that_takes_no_table_is_refused(before: bytes) -> None:
    """Where a table behind the end would not be read as one, the message holds the table to write by hand."""
    with pytest.raises(ConfigError, match=r"(?s)add this one by hand:\n\[\[tokenizer\]\]\nname = \"qwen\""):
        manifest_edit.appended(before, config())


def test_a_table_that_says_too_much_is_refused_by_its_own_fault() -> None:
    """What no manifest could say is refused as such, not as a fault of this one."""
    with pytest.raises(ConfigError, match="`models`"):
        manifest_edit.appended(b"", config(models=("two words",)))
