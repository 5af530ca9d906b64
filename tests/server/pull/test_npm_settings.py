"""npm's settings are found as npm has them: by asking it, and in its files what it does not tell."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tokenwire_server.pull import npm_settings
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.npm_settings import NpmSettings

HIDDEN = "hunter2"


def says(tools: Path, answer: object, exit_code: int = 0) -> None:
    """Make up an npm that tells `answer`."""
    (tools / "answer").write_text(answer if isinstance(answer, str) else json.dumps(answer))
    (tools / "npm").write_text(
        f"#!/bin/sh\n[ \"$*\" = 'config list --json' ] && /bin/cat '{tools}/answer'; exit {exit_code}\n"
    )
    (tools / "npm").chmod(0o755)


@pytest.mark.usefixtures("tools")
def test_without_settings_there_are_none() -> None:
    """A machine without npm, files and environment has no settings."""
    assert dict(npm_settings.read().values) == {}


@pytest.mark.usefixtures("tools")
def test_the_order_of_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment goes before the project's file, that before the user's, and that before the global one."""
    project = home / "work" / "inner"
    project.mkdir(parents=True)
    (home / "work" / "package.json").touch()
    (home / "work" / ".npmrc").write_text("b=project\nc=project\n")
    (home / ".npmrc").write_text("a=user\nb=user\nc=user\nd=user\n")
    (home / "global").write_text("d=global\ne=global\n")
    monkeypatch.setenv("NPM_CONFIG_GLOBALCONFIG", str(home / "global"))
    monkeypatch.setenv("npm_config_c", "environment")
    monkeypatch.chdir(project)
    settings = npm_settings.read()
    assert [settings.get(key) for key in "abcde"] == ["user", "project", "environment", "user", "global"]


