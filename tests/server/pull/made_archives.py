"""Made-up archives, sound and tampered with, and what is expected of reading them."""

from __future__ import annotations

import contextlib
import gzip
import io
import tarfile
import warnings
import zipfile
from pathlib import Path

from tokenwire_server.pull.archives import extract_member
from tokenwire_server.pull.errors import PullError
from tokenwire_server.pull.remote import Archive, Bounds

from tests.server.pull.transfers import files, refused

MEMBER = "package/vocab.json"
DATA = b"".join(b'"token %d": %d,\n' % (n, n * n) for n in range(300))
BOUNDS = Bounds(artifact_bytes=1 << 20, unpacked_bytes=4 << 20)

KINDS: tuple[Archive, ...] = ("zip", "tar.gz")


def extract(data: bytes, kind: Archive, folder: Path, member: str = MEMBER, bounds: Bounds = BOUNDS) -> bytes:
    """The member's bytes; the archive lies beside the folder, which the target alone may enter."""
    path = folder.parent / "package.archive"
    path.write_bytes(data)
    target = folder / "target"
    try:
        extract_member(path, kind, member, target, bounds)
        return target.read_bytes()
    finally:
        target.unlink(missing_ok=True)
        assert files(folder) == []


def fails(
    data: bytes, kind: Archive, folder: Path, reason: str, *words: str, bounds: Bounds = BOUNDS
) -> None:
    """It is refused for this reason, and the target is absent."""
    path = folder.parent / "package.archive"
    path.write_bytes(data)
    target = folder / "target"
    target.write_bytes(b"of an earlier pull")
    refused(lambda: extract_member(path, kind, MEMBER, target, bounds), reason, path.name, *words)
    assert files(folder) == []


def make_zip(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, data in entries:
            made.writestr(name, data)
    return file.getvalue()


def make_tar(*entries: tuple[str | tarfile.TarInfo, bytes], format: int = tarfile.PAX_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=format) as made:
        for entry, data in entries:
            info = tarfile.TarInfo(entry) if isinstance(entry, str) else entry
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return gzip.compress(file.getvalue(), 1, mtime=0)


def make(kind: Archive, *entries: tuple[str, bytes]) -> bytes:
    return make_zip(*entries) if kind == "zip" else make_tar(*entries)


ORDINARY: tuple[tuple[str, bytes], ...] = (
    ("package/readme", b"Read me."),
    (MEMBER, DATA),
    ("package/last", b"x" * 5000),
)


def unpacked(data: bytes) -> bytes:
    return gzip.decompress(data)


def block(
    name: str,
    data: bytes = b"",
    *,
    type_: bytes = b"0",
    size: bytes | None = None,
    magic: bytes = b"ustar\x0000",
    signed: bool = False,
    tail: bytes = b"",
    checksum: bytes | None = None,
) -> bytes:
    """A header as it is told, right or wrong, and its data in whole blocks."""
    size = b"%011o\0" % len(data) if size is None else size
    head = (
        name.encode("utf-8", "surrogateescape").ljust(100, b"\0")
        + b"0000644\0" * 3
        + size
        + b"0" * 11
        + b"\0"
    )
    rest = (type_.ljust(101, b"\0") + magic).ljust(326, b"\0") + tail
    whole = bytearray(head + b" " * 8 + rest.ljust(356, b"\0"))
    total = sum(byte - 256 * (signed and byte > 127) for byte in whole)
    whole[148:156] = b"%06o\0 " % total if checksum is None else checksum
    return bytes(whole) + data + b"\0" * (-len(data) % 512)


def sparse_blocks(name: str) -> bytes:
    """A sparse file in GNU's old way, with two more headers before its data."""
    more = b"\0" * 504 + b"\1" + b"\0" * 7
    head = block(name, type_=b"S", size=b"%011o\0" % 600, magic=b"ustar  \0", tail=b"\0" * 0)
    fixed = bytearray(head)
    fixed[482] = 1
    fixed[148:156] = b" " * 8
    fixed[148:156] = b"%06o\0 " % sum(fixed)
    return bytes(fixed) + more + b"\0" * 512 + b"s" * 600 + b"\0" * 424


def pax(**records: str) -> bytes:
    return pax_block(b"x", *(f"{key}={value}\n".encode() for key, value in records.items()))


def pax_block(type_: bytes, *records: bytes) -> bytes:
    body = b""
    for record in records:
        length = len(record) + 1
        while length != len(record) + 1 + len(str(length)):
            length = len(record) + 1 + len(str(length))
        body += b"%d %s" % (length, record)
    return block("PaxHeader", body, type_=type_)


def bytes_or_refusal(data: bytes, kind: Archive, folder: Path) -> None:
    """Whatever the archive is, no other exception comes of it."""
    with contextlib.suppress(PullError):
        extract(data, kind, folder)
