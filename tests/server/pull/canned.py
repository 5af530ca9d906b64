"""A fetcher with canned pages, and what it was asked for."""

from __future__ import annotations

from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Bounds, Remote


class Canned:
    """Answers each URL with its page or fault, any other with NOT_FOUND."""

    def __init__(self, pages: dict[str, bytes | PullError]) -> None:
        self.pages = pages
        self.asked: list[Remote] = []

    def __call__(self, remote: Remote, bounds: Bounds, max_bytes: int) -> bytes:
        self.asked.append(remote)
        page = self.pages.get(remote.url, PullError("NOT_FOUND", "no such page"))
        if isinstance(page, PullError):
            raise page
        assert len(page) <= max_bytes <= bounds.index_bytes
        return page
