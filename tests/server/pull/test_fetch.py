"""Transfers: whole files or named errors, within bounds, with nothing left behind."""

from __future__ import annotations

import hashlib
import resource
from dataclasses import replace
from pathlib import Path

import pytest
from tokenwire_server.pull.fetch import fetch, fetch_small
from tokenwire_server.pull.remote import Access, Bounds, Remote

from tests.server.pull.mirror import Answer, Mirror, redirect
from tests.server.pull.transfers import BODY, BOUNDS, PLAIN, QUICK, Waits, files, refused, remote

# What arrives


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
@pytest.mark.parametrize("body", [b"", b"x", BODY, b"much " * 100_000])
def test_a_file_arrives_whole(mirror: Mirror, partial: Path, framing: str, body: bytes) -> None:
    """Every framing of HTTP gives the very bytes, and the progress ends at their number."""
    mirror.routes["/file"] = Answer(body, framing=framing)
    told: list[tuple[int, int | None]] = []
    fetch(remote(mirror), partial, BOUNDS, lambda here, total: told.append((here, total)))
    assert partial.read_bytes() == body
    assert [here for here, _ in told] == sorted(here for here, _ in told)
    assert not body or told[-1] == (len(body), len(body) if framing == "length" else None)
    assert fetch_small(remote(mirror), BOUNDS, len(body)) == body


def test_the_request_says_who_asks_and_wants_bytes_as_they_are(mirror: Mirror, partial: Path) -> None:
    """No compression is asked for, and the accepted kind is the remote's."""
    fetch(replace(remote(mirror), accept="application/json"), partial, BOUNDS)
    headers = mirror.requests[0].headers
    assert headers["user-agent"].startswith("tokenwire/")
    assert (headers["accept"], headers["accept-encoding"]) == ("application/json", "identity")
    assert "authorization" not in headers


def test_a_query_and_other_alphabets_reach_the_server(mirror: Mirror, partial: Path) -> None:
    """The target is sent as it is written, percent-encoded where it must be."""
    mirror.routes["/%C3%BC"] = PLAIN
    fetch(remote(mirror, "/ü?a=%20b"), partial, BOUNDS)
    assert mirror.requests[0].target == "/%C3%BC?a=%20b"


def test_https_is_checked_with_the_authority_that_is_named(tmp_path: Path, partial: Path) -> None:
    """A certificate of an authority in a file or folder is trusted, and no other is."""
    with Mirror({"/file": PLAIN}, tls=tmp_path) as mirror:
        fetch(remote(mirror), partial, BOUNDS)
        assert partial.read_bytes() == BODY
        refused(
            lambda: fetch_small(remote(mirror, ca=None), BOUNDS, 9000),
            "UNREACHABLE",
            "not trusted",
            "SSL_CERT_FILE",
        )


