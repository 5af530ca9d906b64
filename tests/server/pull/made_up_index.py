"""A made-up index of Python packages with one package, and what is found there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from tokenwire_server.pull import pypi
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.pip_settings import PipSettings
from tokenwire_server.pull.remote import Bounds, Located
from tokenwire_server.sources import PypiSource

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
