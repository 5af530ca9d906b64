"""Fetch: one remote file to disk, resumed where it broke off, checked against what was announced of it.

A file on its way is two files: `NAME`, the bytes so far, and `NAME.resume`, its size and what tells whether the server
still has the same file: a strong ETag or else Last-Modified. Where it sends neither, a file is gone on from if its
registry's checksum will tell. Whatever is wrong with the bytes removes both; only an interruption keeps them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tokenwire_server.folders import is_ours, open_regular
from tokenwire_server.pull.connect import Interrupted
from tokenwire_server.pull.disk import open_held, open_new, sync, write_all, writing
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.exchange import Answer, Exchange, lost
from tokenwire_server.pull.remote import Bounds, Progress, Remote

Wait = Callable[[float], None]
"""Lets so many seconds pass: `time.sleep`, unless a test has no time."""

PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Before each further try after an interruption."""
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_MAX_RESUME_BYTES = 4096

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Held:
    """What is there of a file, and what tells that a rest belongs to it."""

    here: int = 0
    validator: str = ""
    size_bytes: int | None = None


def fetch(
    remote: Remote,
    partial: Path,
    bounds: Bounds,
    progress: Progress | None = None,
    *,
    wait: Wait = time.sleep,
) -> None:
    """Bring the whole file to `partial`, going on from what is there of it.

    At most `bounds.download_bytes`, within `bounds.timeout_s`; memory is one piece. Afterwards the bytes are on disk,
    and to rename or `discard` them is the caller's. Raises `PullError`. As `Interrupted` (CONNECTION_LOST,
    UNREACHABLE, and HTTP_STATUS of a server that is busy) it leaves what can be gone on from, otherwise nothing.
    """
    try:
        exchange = Exchange(remote, bounds)
        joined = _bring(exchange, remote, partial, bounds, progress, wait)
        if joined and not _is_sound(remote, partial):
            # The rest may be of another file than the beginning, whatever the server said.
            discard(partial)
            _bring(exchange, remote, partial, bounds, progress, wait)
        if not _is_sound(remote, partial):
            raise _differs(exchange, remote)
    except Interrupted:
        if not _held(partial, remote).here:
            discard(partial)
        raise
    except PullError:
        discard(partial)
        raise


def fetch_small(remote: Remote, bounds: Bounds, max_bytes: int, *, wait: Wait = time.sleep) -> bytes:
    """The whole body of a remote of at most `max_bytes`: an index page, a JSON document. Raises `PullError`."""
    exchange = Exchange(remote, bounds)

    def attempt() -> bytes:
        with exchange.get({}) as answer:
            return b"".join(_measured(answer, remote, max_bytes, 0, answer.length))

    data = _persist(attempt, exchange, wait)
    if (
        remote.checksum is not None
        and hashlib.new(remote.checksum[0], data).hexdigest() != remote.checksum[1]
    ):
        raise _differs(exchange, remote)
    return data


def discard(partial: Path) -> None:
    """Remove a file on its way, and what tells of it. Raises STORE_UNWRITABLE."""
    with writing(partial):
        partial.unlink(missing_ok=True)
        _resume_path(partial).unlink(missing_ok=True)


def _bring(
    exchange: Exchange, remote: Remote, partial: Path, bounds: Bounds, progress: Progress | None, wait: Wait
) -> bool:
    """Bring the whole file; whether its beginning and end may be of different answers."""

    def attempt() -> bool:
        held = _held(partial, remote)
        if held.here and held.here == held.size_bytes and remote.size_bytes in (None, held.here):
            return True
        if held.here:
            headers = {"Range": f"bytes={held.here}-"}
            if held.validator:
                headers["If-Range"] = held.validator
            with exchange.get(headers) as answer:
                size_bytes = _whole_size(answer, held)
                if size_bytes is not None:
                    _store(answer, remote, partial, bounds, held.here, size_bytes, progress)
                    return True
                if answer.status == 200:
                    _store(answer, remote, partial, bounds, 0, answer.length, progress)
                    return False
            discard(partial)
        with exchange.get({}) as answer:
            _store(answer, remote, partial, bounds, 0, answer.length, progress)
        return False

    return _persist(attempt, exchange, wait)


def _store(
    answer: Answer,
    remote: Remote,
    partial: Path,
    bounds: Bounds,
    here: int,
    size_bytes: int | None,
    progress: Progress | None,
) -> None:
    """Put the answer's body behind the first `here` bytes, of `size_bytes` in the end."""
    if here == 0:
        # In this order: an old beginning never stands beside a new validator.
        with writing(partial):
            _resume_path(partial).unlink(missing_ok=True)
    with open_held(partial) if here else open_new(partial) as file:
        if here == 0:
            _write_resume(partial, answer, remote, size_bytes)
        file.seek(here)
        for piece in _measured(answer, remote, bounds.download_bytes, here, size_bytes):
            write_all(file, piece, partial)
            here += len(piece)
            if progress is not None:
                progress(here, size_bytes)
        sync(file, partial)