def test_the_environment_names_the_authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SSL_CERT_FILE is heeded where the access names none."""
    with Mirror({"/file": PLAIN}, tls=tmp_path) as mirror:
        monkeypatch.setenv("SSL_CERT_FILE", str(mirror.ca))
        assert fetch_small(remote(mirror, ca=None), BOUNDS, 9000) == BODY


def test_a_certificate_of_another_name_is_not_trusted(tmp_path: Path) -> None:
    """The name in the certificate is compared with the one in the URL, though an address is connected to."""
    with Mirror({"/file": PLAIN}, tls=tmp_path, names=["localhost"]) as mirror:
        assert fetch_small(remote(mirror), BOUNDS, 9000) == BODY
        other = Remote(f"https://127.0.0.1:{mirror.port}/file", mirror.access)
        refused(lambda: fetch_small(other, BOUNDS, 9000), "UNREACHABLE", "not trusted")


@pytest.mark.parametrize("field", ["ca", "client_cert"])
def test_certificates_that_cannot_be_read_are_named(tmp_path: Path, field: str) -> None:
    """The setting is at fault, not the network."""
    path = tmp_path / "none.pem"
    access = Access(ca=path) if field == "ca" else Access(client_cert=path)
    wrong = Remote("https://127.0.0.1:1/file", replace(access, proxy=""))
    refused(lambda: fetch_small(wrong, BOUNDS, 9), "BAD_SETTING", str(path))


# What is refused, with nothing left behind

REFUSALS: dict[str, tuple[Answer, str]] = {
    "missing": (Answer(status=404), "NOT_FOUND"),
    "gone": (Answer(status=410), "NOT_FOUND"),
    "unauthorized": (Answer(status=401), "HTTP_STATUS"),
    "forbidden": (Answer(status=403), "HTTP_STATUS"),
    "broken": (Answer(status=500), "HTTP_STATUS"),
    "no content": (Answer(status=204), "HTTP_STATUS"),
    "a range nobody asked for": (Answer(BODY, status=206), "HTTP_STATUS"),
    "compressed": (Answer(BODY, headers={"Content-Encoding": "gzip"}), "HTTP_STATUS"),
    "redirect to nowhere": (Answer(status=302), "HTTP_STATUS"),
    "redirect to nonsense": (redirect("http://[::1"), "HTTP_STATUS"),
    "not HTTP": (Answer(BODY, headers={"Bad\r\n\0": "x" * 70_000}), "HTTP_STATUS"),
    "redirect to another scheme": (redirect("https://127.0.0.1:1/file"), "REDIRECT_SCHEME"),
    "redirect to a file": (redirect("file:///etc/passwd"), "REDIRECT_SCHEME"),
    "redirect to ftp": (redirect("ftp://127.0.0.1/file"), "REDIRECT_SCHEME"),
    "redirect to another plain host": (redirect("http://example.invalid/file"), "INSECURE_URL"),
    "redirect to this machine": (redirect("http://127.0.0.1:1/file"), "REDIRECT_PRIVATE"),
    "redirects in a circle": (redirect("/file"), "TOO_MANY_REDIRECTS"),
    "announced over the bound": (Answer(BODY, length=1001), "TOO_LARGE"),
    "over the bound": (Answer(b"x" * 1001, framing="chunked"), "TOO_LARGE"),
    "announced too long": (Answer(BODY + b"x"), "LONGER_THAN_PINNED"),
    "too long": (Answer(BODY + b"x", framing="chunked"), "LONGER_THAN_PINNED"),
    "too long without an end": (
        Answer(BODY + b"x", framing="chunked", stall_after=769),
        "LONGER_THAN_PINNED",
    ),
    "announced too short": (Answer(BODY[:-1]), "SHORTER_THAN_PINNED"),
    "a byte changed": (Answer(b"x" + BODY[1:]), "CHECKSUM_MISMATCH"),
    "stalled": (Answer(BODY, stall_after=100), "TOO_SLOW"),
    "stalled before the body": (Answer(BODY, stall_after=0), "TOO_SLOW"),
    "stalled in a chunk": (Answer(BODY, stall_after=100, framing="chunked"), "TOO_SLOW"),
    "trickled headers": (Answer(BODY, trickle="head"), "TOO_SLOW"),
    "trickled bytes": (Answer(trickle="body", length=len(BODY)), "TOO_SLOW"),
    "a trickled size of a chunk": (Answer(trickle="chunk", framing="chunked"), "TOO_SLOW"),
}


OVER_TLS = (
    "announced too long",
    "too long",
    "stalled",
    "stalled in a chunk",
    "trickled headers",
    "trickled bytes",
)


@pytest.mark.parametrize(("name", "tls"), [*((n, False) for n in REFUSALS), *((n, True) for n in OVER_TLS)])
def test_a_mirror_that_misbehaves_is_named_and_leaves_nothing(
    name: str, tls: bool, tmp_path: Path, partial: Path
) -> None:
    """Each misbehaviour has its reason; no file stays, and no message holds a query or password."""
    answer, reason = REFUSALS[name]
    bounds = replace(QUICK if reason == "TOO_SLOW" else BOUNDS, download_bytes=1000)
    with Mirror({"/file": answer}, tls=tmp_path if tls else None) as mirror:
        target = replace(
            remote(mirror, "/file?secret=hush", authorization="Basic aHVzaA=="),
            checksum=("sha256", hashlib.sha256(BODY).hexdigest()),
            size_bytes=None if reason == "TOO_LARGE" else len(BODY),
        )
        fault = refused(lambda: fetch(target, partial, bounds, wait=Waits()), reason)
        assert files(partial.parent) == []
        assert "hush" not in str(fault)
        assert "aHVz" not in str(fault)
        refused(lambda: fetch_small(target, bounds, 1000, wait=Waits()), reason)


def test_a_file_at_the_bound_is_taken(mirror: Mirror, partial: Path) -> None:
    """The bounds are the most that is allowed."""
    fetch(replace(remote(mirror), size_bytes=len(BODY)), partial, replace(BOUNDS, download_bytes=len(BODY)))
    assert partial.read_bytes() == BODY


def test_a_transfer_ends_with_its_time(mirror: Mirror, partial: Path) -> None:
    """The time of one file bounds all of its transfer, whatever the rate."""
    mirror.routes["/file"] = replace(PLAIN, stall_after=5)
    refused(lambda: fetch(remote(mirror), partial, Bounds(timeout_s=0.3)), "TOO_SLOW")
    assert files(partial.parent) == []


def test_plain_http_is_refused_unless_the_host_is_trusted(mirror: Mirror, partial: Path) -> None:
    """Nothing is sent before the scheme is found wanting."""
    refused(lambda: fetch(remote(mirror, allow_plain_http=False), partial, BOUNDS), "INSECURE_URL", "https")
    assert mirror.requests == []


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/file", "https://", "https://[::1/file", "/file"])
def test_what_is_no_address_is_refused(url: str, partial: Path) -> None:
    """An address is absolute, and of http(s)."""
    refused(lambda: fetch(Remote(url), partial, BOUNDS), "BAD_SETTING")


def test_a_header_that_would_be_two_is_refused(mirror: Mirror, partial: Path) -> None:
    """A line break in a setting smuggles no header in."""
    evil = remote(mirror, authorization="Basic x\r\nX-Evil: 1")
    refused(lambda: fetch(evil, partial, BOUNDS), "BAD_SETTING")
    assert mirror.requests == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), OSError(5, "Input/output error")])
def test_a_disk_that_takes_no_more_is_named(
    mirror: Mirror, partial: Path, error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is at fault, not the network, and what was written of the file is gone."""

    def fail(_number: int) -> None:
        raise error

    monkeypatch.setattr("tokenwire_server.pull.disk.os.fsync", fail)
    refused(lambda: fetch(remote(mirror), partial, BOUNDS), "STORE_UNWRITABLE", str(error.strerror))
    assert files(partial.parent) == []


def test_a_file_larger_than_the_system_allows_is_named(mirror: Mirror, partial: Path) -> None:
    """A write that is cut short is written on, and its refusal has a name."""
    mirror.routes["/file"] = Answer(b"x" * 3_000_000)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_001, old[1]))
    try:
        refused(lambda: fetch(remote(mirror), partial, BOUNDS), "STORE_UNWRITABLE")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert files(partial.parent) == []


def test_a_folder_that_is_not_there_is_named(mirror: Mirror, partial: Path) -> None:
    """Where a file cannot be made, the message names it."""
    path = partial.parent / "absent" / "file"
    refused(lambda: fetch(remote(mirror), path, BOUNDS), "STORE_UNWRITABLE", str(path))


def test_a_link_in_place_of_the_partial_file_is_not_followed(
    mirror: Mirror, partial: Path, tmp_path: Path
) -> None:
    """What the link leads to stays as it is; the file takes the link's place."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for name in (partial.name, f"{partial.name}.resume", f"{partial.name}.new"):
        partial.with_name(name).symlink_to(victim)
    fetch(remote(mirror), partial, BOUNDS)
    assert victim.read_bytes() == b"precious"
    assert (partial.is_symlink(), partial.read_bytes()) == (False, BODY)
