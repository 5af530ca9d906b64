"""An hf source is at the hub that the machine's client is set to, with its token."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenwire_server.pull import hub
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Remote
from tokenwire_server.sources import HubSource

TINY = HubSource("org/tiny", "main", "tokenizer.json")
HIDDEN = "hunter2"


def remote_of(source: HubSource = TINY) -> Remote:
    located = hub.locate(source)
    assert located.remote is not None
    assert (located.path, located.archive, located.member) == (None, None, "")
    assert HIDDEN not in repr(located)
    return located.remote


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (TINY, "org/tiny/resolve/main/tokenizer.json"),
        (HubSource("tiny", "v1.0", "a/b.model"), "tiny/resolve/v1.0/a/b.model"),
        (
            HubSource("org/tiny", "refs/pr/1", "a b?#%é.json"),
            "org/tiny/resolve/refs%2Fpr%2F1/a%20b%3F%23%25%C3%A9.json",
        ),
    ],
)
@pytest.mark.usefixtures("home")
def test_the_address_of_a_file(source: HubSource, path: str) -> None:
    """Repository, revision and file are parts of the path, each quoted."""
    remote = remote_of(source)
    assert remote.url == f"https://huggingface.co/{path}"
    assert remote.access.authorization is None
    assert not remote.access.allow_plain_http


@pytest.mark.parametrize(
    ("endpoint", "base"),
    [
        ("https://hub.example", "https://hub.example"),
        ("https://hub.example/hf/", "https://hub.example/hf"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("", "https://huggingface.co"),
    ],
)
@pytest.mark.usefixtures("home")
def test_a_mirror_of_the_hub(endpoint: str, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """HF_ENDPOINT is asked in place of the hub, without TLS on this machine only."""
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    remote = remote_of()
    assert remote.url == f"{base}/org/tiny/resolve/main/tokenizer.json"
    assert remote.access.allow_plain_http == base.startswith("http:")


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        (f"http://me:{HIDDEN}@hub.example", "INSECURE_URL"),
        (f"ftp://me:{HIDDEN}@hub.example", "BAD_SETTING"),
        ("hub.example", "BAD_SETTING"),
        ("file:///tmp", "BAD_SETTING"),
    ],
)
@pytest.mark.usefixtures("home")
def test_an_endpoint_that_cannot_be_used(endpoint: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other schemes, and plain http beyond this machine, are refused by name."""
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(PullError, match="HF_ENDPOINT") as caught:
        hub.locate(TINY)
    assert caught.value.reason == reason
    assert HIDDEN not in str(caught.value)


def test_the_order_of_tokens(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HF_TOKEN goes before the old name, that before the file at HF_TOKEN_PATH, HF_HOME or the cache's."""
    files = {
        None: home / ".cache" / "huggingface" / "token",
        "XDG_CACHE_HOME": home / "xdg" / "huggingface" / "token",
        "HF_HOME": home / "hf" / "token",
        "HF_TOKEN_PATH": home / "token",
    }
    for name, path in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f" {name}\n")
        if name:
            folder = {"HF_HOME": path.parent, "XDG_CACHE_HOME": path.parent.parent}
            monkeypatch.setenv(name, str(folder.get(name, path)))
        assert remote_of().access.authorization == f"Bearer {name}"
    for name in ("HUGGING_FACE_HUB_TOKEN", "HF_TOKEN"):
        monkeypatch.setenv(name, f"{name}\n")
        assert remote_of().access.authorization == f"Bearer {name}"
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    assert remote_of().access.authorization is None


def test_an_empty_token_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file or variable of blanks is no token."""
    (home / "token").write_text("\n")
    monkeypatch.setenv("HF_TOKEN_PATH", str(home / "token"))
    monkeypatch.setenv("HF_TOKEN", " ")
    assert remote_of().access.authorization is None


def test_a_token_that_is_none_is_a_bad_setting(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that no header takes, or that cannot be read, is told without it."""
    monkeypatch.setenv("HF_TOKEN", f"{HIDDEN}\nX-Evil: 1")
    with pytest.raises(PullError, match="HF_TOKEN") as caught:
        hub.locate(TINY)
    assert HIDDEN not in str(caught.value)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setenv("HF_TOKEN_PATH", str(home))
    with pytest.raises(PullError, match="cannot be read") as caught:
        hub.locate(TINY)
    assert caught.value.reason == "BAD_SETTING"


@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
@pytest.mark.usefixtures("home")
def test_a_client_that_is_offline(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the client is set to be offline, that is told by name."""
    monkeypatch.setenv(name, "0")
    assert remote_of()
    for value in ("1", "true"):
        monkeypatch.setenv(name, value)
        with pytest.raises(PullError, match=name) as caught:
            hub.locate(TINY)
        assert caught.value.reason == "BAD_SETTING"