def _measured(
    answer: Answer, remote: Remote, max_bytes: int, here: int, size_bytes: int | None
) -> Iterator[bytes]:
    """The body in pieces, refused as soon as more is announced or comes than may."""
    host = answer.address.authority
    pinned = remote.size_bytes
    if pinned is not None and size_bytes is not None and size_bytes != pinned:
        raise PullError(
            "LONGER_THAN_PINNED" if size_bytes > pinned else "SHORTER_THAN_PINNED",
            f"{host} has {size_bytes} bytes, {pinned} are expected; find out why the file changed",
        )
    if size_bytes is not None and size_bytes > max_bytes:
        raise PullError("TOO_LARGE", f"{host} has {size_bytes} bytes, {max_bytes} are allowed")
    expected = size_bytes if pinned is None else pinned
    for piece in answer.pieces():
        here += len(piece)
        if expected is not None and here > expected:
            raise PullError(
                "LONGER_THAN_PINNED",
                f"{host} sends more than the {expected} bytes expected; find out why the file changed",
            )
        if here > max_bytes:
            raise PullError("TOO_LARGE", f"{host} sends more than the {max_bytes} bytes allowed")
        yield piece
    if expected is not None and here < expected:
        raise lost(answer.address)


def _persist(attempt: Callable[[], T], exchange: Exchange, wait: Wait) -> T:
    """What `attempt` gives, tried again after interruptions as long as that is of use."""
    for pause_s in PAUSES_S:
        try:
            return attempt()
        except Interrupted as fault:
            if fault.retry_after_s is None:
                raise
            pause_s = max(pause_s, fault.retry_after_s)
            if time.monotonic() + pause_s >= exchange.until:
                raise
        wait(pause_s)
    return attempt()


def _whole_size(answer: Answer, held: _Held) -> int | None:
    """The size of the whole file if a 206 goes on from what is held, None if it does not."""
    match = _CONTENT_RANGE.fullmatch(answer.header("Content-Range"))
    if answer.status != 206 or match is None:
        return None
    start, last, size_bytes = (int(number) for number in match.groups())
    if (
        start != held.here
        or not start <= last < size_bytes
        or answer.length not in (None, last + 1 - start)
        or held.size_bytes not in (None, size_bytes)
        or _validator(answer) not in ("", held.validator)
    ):
        return None
    return size_bytes


def _validator(answer: Answer) -> str:
    """What If-Range may say: a strong ETag, else the date; empty where there is neither."""
    etag = answer.header("ETag")
    text = etag if etag.startswith('"') else answer.header("Last-Modified")
    return text if text.isascii() and text.isprintable() else ""


def _held(partial: Path, remote: Remote) -> _Held:
    """What of the file can be gone on from; nothing, wherever there is a doubt: to start anew is always right."""
    try:
        with open_regular(_resume_path(partial), follow=False) as file:
            document = json.loads(file.read(_MAX_RESUME_BYTES))
        found = partial.lstat()
        if not is_ours(found):
            return _Held()
        held = _Held(found.st_size, str(document["validator"]), document["size_bytes"])
        checksum = document["checksum"]
        longer = held.size_bytes is not None and held.here > held.size_bytes
    except (OSError, ValueError, KeyError, TypeError):
        return _Held()
    if longer or checksum != _checksum(remote) or not (held.validator or checksum):
        return _Held()
    return held


def _write_resume(partial: Path, answer: Answer, remote: Remote, size_bytes: int | None) -> None:
    """Note what tells the file from another, in one step; nothing where nothing does."""
    document = {"validator": _validator(answer), "size_bytes": size_bytes, "checksum": _checksum(remote)}
    if document["validator"] or document["checksum"]:
        new = _resume_path(partial).with_suffix(".new")
        with open_new(new) as file:
            write_all(file, json.dumps(document).encode(), new)
        with writing(partial):
            os.replace(new, _resume_path(partial))


def _checksum(remote: Remote) -> str:
    return ":".join(remote.checksum) if remote.checksum else ""


def _resume_path(partial: Path) -> Path:
    return partial.with_name(partial.name + ".resume")


def _is_sound(remote: Remote, partial: Path) -> bool:
    """Whether the file has the checksum its registry gives, if it gives one."""
    if remote.checksum is None:
        return True
    name, expected = remote.checksum
    with writing(partial), open_regular(partial, follow=False) as file:
        return hashlib.file_digest(file, name).hexdigest() == expected


def _differs(exchange: Exchange, remote: Remote) -> PullError:
    kind = remote.checksum[0] if remote.checksum else "checksum"
    return PullError(
        "CHECKSUM_MISMATCH",
        f"what {exchange.origin.authority} sends differs from the {kind} of its registry; nothing was kept",
    )
