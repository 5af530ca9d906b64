"""Pages of Python package indexes: both forms, and whatever else a stranger may send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenwire_server.pull import bounded_json, simple_index
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.simple_index import Link, read_page

URL = "https://index.example/simple/tiny/"
SHA256 = "ab" * 32
FILE = {"filename": "tiny-1.0.tar.gz", "url": "../../files/tiny-1.0.tar.gz", "hashes": {"sha256": SHA256}}


def read(page: bytes | str | dict[str, Any]) -> list[Link]:
    if isinstance(page, dict):
        page = json.dumps(page)
    return read_page(page if isinstance(page, bytes) else page.encode(), URL, "the page")


def outcome(page: bytes | dict[str, Any]) -> int | str:
    """The number of links, or the reason why there are none."""
    try:
        return len(read(page))
    except PullError as error:
        return error.reason


def test_both_forms_of_a_page_give_the_same_links() -> None:
    """A file's name, absolute address and hash are the same from JSON and from HTML."""
    html = f'<!DOCTYPE html><a href="../../files/tiny-1.0.tar.gz#sha256={SHA256}" data-yanked="">tiny</a>'
    links = [
        Link("tiny-1.0.tar.gz", link.url.partition("#")[0], link.sha256)
        for page in (html, {"meta": {"api-version": "1.3"}, "files": [FILE]})
        for link in read(page)
    ]
    assert links == [Link("tiny-1.0.tar.gz", "https://index.example/files/tiny-1.0.tar.gz", SHA256)] * 2


def test_json_tells_the_size() -> None:
    """The size is taken from where it is told."""
    assert read({"files": [{**FILE, "size": 7}]})[0].size_bytes == 7


@pytest.mark.parametrize(
    ("html", "address"),
    [
        ("<a href='x.whl'>", URL + "x.whl"),
        ("<A HREF=x.whl>", URL + "x.whl"),
        ("<a href='/y/x.whl'>", "https://index.example/y/x.whl"),
        ("<a href='//cdn.example/x.whl'>", "https://cdn.example/x.whl"),
        ("<base href='https://cdn.example/f/'><a href=x.whl>", "https://cdn.example/f/x.whl"),
        ("<base href='../f/'><base href='/no/'><a href=x.whl>", "https://index.example/simple/f/x.whl"),
        ("<a href='https://cdn.example/x.whl?a=1&amp;b=2'>", "https://cdn.example/x.whl?a=1&b=2"),
        ("<a href='https://['><a href=x.whl>", URL + "x.whl"),
        ("<!-- <a href=no.whl> --><a href=' x.whl '>", URL + "x.whl"),
    ],
)
def test_addresses_of_html_are_those_of_a_browser(html: str, address: str) -> None:
    """Relative addresses, the page's base, references and comments are read as HTML has them."""
    assert [link.url for link in read(html)] == [address]


def test_a_filename_is_unquoted() -> None:
    """A file's name is the last part of its path, unquoted."""
    assert read("<a href='tiny-1.0%2Bcpu-py3-none-any.whl#sha256=1'>") == [
        Link("tiny-1.0+cpu-py3-none-any.whl", URL + "tiny-1.0%2Bcpu-py3-none-any.whl#sha256=1", "1")
    ]


@pytest.mark.parametrize(
    "page",
    [
        "{",
        "{}",
        '{"files": {}}',
        '{"files": [1]}',
        '{"files": [{}]}',
        '{"meta": 1, "files": []}',
        '{"meta": {"api-version": 1}, "files": []}',
        '{"meta": {"api-version": "2.0"}, "files": []}',
        '{"files": [' + "9" * 5000 + "]}",
        '{"files": ' + "[" * 100_000,
        b'{"files": "\xff"}',
        {"files": [FILE, {**FILE, "filename": None}]},
        {"files": [{**FILE, "url": ["x"]}]},
        {"files": [{**FILE, "url": "https://[/x"}]},
        {"files": [{**FILE, "hashes": SHA256}]},
        {"files": [{**FILE, "hashes": {"sha256": 1}}]},
        {"files": [{**FILE, "size": -1}]},
        {"files": [{**FILE, "size": True}]},
        {"files": [{**FILE, "size": "7"}]},
    ],
)
def test_a_page_that_is_none_is_refused(page: str | bytes | dict[str, Any]) -> None:
    """Wrong types, versions, depths and encodings are BAD_INDEX."""
    with pytest.raises(PullError) as caught:
        read(page)
    assert caught.value.reason == "BAD_INDEX"


@pytest.mark.parametrize(("n_files", "is_read"), [(3, True), (4, False), (400, False)])
def test_the_number_of_files_is_bounded(n_files: int, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page lists at most as many files as the bound, in both forms."""
    monkeypatch.setattr(simple_index, "MAX_FILES", 3)
    for page in ("<a href=x>" * n_files, {"files": [FILE] * n_files}):
        if is_read:
            assert len(read(page)) == n_files
        else:
            with pytest.raises(PullError, match="over 3"):
                read(page)


@pytest.mark.parametrize(("n_values", "is_read"), [(30, True), (31, False), (3000, False)])
def test_the_number_of_values_is_bounded(
    n_values: int, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JSON page has at most as many values as the bound, whatever they are."""
    monkeypatch.setattr(bounded_json, "MAX_VALUES", 30)
    padding = n_values - 4  # the document, `more`, `files`, and one that an empty list might have
    page = f'{{"files": [], "more": [{",".join(["1"] * padding)}]}}'
    if is_read:
        assert read(page) == []
    else:
        with pytest.raises(PullError, match="without bounds"):
            read(page)


@pytest.mark.parametrize("start", ["<a ", "<!--", "<a href='"])
def test_a_tag_is_bounded(start: str) -> None:
    """A tag that does not end is refused, and links after what is within the bound are found."""
    n_characters = simple_index.MAX_TAG_CHARACTERS
    end = {"<!--": "-->", "<a href='": "'>"}.get(start, ">")
    links = read(start + "x" * (n_characters - 100) + end + "<a href=x.whl>")
    assert links[-1] == Link("x.whl", URL + "x.whl")
    with pytest.raises(PullError, match="tag or comment"):
        read(start + "x" * (n_characters * 2))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)
_ENTRY = st.fixed_dictionaries(
    {}, optional={key: _JSON | st.text() for key in ("filename", "url", "hashes", "size", "yanked")}
)
_MARKUP = [
    "<a ",
    "href=",
    "'",
    '"',
    ">",
    "<base ",
    "<!--",
    "-->",
    "<![",
    "<!",
    "<?",
    "&#x110000;",
    "&",
    "</a",
    "/",
]
_ADDRESSES = ["https://[", "#sha256=", "%00", "\0", "<script>", "javascript:", "//", "..", "x.whl", " "]
_SOUP = st.lists(st.sampled_from([*_MARKUP, *_ADDRESSES]), max_size=30).map("".join)


@example(b"<![x")
@given(st.binary() | st.text().map(str.encode) | _SOUP.map(str.encode))
def test_any_bytes_are_links_or_refused(page: bytes) -> None:
    """Whatever a page holds, it is read or BAD_INDEX."""
    assert outcome(page) == "BAD_INDEX" or isinstance(outcome(page), int)


@given(st.fixed_dictionaries({"files": st.lists(_ENTRY | _JSON, max_size=3)}, optional={"meta": _JSON}))
def test_any_json_is_links_or_refused(page: dict[str, Any]) -> None:
    """Whatever types a page's JSON has, it is read or BAD_INDEX."""
    assert outcome(page) in ("BAD_INDEX", len(page["files"]))
