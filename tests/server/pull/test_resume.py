"""Transfers that break off: the next try, or the next pull, goes on from there."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tokenwire_server.pull.fetch import PAUSES_S, discard, fetch, fetch_small

from tests.server.pull.mirror import Answer, Mirror
from tests.server.pull.transfers import BODY, BOUNDS, PLAIN, TAG, Waits, files, refused, remote


@pytest.mark.parametrize("validator", ["etag", "date"])
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_dropped_transfer_goes_on_from_each_byte(
    mirror: Mirror, partial: Path, validator: str, framing: str
) -> None:
    """Dropped after any number of bytes, the rest alone is asked for, and the whole is the file."""
    value = TAG if validator == "etag" else "Mon, 02 Jan 2023 00:00:00 GMT"
    headers = {} if validator == "etag" else {"Last-Modified": value, "ETag": 'W/"weak"'}
    for at in range(0, len(BODY), 37):
        whole = Answer(BODY, etag=value, headers=headers, framing=framing)
        mirror.routes["/file"] = [replace(whole, drop_after=at), whole]
        mirror.requests.clear()
        waits = Waits()
        fetch(remote(mirror), partial, BOUNDS, wait=waits)
        assert partial.read_bytes() == BODY
        assert waits == [PAUSES_S[0]]
        asked = [(r.headers.get("range"), r.headers.get("if-range")) for r in mirror.requests]
        assert asked == [(None, None), (f"bytes={at}-", value) if at else (None, None)]
        discard(partial)


def test_a_lost_connection_is_gone_on_from_by_the_next_pull(mirror: Mirror, partial: Path) -> None:
    """After the tries are used up the bytes stay, and a further pull asks for the others alone."""
    mirror.routes["/file"] = [replace(PLAIN, drop_after=100), replace(PLAIN, drop_after=0)]
    waits = Waits()
    refused(lambda: fetch(remote(mirror), partial, BOUNDS, wait=waits), "CONNECTION_LOST", "pull again")
    assert waits == list(PAUSES_S)
    assert partial.read_bytes() == BODY[:100]
    assert files(partial.parent) == [partial.name, partial.name + ".resume"]
    mirror.routes["/file"] = PLAIN
    fetch(remote(mirror), partial, BOUNDS)
    assert partial.read_bytes() == BODY
    assert mirror.requests[-1].headers["range"] == "bytes=100-"


def test_a_file_that_is_whole_is_not_asked_for_again(mirror: Mirror, partial: Path) -> None:
    """A pull that was killed between the last byte and the file's name fetches nothing anew."""
    fetch(remote(mirror), partial, BOUNDS)
    mirror.requests.clear()
    fetch(remote(mirror), partial, BOUNDS)
    assert mirror.requests == []
    discard(partial)
    assert files(partial.parent) == []


@pytest.mark.parametrize(
    "later",
    [
        Answer(BODY[::-1], etag='"two"'),
        Answer(BODY[::-1], etag=TAG, ranges=False),
        Answer(BODY[::-1]),
        Answer(BODY[::-1] + b"longer", etag='"two"', framing="chunked"),
    ],
    ids=["changed", "no ranges", "no tag", "changed and longer"],
)
def test_a_file_that_changed_starts_anew(mirror: Mirror, partial: Path, later: Answer) -> None:
    """No two files are ever joined: without the same validator the new one replaces all of the old."""
    mirror.routes["/file"] = [replace(PLAIN, drop_after=100), later]
    fetch(remote(mirror), partial, BOUNDS, wait=Waits())
    assert partial.read_bytes() == later.body


