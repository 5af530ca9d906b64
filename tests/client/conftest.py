"""Fixtures of the client's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client.fake_service import Ask, FakeService, ask_async, ask_blocking, serving


@pytest.fixture
def service() -> Iterator[FakeService]:
    """A scripted service."""
    with serving() as service:
        yield service


@pytest.fixture(params=[ask_blocking, ask_async], ids=["blocking", "asyncio"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Makes one call; each law is tested on both clients."""
    function: Ask = request.param
    return function
