"""Who a client is by its certificate."""

from __future__ import annotations

import pytest
from tokenwire_server import security


@pytest.mark.parametrize(
    ("context", "identity"),
    [
        ({}, ""),
        ({"transport_security_type": [b"ssl"]}, ""),
        ({"x509_common_name": []}, ""),
        ({"x509_common_name": [b"billing", b"other"]}, "billing"),
        ({"x509_common_name": [b"\xff"]}, "\ufffd"),
    ],
)
def test_a_client_is_its_common_name(context: dict[str, list[bytes]], identity: str) -> None:
    """A verified certificate gives its first common name; without one a client is a stranger."""
    assert security.identity(context) == identity