@pytest.mark.parametrize("marker", ["package.json", "node_modules"])
@pytest.mark.usefixtures("tools")
def test_the_projects_folder(marker: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest folder upwards with a package.json or node_modules is the project, else the current one."""
    outer, inner = home / "outer", home / "outer" / "inner"
    inner.mkdir(parents=True)
    (outer / ".npmrc").write_text("where=outer")
    (inner / ".npmrc").write_text("where=inner")
    monkeypatch.chdir(inner)
    assert npm_settings.read().get("where") == "inner"
    (outer / marker).mkdir() if marker == "node_modules" else (outer / marker).touch()
    assert npm_settings.read().get("where") == "outer"


def test_what_npm_tells_goes_before(tools: Path, home: Path) -> None:
    """Its answer replaces what the files say, also where it says null; what it leaves out is the files'."""
    (home / "its").write_text(
        f"registry=https://mine.example\nproxy=http://mine.example\n//a.example/:_authToken={HIDDEN}"
    )
    (home / ".npmrc").write_text("registry=https://not-read.example")
    says(
        tools,
        {
            "userconfig": str(home / "its"),
            "registry": "https://told.example",
            "proxy": None,
            "strict-ssl": False,
        },
    )
    settings = npm_settings.read()
    assert settings.get("registry") == "https://told.example"
    assert settings.get("proxy") is None
    assert settings.get("strict-ssl") == "false"
    assert settings.get("//a.example/:_authToken") == HIDDEN


def test_lists_have_commas(tools: Path) -> None:
    """A list of npm's is one value; an empty one is none."""
    says(tools, {"noproxy": ["a.example", "b.example"], "ca": [""]})
    settings = npm_settings.read()
    assert (settings.get("noproxy"), settings.get("ca")) == ("a.example,b.example", None)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("key=value", "value"),
        ("  key  =  value  ", "value"),
        ("key = a=b==", "a=b=="),
        ('key="a;b # \\"c\\""', 'a;b # "c"'),
        ("key='a;b'", "a;b"),
        ("key=a ; comment", "a"),
        ("key=a#comment", "a"),
        ("key=a\\;b\\#c\\\\d\\e", "a;b#c\\d\\e"),
        ("key=a\\", "a\\"),
        ("key", "true"),
        ("key=", None),
        ("key=${SET}", "one"),
        ("key=a${SET}b${SET}", "aonebone"),
        ("key=${SET?}", "one"),
        ("key=a${UNSET?}b", "ab"),
        ("key=${UNSET}", None),
        ("key=\\${SET}", None),
        ("; key=value", None),
        ("# key=value", None),
        ("[section]\nkey=value", None),
        ("key=one\r\nkey=two", "two"),
        ("key=\xff", "\xff"),
    ],
)
@pytest.mark.usefixtures("tools")
def test_a_line_is_read_as_npm_reads_it(
    line: str, value: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blanks, quotes, comments, backslashes and variables are npm's; a variable that is not set makes no value."""
    monkeypatch.setenv("SET", "one")
    monkeypatch.delenv("UNSET", raising=False)
    (home / ".npmrc").write_bytes(line.encode())
    assert npm_settings.read().get("key") == value


@pytest.mark.usefixtures("tools")
def test_the_environments_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are in any case and with underscores, but those of hosts are as they are."""
    monkeypatch.setenv("NPM_CONFIG_HTTPS_PROXY", "http://proxy.example")
    monkeypatch.setenv("npm_config__auth_x", "auth")
    monkeypatch.setenv("npm_config_//Host.example/a_b/:_authToken", HIDDEN)
    monkeypatch.setenv("npm_config_empty", "")
    assert dict(npm_settings.read().values) == {
        "https-proxy": "http://proxy.example",
        "_auth-x": "auth",
        "//Host.example/a_b/:_authToken": HIDDEN,
    }


@pytest.mark.parametrize(
    ("answer", "exit_code"), [(HIDDEN, 0), ("[1]", 0), ("[" * 100_000, 0), ("{}", 1), ("\xff", 0)]
)
def test_an_npm_that_fails_is_a_bad_setting(answer: str, exit_code: int, tools: Path) -> None:
    """Where npm does not tell its settings that is said, without what it quotes of them."""
    says(tools, answer, exit_code)
    with pytest.raises(PullError, match="npm config list") as caught:
        npm_settings.read()
    assert caught.value.reason == "BAD_SETTING"
    assert HIDDEN not in str(caught.value)


@pytest.mark.usefixtures("tools")
def test_a_file_that_cannot_be_read_is_a_bad_setting(home: Path) -> None:
    """A file of settings that is there but unreadable, or endless, is not passed over."""
    (home / ".npmrc").mkdir()
    with pytest.raises(PullError, match="cannot be read"):
        npm_settings.read()
    (home / ".npmrc").rmdir()
    (home / ".npmrc").write_bytes(b"a=b\n" * (npm_settings.MAX_FILE_BYTES // 4))
    assert npm_settings.read().get("a") == "b"
    (home / ".npmrc").write_bytes(b"a=b\n" * (npm_settings.MAX_FILE_BYTES // 4) + b"\n")
    with pytest.raises(PullError, match="over"):
        npm_settings.read()


def test_settings_do_not_show_credentials() -> None:
    """Values are not in the representation."""
    assert HIDDEN not in repr(NpmSettings({"//a.example/:_authToken": HIDDEN}))


@pytest.mark.system
def test_the_real_npm(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """npm tells registries and proxies; what it hides for its credentials comes from the same files."""
    assert shutil.which("npm")
    monkeypatch.setenv("TOKEN", HIDDEN)
    (home / ".npmrc").write_text(
        "registry=https://a.example/npm/\n@tiny:registry=https://b.example/\n"
        f"https-proxy=http://me:{HIDDEN}@proxy.example:1\nstrict-ssl=false\n//a.example/npm/:_authToken=${{TOKEN}}\n"
    )
    settings = npm_settings.read()
    assert settings.get("registry") == "https://a.example/npm/"
    assert settings.get("@tiny:registry") == "https://b.example/"
    assert settings.get("https-proxy") == f"http://me:{HIDDEN}@proxy.example:1"
    assert settings.get("strict-ssl") == "false"
    assert settings.get("//a.example/npm/:_authToken") == HIDDEN
