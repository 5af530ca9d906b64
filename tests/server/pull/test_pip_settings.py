"""pip's settings are found as pip has them: by asking it, or without it from the environment."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from tokenwire_server.pull import pip_settings
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.pip_settings import PipSettings

HIDDEN = "hunter2"


@pytest.fixture
def no_pip(monkeypatch: pytest.MonkeyPatch, tools: Path) -> Path:
    """A Python without pip, and none on PATH; gives the folder where one may be put."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pip" else find_spec(name))
    return tools


def says(tools: Path, text: str, exit_code: int = 0) -> None:
    """Make up a pip that answers with `text`."""
    (tools / "answer").write_text(text)
    (tools / "pip").write_text(
        f"#!/bin/sh\n[ \"$*\" = 'config list' ] && /bin/cat '{tools}/answer'; exit {exit_code}\n"
    )
    (tools / "pip").chmod(0o755)


@pytest.mark.usefixtures("no_pip")
def test_without_settings_there_is_pypi() -> None:
    """The index is PyPI, and nothing else is set."""
    assert pip_settings.read() == PipSettings(index_urls=("https://pypi.org/simple",))


@pytest.mark.usefixtures("no_pip")
def test_the_environment_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a pip, its variables have each setting; lists are parted by blanks; empty ones do not count."""
    for name in ("ca.pem", "me.pem"):
        (home / name).touch()
    for name, value in {
        "INDEX_URL": "https://a.example/simple",
        "EXTRA_INDEX_URL": " https://b.example/simple\n https://c.example/simple https://b.example/simple",
        "FIND_LINKS": "/wheels https://d.example/files.html",
        "NO_INDEX": "",
        "CERT": "~/ca.pem",
        "CLIENT_CERT": str(home / "me.pem"),
        "PROXY": "http://proxy.example:3128",
        "TRUSTED_HOST": "A.example b.example:8080",
    }.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    assert pip_settings.read() == PipSettings(
        index_urls=("https://a.example/simple", "https://b.example/simple", "https://c.example/simple"),
        find_links=("/wheels", "https://d.example/files.html"),
        cert=home / "ca.pem",
        client_cert=home / "me.pem",
        proxy="http://proxy.example:3128",
        trusted_hosts=("a.example", "b.example:8080"),
    )


def test_the_order_of_sections(no_pip: Path) -> None:
    """The environment goes before [download], that before [install], and that before [global]."""
    says(
        no_pip,
        ":env:.proxy='http://env.example'\n"
        "download.cert='/'\ndownload.find-links='/download'\ndownload.proxy='http://download.example'\n"
        "install.find-links='/install'\ninstall.index-url='https://install.example'\n"
        "global.index-url='https://global.example'\nglobal.extra-index-url='https://x.example\\nhttps://y.example'\n"
        "global.trusted-host='x.example'\nwheel.index-url='https://wheel.example'\nglobal.timeout='60'\n",
    )
    assert pip_settings.read() == PipSettings(
        index_urls=("https://install.example", "https://x.example", "https://y.example"),
        find_links=("/download",),
        cert=Path("/"),
        proxy="http://env.example",
        trusted_hosts=("x.example",),
    )


@pytest.mark.parametrize(("value", "n_indexes"), [("1", 0), ("Yes", 0), ("true", 0), ("off", 1), ("0", 1)])
def test_no_index(value: str, n_indexes: int, no_pip: Path) -> None:
    """`no-index` is any of pip's words for true or false, and leaves find-links alone."""
    says(no_pip, f"global.no-index='{value}'\nglobal.find-links='/wheels'\n")
    settings = pip_settings.read()
    assert (len(settings.index_urls), settings.find_links) == (n_indexes, ("/wheels",))


@pytest.mark.parametrize(
    "text",
    ["global.no-index='perhaps'", "global.cert='/no/such/file'", "global.cert=unquoted", "no setting", "a=1"],
)
def test_what_cannot_be_used_is_a_bad_setting(text: str, no_pip: Path) -> None:
    """A setting that cannot be used, or an answer that cannot be read, is named."""
    says(no_pip, f"global.index-url='https://me:{HIDDEN}@a.example'\n{text}\n")
    with pytest.raises(PullError) as caught:
        pip_settings.read()
    assert caught.value.reason == "BAD_SETTING"
    assert HIDDEN not in str(caught.value)


def test_a_pip_that_fails_is_a_bad_setting(no_pip: Path) -> None:
    """Where pip refuses its own files that is said, without what it quotes of them."""
    says(no_pip, HIDDEN, exit_code=1)
    with pytest.raises(PullError, match="pip config list") as caught:
        pip_settings.read()
    assert caught.value.reason == "BAD_SETTING"
    assert HIDDEN not in str(caught.value)


@pytest.mark.usefixtures("no_pip")
def test_certificates_of_pips_http_library(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """REQUESTS_CA_BUNDLE counts where pip has no `cert` of its own."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(home))
    assert pip_settings.read().cert == home
    monkeypatch.setenv("PIP_CERT", "/")
    assert pip_settings.read().cert == Path("/")


def test_the_real_pip(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This Python's own pip tells what is in its file, quotes and lines included, and the environment over it."""
    pytest.importorskip("pip")
    file = home / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://me:it's@a.example/simple\nno-index = false\n"
        "find-links =\n  /one\n  /two\n[install]\nextra-index-url = https://b.example\n"
        "trusted-host = b.example\nproxy = http://file.example:1\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_PROXY", "http://env.example:1")
    settings = pip_settings.read()
    assert settings.index_urls == ("https://me:it's@a.example/simple", "https://b.example")
    assert settings.find_links == ("/one", "/two")
    assert settings.proxy == "http://env.example:1"
    assert settings.trusted_hosts == ("b.example",)


def test_settings_do_not_show_credentials() -> None:
    """Places and the proxy, which may hold credentials, are not in the representation."""
    url = f"https://me:{HIDDEN}@a.example"
    assert HIDDEN not in repr(PipSettings(index_urls=(url,), find_links=(url,), proxy=url))


def test_a_module_of_the_folder_is_not_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file pip.py beside the manifest is not taken for pip."""
    (home / "pip.py").write_text("import pathlib; pathlib.Path('ran').touch()")
    monkeypatch.setenv("PIP_INDEX_URL", "https://example.com/simple")
    assert pip_settings.read().index_urls[0].startswith("https://example.com")
    assert not (home / "ran").exists()
