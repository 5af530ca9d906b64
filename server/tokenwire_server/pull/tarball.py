"""Tarballs: the members of a tar.gz as one stream, read once from front to back within bounds.

Not the standard library's `tarfile`: that reads extended headers of any size whole, lets numbers of an archive decide
where to seek and how long to loop, and has known inputs on which it takes time without end. Read here are ustar, pax
(`path` and `size`) and GNU long names; of everything else only the length matters.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from tokenwire_server.pull.errors import PullError

BLOCK_BYTES = 512
MAX_HEADER_BYTES = 1 << 20
"""Of one extended header: a long name, or the records of pax."""
MAX_ALL_HEADERS_BYTES = 64 << 20
"""Of all extended headers of an archive."""
MAX_HEADERS = 200_000
"""Blocks that are headers, of members or before them."""
MAX_STREAMS = 100_000
"""A gzip file may be several, one after the other; each costs memory to begin."""
PLAIN = "plain"
OTHER = "other"

_PIECE_BYTES = 1 << 16
_GZIP = 31
"""zlib's word for the gzip format, with its checksum."""
_OCTAL = re.compile(rb" *([0-7]*)[ \0]*")
_NO_DATA = frozenset(b"123456")
"""Links, devices, folders and pipes: their size is no length of data."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A member. `kind` is PLAIN for a regular file; `pieces` may be read before the next entry is asked for."""

    name: str
    kind: str
    size_bytes: int
    pieces: Iterator[bytes]


def read_tarball(file: BinaryIO, archive: str, max_bytes: int) -> Iterator[Entry]:
    """The members of a tar.gz in order, then its checksum; `archive` is its name in messages.

    Unpacks at most `max_bytes`; memory is some pieces and one extended header. Raises `PullError`: BAD_ARCHIVE,
    ARCHIVE_BOMB.
    """
    stream = _Unpacked(file, archive, max_bytes)
    pax: dict[str, str] = {}
    long_name: str | None = None
    for _ in range(MAX_HEADERS):
        block = stream.take_block()
        if block is None or not block.strip(b"\0"):
            break
        header = _read_header(block, stream)
        if header.type in b"xg":
            records = _read_pax(stream.take_header(header.size_bytes), stream)
            if header.type == ord("x"):
                pax = records
            elif records:
                raise stream.bad("one header gives all members a name or size")
        elif header.type in b"LK":
            text = stream.take_header(header.size_bytes).split(b"\0")[0]
            if header.type == ord("L"):
                long_name = _text(text)
        else:
            name = pax.get("path", header.name if long_name is None else long_name)
            size_bytes = _decimal(pax["size"], stream) if "size" in pax else header.size_bytes
            yield from _entry(stream, block, header.type, name, size_bytes, "sparse" in pax)
            pax, long_name = {}, None
    else:
        raise stream.bad(f"it has over {MAX_HEADERS} headers")
    stream.drain()


def _entry(
    stream: _Unpacked, block: bytes, kind: int, name: str, size_bytes: int, sparse: bool
) -> Iterator[Entry]:
    if kind == ord("S"):
        # Old GNU sparse files: more headers may follow, each says whether another does.
        more = block[482]
        while more:
            more = stream.take(BLOCK_BYTES)[504]
    plain = kind in b"0\0\x37" and not sparse and not name.endswith("/")
    if kind in _NO_DATA:
        size_bytes = 0
    pieces = stream.take_pieces(size_bytes)
    yield Entry(name, PLAIN if plain else OTHER, size_bytes, pieces)
    for _ in pieces:  # what was not read
        pass
    stream.take(-size_bytes % BLOCK_BYTES)


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    type: int
    size_bytes: int


