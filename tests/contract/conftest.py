"""The services that most contract tests share: the embedded tokenizers, and a small one with small limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.process import Service, serving
from tests.server import made_up

SMALL_LIMITS = """
[limits]
message_bytes = 20000
text_bytes = 1000
regex_text_bytes = 100
inputs = 10
decode_ids = 50
queue_bytes = 20000
inline_bytes = 500
"""


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """cl100k_base with the default limits."""
    with serving("--embedded", "cl100k_base") as running:
        yield running


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """`tiny` and `own` (its pattern on the regex engine) with small limits, beside `bad`, which cannot be proven."""
    folder = tmp_path_factory.mktemp("small")
    path = made_up.manifest(
        folder,
        SMALL_LIMITS,
        made_up.table(folder, extra='aliases = ["small"]'),
        made_up.table(folder, "own", pattern=made_up.OWN_PATTERN),
        made_up.table(folder, "bad", sha256="0" * 64),
    )
    with serving("--config", str(path)) as running:
        yield running