@pytest.mark.parametrize(
    "odd",
    [
        Answer(status=416),
        Answer(BODY[100:], status=206),
        Answer(BODY[100:], status=206, headers={"Content-Range": "bytes 99-767/768"}),
        Answer(BODY[100:], status=206, headers={"Content-Range": "bytes 100-767/800"}),
        Answer(BODY[100:], status=206, headers={"Content-Range": "bytes 100-766/768"}),
        Answer(BODY[100:], status=206, headers={"Content-Range": "bytes 100-767/*"}),
        Answer(BODY[100:], status=206, headers={"Content-Range": "bytes 100-767/768", "ETag": '"two"'}),
    ],
    ids=["416", "no range", "other start", "other size", "other length", "no size", "other tag"],
)
def test_a_rest_that_does_not_fit_starts_anew(mirror: Mirror, partial: Path, odd: Answer) -> None:
    """A 206 counts only if it goes on where the file ends, of the same file; a 416 means another one is there."""
    mirror.routes["/file"] = [replace(PLAIN, drop_after=100), odd, Answer(BODY[::-1])]
    fetch(remote(mirror), partial, BOUNDS, wait=Waits())
    assert partial.read_bytes() == BODY[::-1]
    assert [request.headers.get("range") for request in mirror.requests] == [None, "bytes=100-", None]


def test_a_part_of_the_rest_is_gone_on_from(mirror: Mirror, partial: Path) -> None:
    """A server may give less than all that was asked for."""
    part = Answer(BODY[100:200], status=206, headers={"Content-Range": "bytes 100-199/768", "ETag": TAG})
    mirror.routes["/file"] = [replace(PLAIN, drop_after=100), part, PLAIN]
    fetch(remote(mirror), partial, BOUNDS, wait=Waits())
    assert partial.read_bytes() == BODY


def test_a_resumed_file_with_a_wrong_checksum_is_fetched_once_more(mirror: Mirror, partial: Path) -> None:
    """A server that calls two files the same costs one more transfer, not a wrong file."""
    mirror.routes["/file"] = [replace(PLAIN, body=BODY[::-1], drop_after=at) for at in (100, 0)]
    pinned = replace(remote(mirror), checksum=("sha512", hashlib.sha512(BODY).hexdigest()))
    refused(lambda: fetch(pinned, partial, BOUNDS, wait=Waits()), "CONNECTION_LOST")
    mirror.routes["/file"] = PLAIN
    mirror.requests.clear()
    fetch(pinned, partial, BOUNDS)
    assert partial.read_bytes() == BODY
    assert [request.headers.get("range") for request in mirror.requests] == ["bytes=100-", None]


def test_a_checksum_of_the_registry_takes_the_place_of_a_validator(mirror: Mirror, partial: Path) -> None:
    """What is known to be proven in the end is gone on from, unless the registry has another checksum by then."""
    pinned = replace(remote(mirror), checksum=("sha256", hashlib.sha256(BODY).hexdigest()))
    untagged = Answer(BODY)
    for later, ranges in ((pinned, ["bytes=100-"]), (remote(mirror), [None])):
        mirror.routes["/file"] = [replace(untagged, drop_after=at) for at in (100, 0)]
        refused(lambda: fetch(pinned, partial, BOUNDS, wait=Waits()), "CONNECTION_LOST")
        mirror.routes["/file"] = untagged
        mirror.requests.clear()
        fetch(later, partial, BOUNDS)
        assert partial.read_bytes() == BODY
        assert [request.headers.get("range") for request in mirror.requests] == ranges
        discard(partial)


def test_without_a_validator_nothing_is_kept(mirror: Mirror, partial: Path) -> None:
    """Bytes that nothing can tell from another file's are no use to a further pull."""
    mirror.routes["/file"] = Answer(BODY, drop_after=100)
    refused(lambda: fetch(remote(mirror), partial, BOUNDS, wait=Waits()), "CONNECTION_LOST")
    assert files(partial.parent) == []


