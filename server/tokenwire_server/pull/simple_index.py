"""The pages of a Python package index: links to files, in JSON (PEP 691) or HTML (PEP 503), both PyPI's simple API.

A page comes from a stranger: it is read in time linear in its length, and whatever is in it, the answer is
links or `BAD_INDEX`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, NoReturn
from urllib.parse import parse_qs, unquote, urljoin, urlsplit

from tokenwire_server.pull.bounded_json import read_json
from tokenwire_server.pull.errors import PullError

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
MAX_FILES = 100_000
"""Files one page may list; the largest packages have some thousands."""
MAX_HTML_BYTES = 16 << 20
"""Of a page that is not JSON: the parser takes a second or two for the worst megabyte."""
MAX_TAG_CHARACTERS = 1 << 17
_CHUNK_CHARACTERS = 1 << 14


@dataclass(frozen=True, slots=True)
class Link:
    """A file as a page has it: nothing is checked but the types. `url` is absolute."""

    filename: str
    url: str
    sha256: str | None = None
    size_bytes: int | None = None


def read_page(page: bytes, url: str, shown: str) -> list[Link]:
    """The links of the page that was at `url`, in its order; `shown` is what messages call it.

    Raises `PullError` (BAD_INDEX) for a page that is neither form, or lists over `MAX_FILES` files.
    """
    return _json(page, url, shown) if page.lstrip()[:1] == b"{" else _html(page, url, shown)


def _bad(shown: str, what: str) -> NoReturn:
    raise PullError("BAD_INDEX", f"the page {shown} {what}; see whether that is a simple index of packages")


def _json(page: bytes, url: str, shown: str) -> list[Link]:
    try:
        document = read_json(page)
    except ValueError:
        _bad(shown, "begins like JSON and is none, or one without bounds")
    meta = document.get("meta", {})
    version = meta.get("api-version", "1.0") if isinstance(meta, dict) else None
    if not isinstance(version, str) or version.partition(".")[0] != "1":
        _bad(shown, "is of a version of the API that is not known")
    files = document.get("files")
    if not isinstance(files, list) or len(files) > MAX_FILES:
        _bad(shown, f"has no list of files, or one of over {MAX_FILES}")
    links = [_json_link(each, url) for each in files]
    found = [link for link in links if link]
    if len(found) < len(links):
        _bad(shown, "lists a file without a proper name, address, hash or size")
    return found


def _json_link(entry: Any, base: str) -> Link | None:
    """None for an entry whose types are wrong."""
    if not isinstance(entry, dict):
        return None
    filename, url, hashes, size = (entry.get(key) for key in ("filename", "url", "hashes", "size"))
    sha256 = hashes.get("sha256") if isinstance(hashes, dict) else None
    if not isinstance(filename, str) or not isinstance(url, str):
        return None
    if not isinstance(sha256, str | None) or not isinstance(hashes, dict | None):
        return None
    if size is not None and (type(size) is not int or size < 0):
        return None
    try:
        return Link(filename, urljoin(base, url), sha256, size)
    except ValueError:
        return None


class _Anchors(HTMLParser):
    """Collects the addresses of anchors, and the first <base>."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get("href")
        if address and tag == "a":
            self.addresses.append(address)
            if len(self.addresses) > MAX_FILES:
                raise OverflowError
        elif address and tag == "base" and self.base is None:
            self.base = address


def _html(page: bytes, url: str, shown: str) -> list[Link]:
    if len(page) > MAX_HTML_BYTES:
        _bad(shown, f"has {len(page)} bytes of HTML, of which {MAX_HTML_BYTES} at most are read")
    anchors = _Anchors()
    text = io.TextIOWrapper(io.BytesIO(page), encoding="utf-8", errors="replace", newline="")
    try:
        # In chunks, since a tag takes hundreds of times its own bytes: what is held back is the beginning of one.
        # Without `close`, which looks again and again through a tail that never ends.
        while chunk := text.read(_CHUNK_CHARACTERS):
            anchors.feed(chunk)
            if len(anchors.rawdata) > MAX_TAG_CHARACTERS:
                _bad(shown, f"has a tag or comment of over {MAX_TAG_CHARACTERS} characters")
    except OverflowError:
        _bad(shown, f"lists over {MAX_FILES} files")
    except (AssertionError, ValueError):  # The parser's word for a declaration it does not know.
        _bad(shown, "is neither HTML nor JSON")
    links = []
    for address in anchors.addresses:
        try:
            absolute = urljoin(urljoin(url, anchors.base or ""), address.strip())
            parts = urlsplit(absolute)
            hashes = parse_qs(parts.fragment).get("sha256")
        except ValueError:  # Not an address, so not a file.
            continue
        filename = unquote(parts.path.rpartition("/")[2])
        links.append(Link(filename, absolute, hashes[0] if hashes else None))
    return links
