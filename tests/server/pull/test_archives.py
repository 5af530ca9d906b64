"""Archives: the member's very bytes or a named error, whatever the archive says, and nothing left behind."""

from __future__ import annotations

import functools
import os
import stat
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server.pull import archives, tarball
from tokenwire_server.pull.archives import extract_member
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Archive, Bounds

from tests.server.pull.made_archives import (
    BOUNDS,
    DATA,
    KINDS,
    MEMBER,
    ORDINARY,
    bytes_or_refusal,
    extract,
    fails,
    make,
    make_tar,
    make_zip,
)
from tests.server.pull.transfers import files, refused

# Archives as their tools make them


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name, _ in ORDINARY])
def test_a_member_comes_out_as_it_went_in(kind: Archive, name: str, folder: Path) -> None:
    """Each member, wherever it stands."""
    assert extract(make(kind, *ORDINARY), kind, folder, name) == dict(ORDINARY)[name]


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 65_536, 200_001, 1 << 20])
@pytest.mark.parametrize("kind", KINDS)
def test_members_of_every_length(kind: Archive, size: int, folder: Path) -> None:
    """None, some, a block, and as many as are allowed."""
    data = (DATA * 200)[:size]
    assert extract(make(kind, (MEMBER, data), ("next", b"x")), kind, folder) == data


def test_a_stored_member(folder: Path) -> None:
    """Zip files need not be compressed."""
    assert extract(make_zip(*ORDINARY, method=zipfile.ZIP_STORED), "zip", folder) == DATA


# Archives that were tampered with


def linked(name: str, mode: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


UNSAFE = [
    "../up",
    "package/../../up",
    "/root",
    "C:/windows",
    "c:evil",
    "package\\..\\up",
    "\\\\host\\share",
    "..",
]


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_leads_outside_spoils_the_archive(kind: Archive, name: str, folder: Path) -> None:
    """Also if it is another member's, before the wanted one or behind it."""
    for entries in (((name, b"x"), (MEMBER, DATA)), ((MEMBER, DATA), (name, b"x"))):
        fails(make(kind, *entries), kind, folder, "UNSAFE_MEMBER_NAME")


def test_a_name_with_a_nul_spoils_a_zip(folder: Path) -> None:
    """It would end there for one reader and not for another."""
    fails(
        make_zip((MEMBER, DATA), ("packageZname", b"")).replace(b"eZn", b"e\0n"),
        "zip",
        folder,
        "UNSAFE_MEMBER_NAME",
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("second", [MEMBER, "./" + MEMBER])
def test_a_member_that_is_there_twice_is_refused(kind: Archive, second: str, folder: Path) -> None:
    """One reader takes the first and another the last."""
    fails(make(kind, (MEMBER, DATA), (second, b"other")), kind, folder, "DUPLICATE_MEMBER", MEMBER)


@pytest.mark.parametrize(
    "mode", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFDIR]
)
def test_a_link_or_device_in_a_zip_is_no_member(mode: int, folder: Path) -> None:
    """The mode of Unix says what it is."""
    fails(make_zip((linked(MEMBER, mode | 0o777), b"/etc/passwd")), "zip", folder, "MEMBER_IS_LINK", MEMBER)


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_that_is_not_there(kind: Archive, folder: Path) -> None:
    """A folder of the name, or a longer name, is not the member; one of another folder is proposed."""
    data = make(kind, (MEMBER + "s", DATA), (MEMBER + "/", b""), ("x/" + MEMBER, DATA))
    fails(data, kind, folder, "MEMBER_NOT_FOUND", MEMBER, f"x/{MEMBER}")
    fails(make(kind, ("other", DATA)), kind, folder, "MEMBER_NOT_FOUND", MEMBER)


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_of_one_byte_more_is_too_large(kind: Archive, folder: Path) -> None:
    """The message has both numbers."""
    bounds = Bounds(artifact_bytes=len(DATA) - 1)
    fails(
        make(kind, *ORDINARY),
        kind,
        folder,
        "MEMBER_TOO_LARGE",
        str(len(DATA)),
        str(len(DATA) - 1),
        bounds=bounds,
    )


@pytest.mark.parametrize(("size", "reason"), [(60_000_000, "ARCHIVE_BOMB"), (3_000_000, "ARCHIVE_BOMB")])
def test_a_zip_of_zeros_is_a_bomb(size: int, reason: str, folder: Path) -> None:
    """No vocabulary is a thousandth of its size when it is compressed."""
    fails(make_zip((MEMBER, b"\0" * size)), "zip", folder, reason)


def overlapping() -> bytes:
    """Two names for the same bytes: the second entry of the directory points to the first's."""
    data = bytearray(make_zip((MEMBER, DATA), ("package/other.json", DATA)))
    second = data.rindex(b"PK\1\2")
    data[second + 42 : second + 46] = struct.pack("<L", 0)
    return bytes(data)


def patched_zip(offset: int, value: bytes) -> bytes:
    """A field of the member's entry in the directory has another value."""
    data = bytearray(make_zip((MEMBER, DATA)))
    start = data.rindex(b"PK\1\2") + offset
    data[start : start + len(value)] = value
    return bytes(data)


BAD_ZIPS: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "no zip": lambda: DATA,
    "a tarball": lambda: make_tar(*ORDINARY),
    "overlapping": overlapping,
    "encrypted": lambda: patched_zip(8, b"\1\0"),
    "strongly encrypted": lambda: patched_zip(8, b"\x40\0"),
    "bzip2": lambda: make_zip(*ORDINARY, method=zipfile.ZIP_BZIP2),
    "lzma": lambda: make_zip(*ORDINARY, method=zipfile.ZIP_LZMA),
    "unknown compression": lambda: patched_zip(10, struct.pack("<H", 97)),
    "other checksum": lambda: patched_zip(16, b"\0\0\0\0"),
    "other size": lambda: patched_zip(24, struct.pack("<L", len(DATA) + 1)),
    "other compressed size": lambda: patched_zip(20, struct.pack("<L", 100)),
    "compressed size past the end": lambda: patched_zip(20, struct.pack("<L", 1 << 31)),
    "offset past the end": lambda: patched_zip(42, struct.pack("<L", 1 << 31)),
    "newer version": lambda: patched_zip(6, struct.pack("<H", 99)),
    "cut short": lambda: make_zip(*ORDINARY)[:-30],
    "no utf-8": lambda: patched_zip(8, b"\0\x08").replace(b"vocab", b"voc\xffb"),
}


