"""Tarballs: every tar that tools write is read, and none that was made up to confuse a reader."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenwire_server.pull import tarball

from tests.server.pull.made_archives import (
    BOUNDS,
    DATA,
    MEMBER,
    ORDINARY,
    block,
    bytes_or_refusal,
    extract,
    fails,
    make_tar,
    make_zip,
    pax,
    pax_block,
    sparse_blocks,
    unpacked,
)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_of_each_format(format: int, folder: Path) -> None:
    """Prefixes of ustar, long names of GNU, and records of pax name the same member."""
    long = "/".join(["package", "d" * 60, "e" * 60, "vocab.json"])
    others = () if format == tarfile.USTAR_FORMAT else (("ü" * 90, b"other"), ("p/" * 100 + "name", b"other"))
    assert extract(make_tar(*others, (long, DATA), format=format), "tar.gz", folder, long) == DATA


def test_folders_links_and_sparse_files_beside_the_member_are_passed_over(folder: Path) -> None:
    """An archive may hold them; only as the member they are no file."""
    entries: list[tuple[str | tarfile.TarInfo, bytes]] = []
    for number, type_ in enumerate((tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE)):
        info = tarfile.TarInfo(f"package/other{number}")
        info.type, info.linkname = type_, "/etc/passwd"
        entries.append((info, b""))
    raw = sparse_blocks("package/sparse") + unpacked(make_tar(*entries, (MEMBER, DATA)))
    assert extract(gzip.compress(raw), "tar.gz", folder) == DATA


def test_a_leading_dot_is_no_part_of_a_name(folder: Path) -> None:
    """`tar c .` writes it before each name."""
    assert extract(make_tar(("./" + MEMBER, DATA)), "tar.gz", folder) == DATA


def test_a_gzip_file_of_several_streams(folder: Path) -> None:
    """As parallel compressors write them, and with the zeros of a tape at the end."""
    raw = unpacked(make_tar(*ORDINARY))
    parts = [gzip.compress(raw[start : start + 1000]) for start in range(0, len(raw), 1000)]
    assert extract(b"".join(parts) + b"\0" * 700, "tar.gz", folder) == DATA


def test_numbers_of_old_and_large_headers(folder: Path) -> None:
    """Sizes in base 256, names without a magic word, and checksums of signed bytes are read."""
    base_256 = block(MEMBER, DATA, size=b"\x80" + len(DATA).to_bytes(11, "big"))
    old = block("caf\udce9", b"", magic=b"", signed=True)
    assert extract(gzip.compress(old + base_256), "tar.gz", folder) == DATA


# Archives that were tampered with


@pytest.mark.parametrize(
    "raw",
    [
        pax(path="../up") + block("harmless"),
        block("LongLink", b"../up\0", type_=b"L") + block("harmless"),
        pax_block(b"x", b"GNU.sparse.name=../up\n") + block("harmless"),
        pax(path="nul\0l") + block("harmless"),
    ],
    ids=["pax", "GNU", "sparse", "NUL"],
)
def test_a_name_of_an_extended_header_spoils_the_archive(raw: bytes, folder: Path) -> None:
    """The name that counts is the one that is looked at."""
    fails(gzip.compress(raw + unpacked(make_tar(*ORDINARY))), "tar.gz", folder, "UNSAFE_MEMBER_NAME")


@pytest.mark.parametrize(
    "type_",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE],
)
def test_a_link_or_device_is_no_member(type_: bytes, folder: Path) -> None:
    """Neither in place of the file nor behind it."""
    info = tarfile.TarInfo(MEMBER)
    info.type, info.linkname = type_, "/etc/passwd"
    fails(make_tar((info, b"")), "tar.gz", folder, "MEMBER_IS_LINK", MEMBER)
    fails(make_tar((MEMBER, DATA), (info, b"")), "tar.gz", folder, "DUPLICATE_MEMBER")


@pytest.mark.parametrize(
    "raw",
    [
        sparse_blocks(MEMBER),
        pax_block(b"x", b"GNU.sparse.major=1\n") + block(MEMBER, b"1\n0\n0\n"),
        pax_block(b"x", b"GNU.sparse.name=" + MEMBER.encode() + b"\n") + block("other", b"1\n0\n0\n"),
        block(MEMBER, b"dump", type_=b"D"),
        block(MEMBER, type_=b"5"),
    ],
    ids=["old", "pax", "pax with a name", "dump", "folder"],
)
def test_what_is_not_a_plain_file_is_no_member(raw: bytes, folder: Path) -> None:
    """Of sparse files, too, the bytes in the archive are not those of the file."""
    fails(gzip.compress(raw), "tar.gz", folder, "MEMBER_IS_LINK")


def test_a_tarball_of_zeros_is_a_bomb(folder: Path) -> None:
    """Whether they stand in another member, in the wanted one, or behind the end."""
    zeros = b"\0" * (BOUNDS.unpacked_bytes + 1)
    fails(make_tar(("other", zeros), (MEMBER, DATA)), "tar.gz", folder, "ARCHIVE_BOMB")
    fails(make_tar((MEMBER, zeros)), "tar.gz", folder, "MEMBER_TOO_LARGE")
    fails(make_tar((MEMBER, DATA)) + gzip.compress(zeros), "tar.gz", folder, "ARCHIVE_BOMB")
    fails(gzip.compress(zeros), "tar.gz", folder, "ARCHIVE_BOMB")


def damaged_tail(data: bytes) -> bytes:
    return data[:-8] + bytes([data[-8] ^ 1]) + data[-7:]


RAW = unpacked(make_tar(*ORDINARY))
BAD_TARBALLS: dict[str, Callable[[], bytes]] = {
    "no gzip": lambda: RAW,
    "a zip": lambda: make_zip(*ORDINARY),
    "wrong checksum of gzip": lambda: damaged_tail(make_tar(*ORDINARY)),
    "cut in the compressed bytes": lambda: make_tar(*ORDINARY)[:-20],
    "cut in the checksum of gzip": lambda: make_tar(*ORDINARY)[:-1],
    "cut in a header": lambda: gzip.compress(RAW[:700]),
    "cut in a member": lambda: gzip.compress(RAW[:2000]),
    "rubbish behind the end": lambda: make_tar(*ORDINARY) + b"rubbish",
    "wrong checksum of a header": lambda: gzip.compress(block(MEMBER, DATA, checksum=b"000000\0 ")),
    "a number that is none": lambda: gzip.compress(block(MEMBER, DATA, size=b"12x\0".ljust(12, b"\0"))),
    "a negative size": lambda: gzip.compress(block(MEMBER, DATA, size=b"\xff" * 12)),
    "a size past the end": lambda: gzip.compress(block("other", DATA, size=b"%011o\0" % (1 << 20))),
    "a pax size that is none": lambda: gzip.compress(pax(size="-512") + block(MEMBER, DATA)),
    "a pax size of many digits": lambda: gzip.compress(pax(size="9" * 5000) + block(MEMBER, DATA)),
    "a pax record too long": lambda: gzip.compress(
        block("p", b"99 path=x\n", type_=b"x") + block(MEMBER, DATA)
    ),
    "a pax record of nothing": lambda: gzip.compress(
        block("p", b"0 path=x\n", type_=b"x") + block(MEMBER, DATA)
    ),
    "a pax record without a key": lambda: gzip.compress(
        block("p", b"8 pathx\n", type_=b"x") + block(MEMBER, DATA)
    ),
    "a pax record without an end": lambda: gzip.compress(
        block("p", b"9 path=xx", type_=b"x") + block(MEMBER, DATA)
    ),
    "one path for all": lambda: gzip.compress(
        pax_block(b"g", b"path=package/vocab.json\n") + block("x", DATA)
    ),
    "a huge long name": lambda: gzip.compress(block("L", b"x" * (tarball.MAX_HEADER_BYTES + 1), type_=b"L")),
    "a pax header said to be huge": lambda: gzip.compress(
        block("p", type_=b"x", size=b"%011o\0" % (1 << 32))
    ),
    "a long link said to be huge": lambda: gzip.compress(
        block("p", type_=b"K", size=b"\x80" + (1 << 80).to_bytes(11, "big"))
    ),
}


@pytest.mark.parametrize("name", BAD_TARBALLS)
def test_a_tarball_that_is_none_is_refused(name: str, folder: Path) -> None:
    """Each kind of damage is a bad archive."""
    fails(BAD_TARBALLS[name](), "tar.gz", folder, "BAD_ARCHIVE", "tar.gz")


def test_extended_headers_are_bounded_in_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small ones cost as much as a huge one."""
    data = gzip.compress(pax(path="one") + block("x") + pax(path="two") + block(MEMBER, DATA))
    monkeypatch.setattr(tarball, "MAX_ALL_HEADERS_BYTES", 24)
    assert extract(data, "tar.gz", folder, "two") == DATA
    monkeypatch.setattr(tarball, "MAX_ALL_HEADERS_BYTES", 23)
    fails(data, "tar.gz", folder, "BAD_ARCHIVE")


@given(data=st.data())
def test_any_change_beneath_the_compression_gives_bytes_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A tampered tar has a sound gzip around it, and headers whose checksums hold."""
    folder = tmp_path_factory.mktemp("store", numbered=True) / "inner"
    folder.mkdir()
    raw = bytearray(unpacked(make_tar(("ü" * 60, b"long"), (MEMBER, DATA[:300]))))
    headers = [at for at in range(0, len(raw), 512) if raw[at + 257 : at + 262] == b"ustar"]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.sampled_from(headers)) + data.draw(st.integers(0, 1023))
        raw[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
    for at in headers:
        raw[at + 148 : at + 156] = b" " * 8
        raw[at + 148 : at + 156] = b"%06o\0 " % sum(raw[at : at + 512])
    bytes_or_refusal(gzip.compress(bytes(raw), 1), "tar.gz", folder)
