"""Addresses are read without their secrets, and spelled one way."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenwire_server.pull.urls import MAX_URL_BYTES, is_loopback, read_address

HIDDEN = "hunter2"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://a.example", "https://a.example/"),
        ("HTTPS://A.Example:443/X?y=1&z#fragment", "https://a.example/X?y=1&z"),
        ("http://a.example:80/", "http://a.example/"),
        ("http://a.example:443/", "http://a.example:443/"),
        ("https://[::1]:8080/x", "https://[::1]:8080/x"),
        (f"https://me:{HIDDEN}@a.example/x", "https://a.example/x"),
        (" https://a.example/a b/é%20 ", "https://a.example/a%20b/%C3%A9%20"),
        ("https://my_host.example./", "https://my_host.example./"),
        (
            "https://a.example/" + "x" * (MAX_URL_BYTES - 18),
            "https://a.example/" + "x" * (MAX_URL_BYTES - 18),
        ),
        ("https://a.example/" + "x" * (MAX_URL_BYTES - 17), None),
        ("https://a.example/" + "x" * (1 << 20), None),
        ("https://", None),
        ("https:///x", None),
        ("https://a.example:0/", None),
        ("https://a.example:65536/", None),
        ("https://a.example:x/", None),
        ("https://a example/", None),
        ("https://é.example/", None),
        ("https://-a.example/", None),
        ("https://[a.example]/", None),
        ("https://[fe80::1%25eth0]/", None),
        ("ftp://a.example/", None),
        ("//a.example/", None),
        ("a.example", None),
        ("", None),
    ],
)
def test_addresses(text: str, url: str | None) -> None:
    """An http(s) address of a host has one spelling, without user, password and fragment; else there is none."""
    address = read_address(text)
    assert (address.url if address else None) == url


@given(st.text() | st.text().map("https://a.example/{}".format) | st.text().map("https://{}/".format))
@example("https://[::1]]/")
@example("https://a.example/\ud800")
@example("https://user\r\n:x@a.example/\r\nX-Evil: 1")
def test_any_text_is_an_address_or_none(text: str) -> None:
    """What is an address is printable ASCII without blanks, and read again it is the same."""
    address = read_address(text)
    if address is not None:
        again = read_address(address.url)
        assert again is not None
        assert again.url == address.url
        assert again.origin == address.origin
        assert all("!" <= character <= "~" for character in address.url + (address.authorization or "")[6:])


def test_user_and_password_are_a_header() -> None:
    """Both are unquoted and encoded as Basic; a user alone has an empty password."""
    for text, header in (
        ("https://me:hunter2@a.example/", "Basic bWU6aHVudGVyMg=="),
        ("https://m%65:h%75nter2@a.example/", "Basic bWU6aHVudGVyMg=="),
        ("https://me@a.example/", "Basic bWU6"),
        ("https://a.example/", None),
    ):
        address = read_address(text)
        assert address is not None
        assert address.authorization == header
        assert HIDDEN not in f"{address!r} {address.shown}"


def test_messages_have_no_query() -> None:
    """A query may be a signature: it is neither in what messages show nor in the representation."""
    address = read_address(f"https://a.example/x?key={HIDDEN}")
    assert address is not None
    assert address.shown == "https://a.example/x"
    assert HIDDEN not in repr(address)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.255.0.1", True),
        ("127.1", True),
        ("0x7f000001", True),
        ("2130706433", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),  # noqa: S104  an address to be told, none to listen on
        ("10.1.2.3", False),
        ("fd00::1", False),
        ("a.example", False),
        ("localhost.example", False),
        ("127.0.0.1.example", False),
    ],
)
def test_this_machine(host: str, expected: bool) -> None:
    """This machine is known by the spelling of a host."""
    assert is_loopback(host) is expected