@pytest.mark.parametrize(
    "note",
    [b"", b"[]", b"{}", b'{"validator": "x", "size_bytes": "768", "checksum": ""}', b"\xff", b"9" * 5000],
)
def test_a_note_that_cannot_be_read_starts_anew(mirror: Mirror, partial: Path, note: bytes) -> None:
    """A file beside a damaged note is of no known origin."""
    partial.write_bytes(b"old" * 30)
    partial.with_name(partial.name + ".resume").write_bytes(note)
    fetch(remote(mirror), partial, BOUNDS)
    assert partial.read_bytes() == BODY
    assert "range" not in mirror.requests[0].headers


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_link_is_not_gone_on_from(
    mirror: Mirror, partial: Path, tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    """Beside a note that fits, a link of either kind is replaced, and what it leads to stays as it is."""
    victim = tmp_path / "victim"
    victim.write_bytes(BODY[:100])
    link(victim, partial)
    note = {"validator": TAG, "size_bytes": len(BODY), "checksum": ""}
    partial.with_name(partial.name + ".resume").write_text(json.dumps(note))
    fetch(remote(mirror), partial, BOUNDS)
    assert "range" not in mirror.requests[0].headers
    assert (victim.read_bytes(), partial.read_bytes()) == (BODY[:100], BODY)


def test_an_interrupt_keeps_what_is_there(mirror: Mirror, partial: Path) -> None:
    """Whoever stops a pull goes on from there with the next one."""
    mirror.routes["/file"] = replace(PLAIN, stall_after=100)

    def stop(here: int, _size: int | None) -> None:
        if here == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(remote(mirror), partial, BOUNDS, stop)
    mirror.routes["/file"] = PLAIN
    fetch(remote(mirror), partial, BOUNDS)
    assert partial.read_bytes() == BODY
    assert mirror.requests[-1].headers["range"] == "bytes=100-"


def test_a_cut_stream_is_no_end_under_tls(tmp_path: Path, partial: Path) -> None:
    """Whoever cuts the connection cannot make a shorter file of one without a length."""
    with Mirror({"/file": Answer(BODY, framing="close", drop_after=100)}, tls=tmp_path) as mirror:
        refused(lambda: fetch(remote(mirror), partial, BOUNDS, wait=Waits()), "CONNECTION_LOST")


def test_an_empty_answer_is_tried_again(mirror: Mirror) -> None:
    """A connection that ends before the answer is one that broke off."""
    mirror.routes["/file"] = [Answer(reset=True), Answer(BODY, drop_after=5), PLAIN]
    waits = Waits()
    assert fetch_small(remote(mirror), BOUNDS, 9000, wait=waits) == BODY
    assert waits == list(PAUSES_S[:2])


# Kills

KILLED = """
import os, sys
from pathlib import Path
from tokenwire_server.pull.fetch import fetch
from tokenwire_server.pull.remote import Access, Bounds, Remote

left = int(sys.argv[1])
seen = 0

def watch(frame, event, argument):
    global seen
    if "/pull/" not in frame.f_code.co_filename:
        return None
    if event == "line":
        seen += 1
        if seen > left:
            os._exit(9)
    return watch

remote = Remote(sys.argv[2], Access(proxy="", allow_plain_http=True))
sys.settrace(watch)
fetch(remote, Path(sys.argv[3]), Bounds())
sys.settrace(None)
print(seen)
"""


def test_a_pull_that_is_killed_anywhere_is_gone_on_from(mirror: Mirror, partial: Path, seed: int) -> None:
    """Killed at a line of its code, whichever, a transfer of a file that changed ends in the new file, whole."""

    def killed_after(n_lines: int) -> subprocess.CompletedProcess[str]:
        discard(partial)
        mirror.routes["/file"] = [replace(PLAIN, drop_after=at) for at in (100, 0)]
        refused(lambda: fetch(remote(mirror), partial, BOUNDS, wait=Waits()), "CONNECTION_LOST")
        mirror.routes["/file"] = Answer(BODY[::-1], etag='"two"')
        command = [sys.executable, "-c", KILLED, str(n_lines), mirror.url + "/file", str(partial)]
        path = os.pathsep.join(entry for entry in sys.path if entry)
        return subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
        )

    n_lines = int(killed_after(10**9).stdout)
    for n in random.Random(seed).sample(
        range(n_lines - 20), 12
    ):  # bytes that come in other pieces take other lines
        assert killed_after(n).returncode == 9
        fetch(remote(mirror), partial, BOUNDS)
        assert partial.read_bytes() == BODY[::-1], f"killed after line {n} of {n_lines}"