@pytest.mark.parametrize("name", BAD_ZIPS)
def test_a_zip_that_is_none_is_refused(name: str, folder: Path) -> None:
    """Each kind of damage is a bad archive."""
    fails(BAD_ZIPS[name](), "zip", folder, "BAD_ARCHIVE", "zip")


@pytest.mark.parametrize(
    ("module", "bound", "kind", "allowed"),
    [
        (archives, "MAX_MEMBERS", "zip", 3),
        (archives, "MAX_MEMBERS", "tar.gz", 3),
        (tarball, "MAX_HEADERS", "tar.gz", 4),
        (tarball, "MAX_STREAMS", "tar.gz", 1),
    ],
)
def test_the_bounds_of_an_archive_hold(
    module: object, bound: str, kind: Archive, allowed: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the bound an archive is read, one below it is refused."""
    data = make(kind, *ORDINARY)
    monkeypatch.setattr(module, bound, allowed)
    assert extract(data, kind, folder) == DATA
    monkeypatch.setattr(module, bound, allowed - 1)
    fails(data, kind, folder, "BAD_ARCHIVE")


def test_the_directory_of_a_zip_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read whole, so its size is looked at before."""
    data = make_zip((MEMBER, DATA), *((f"package/{number}", b"") for number in range(500)))
    n_bytes = struct.unpack("<L", data[-10:-6])[0]
    monkeypatch.setattr(archives, "MAX_DIRECTORY_BYTES", n_bytes)
    assert extract(data, "zip", folder) == DATA
    monkeypatch.setattr(archives, "MAX_DIRECTORY_BYTES", n_bytes - 1)
    fails(data, "zip", folder, "BAD_ARCHIVE", str(n_bytes))


@pytest.mark.parametrize("kind", KINDS)
def test_memory_does_not_grow_with_the_member(kind: Archive, folder: Path) -> None:
    """A member of many megabytes passes in pieces."""
    bounds = Bounds(artifact_bytes=1 << 30, unpacked_bytes=1 << 30)
    path, target = folder.parent / "package.archive", folder / "target"
    path.write_bytes(make(kind, (MEMBER, os.urandom(1 << 16) * 400)))
    tracemalloc.start()
    try:
        extract_member(path, kind, MEMBER, target, bounds)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert target.stat().st_size == 400 << 16


# Files and folders


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_that_cannot_be_read_is_named(kind: Archive, folder: Path, tmp_path: Path) -> None:
    """A file that is not there, a folder, a pipe."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "absent", tmp_path, tmp_path / "pipe"):
        work = functools.partial(extract_member, path, kind, MEMBER, folder / "target", BOUNDS)
        refused(work, "FILE_UNREADABLE", str(path))
    assert files(folder) == []


def test_a_target_that_cannot_be_written_is_named(folder: Path, tmp_path: Path) -> None:
    """The archive is sound, the folder is not there."""
    path = tmp_path / "package.archive"
    path.write_bytes(make_zip(*ORDINARY))
    refused(
        lambda: extract_member(path, "zip", MEMBER, folder / "absent" / "target", BOUNDS), "STORE_UNWRITABLE"
    )


# Any damage at all

SMALL = {
    kind: make(kind, ("package/readme", b"r"), (MEMBER, DATA[:300]), ("package/last", b"x" * 40))
    for kind in KINDS
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_truncation_is_refused_by_name(kind: Archive, folder: Path) -> None:
    """A cut archive gives no bytes at all."""
    for end in range(len(SMALL[kind])):
        with pytest.raises(PullError):
            extract(SMALL[kind][:end], kind, folder)


@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_bit_gives_the_bytes_or_a_refusal(kind: Archive, folder: Path) -> None:
    """One changed bit, wherever it is, ends in the member's own bytes or in a named error."""
    for index in range(len(SMALL[kind])):
        data = bytearray(SMALL[kind])
        data[index] ^= 1 << index % 8
        try:
            assert extract(bytes(data), kind, folder) == DATA[:300]
        except PullError:
            continue


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_any_change_gives_bytes_or_a_refusal(
    kind: Archive, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes replaced, removed and put in, several times: never another exception, and nothing left behind."""
    folder = tmp_path_factory.mktemp("store", numbered=True) / "inner"
    folder.mkdir()
    changed = SMALL[kind]
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(changed)))
        end = data.draw(st.integers(start, min(len(changed), start + 8)))
        changed = changed[:start] + data.draw(st.binary(max_size=8)) + changed[end:]
    bytes_or_refusal(changed, kind, folder)


@given(data=st.binary(max_size=2000))
@pytest.mark.parametrize("kind", KINDS)
def test_any_bytes_give_a_refusal(
    kind: Archive, tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """What is no archive is a bad one."""
    folder = tmp_path_factory.mktemp("store", numbered=True) / "inner"
    folder.mkdir()
    packed = zlib.compress(data, wbits=31) if kind == "tar.gz" else data
    bytes_or_refusal(packed, kind, folder)