def _read_header(block: bytes, stream: _Unpacked) -> _Header:
    """The fields of a header block that matter, once its checksum holds."""
    field = block[148:156]
    given = _number(field, stream)
    unsigned = sum(block) - sum(field) + 8 * ord(" ")
    # Old programs added up signed characters.
    if given != unsigned and given != unsigned - 256 * sum(byte > 127 for byte in block[:148] + block[156:]):
        raise stream.bad("the checksum of a header does not hold")
    name = block[:100].split(b"\0")[0]
    prefix = block[345:500].split(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    return _Header(
        _text(prefix + b"/" + name if prefix else name), block[156], _number(block[124:136], stream)
    )


def _number(field: bytes, stream: _Unpacked) -> int:
    """A number in octal digits, or in GNU's base 256."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    match = _OCTAL.fullmatch(field)
    if match is None:
        raise stream.bad("a number in a header cannot be read")
    return int(match[1] or b"0", 8)


def _read_pax(data: bytes, stream: _Unpacked) -> dict[str, str]:
    """Of the records `LENGTH KEY=VALUE\\n` those that matter: path, size, and whether the file is `sparse`."""
    found: dict[str, str] = {}
    start = 0
    while start < len(data):
        digits, blank, _ = data[start : start + 21].partition(b" ")
        length = _decimal(digits.decode("latin-1"), stream)
        record = data[start : start + length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not blank or not equals or len(record) != length or not record.endswith(b"\n"):
            raise stream.bad("an extended header cannot be read")
        start += length
        if key in (b"path", b"size"):
            found[key.decode()] = _text(value)
        elif key.startswith(b"GNU.sparse."):
            found["sparse"] = ""
            if key == b"GNU.sparse.name":
                found["path"] = _text(value)
    return found


def _decimal(text: str, stream: _Unpacked) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise stream.bad("a number in an extended header cannot be read")
    return int(text)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


class _Unpacked:
    """The bytes of a gzip file, one after the other, and never more of them at once than asked for."""

    def __init__(self, file: BinaryIO, archive: str, max_bytes: int) -> None:
        self._file = file
        self._archive = archive
        self._max_bytes = max_bytes
        self._n_bytes = 0
        self._n_header_bytes = 0
        self._n_streams = 0
        self._inflater: zlib._Decompress | None = None
        self._packed = b""
        self._piece = memoryview(b"")

    def bad(self, why: str) -> PullError:
        return PullError("BAD_ARCHIVE", f"{self._archive} is not a well-formed tar.gz: {why}")

    def take(self, n_bytes: int) -> bytes:
        """Exactly so many bytes. Raises BAD_ARCHIVE where fewer are left."""
        return b"".join(self.take_pieces(n_bytes))

    def take_pieces(self, n_bytes: int) -> Iterator[bytes]:
        while n_bytes:
            if not self._fill():
                raise self.bad("it is cut short")
            piece, self._piece = self._piece[:n_bytes], self._piece[n_bytes:]
            n_bytes -= len(piece)
            yield bytes(piece)

    def take_block(self) -> bytes | None:
        """The next block, None at the end."""
        return self.take(BLOCK_BYTES) if self._fill() else None

    def take_header(self, n_bytes: int) -> bytes:
        """An extended header; what fills its last block is passed over."""
        self._n_header_bytes += n_bytes
        if n_bytes > MAX_HEADER_BYTES or self._n_header_bytes > MAX_ALL_HEADERS_BYTES:
            raise self.bad(
                f"extended headers of {n_bytes} bytes, or {self._n_header_bytes} in all; {MAX_HEADER_BYTES} and "
                f"{MAX_ALL_HEADERS_BYTES} are allowed"
            )
        data = self.take(n_bytes)
        self.take(-n_bytes % BLOCK_BYTES)
        return data

    def drain(self) -> None:
        """Read on to the end, where the checksum is."""
        while self._fill():
            self._piece = memoryview(b"")

    def _fill(self) -> bool:
        """Whether there is a byte more; it is in `_piece` then."""
        while not self._piece:
            self._packed = self._packed or self._file.read(_PIECE_BYTES)
            if self._inflater is not None:
                self._inflate(self._inflater)
            elif not self._packed:
                return False
            else:
                self._begin()
        return True

    def _begin(self) -> None:
        """The next gzip stream; there may be several, and zeros that fill up a tape."""
        self._packed = self._packed.lstrip(b"\0")
        if self._packed:
            self._n_streams += 1
            if self._n_streams > MAX_STREAMS:
                raise self.bad(f"it has over {MAX_STREAMS} gzip streams")
            self._inflater = zlib.decompressobj(_GZIP)

    def _inflate(self, inflater: zlib._Decompress) -> None:
        ended = not self._packed
        try:
            piece = inflater.decompress(self._packed, _PIECE_BYTES)
        except zlib.error:
            raise self.bad("its compressed bytes are damaged") from None
        self._packed = inflater.unconsumed_tail
        if inflater.eof:
            self._packed, self._inflater = inflater.unused_data, None
        elif ended and not piece:
            raise self.bad("it is cut short")
        self._n_bytes += len(piece)
        if self._n_bytes > self._max_bytes:
            raise PullError(
                "ARCHIVE_BOMB", f"{self._archive} unpacks to more than the {self._max_bytes} bytes allowed"
            )
        self._piece = memoryview(piece)
