"""Corpus: the texts of files and folders, one after the other, in bounded memory.

A text is a line without its newline, or a whole file. Files named `*.xz` and `*.gz` are decompressed as they are
read. In a folder all `*.txt`, `*.txt.xz` and `*.txt.gz` are taken, in the order of their names; links to folders are
not followed. Cost: about a microsecond a line.
"""

from __future__ import annotations

import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from tokenwire_server.tools.walking import files_below

STDIN = "-"
SUFFIXES = (".txt", ".txt.xz", ".txt.gz")
_BLOCK_BYTES = 1 << 20
_XZ_MEMORY_BYTES = 128 << 20  # The strongest preset asks for 65 MiB.


class CorpusError(Exception):
    """A file of a corpus cannot be read, or there is none: `file`, and `what` is wrong with it."""

    def __init__(self, file: str, what: str) -> None:
        super().__init__(f"{file} {what}")
        self.file = file
        self.what = what


@dataclass(frozen=True, slots=True)
class Text:
    """One text: `line` counts from 1 and is 0 for a whole file; `utf8` is None for one over the bound."""

    file: str
    line: int
    utf8: bytes | None


def read(paths: Iterable[str], *, by_line: bool, max_bytes: int) -> Iterator[Text]:
    """The texts of files, folders and `-` for stdin; at most `max_bytes` of one are held. Raises `CorpusError`."""
    for path in _files(paths):
        try:
            with _open(path) as file:
                blocks = _blocks(file, path)
                yield from _lines(path, blocks, max_bytes) if by_line else _whole(path, blocks, max_bytes)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            why = (
                error.strerror if isinstance(error, OSError) and error.strerror else "malformed or cut short"
            )
            raise CorpusError(path, f"cannot be read: {why}") from None


def _files(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        if path == STDIN or not os.path.isdir(path):
            yield path
            continue
        is_empty = True
        for full in files_below(path, _raise):
            # A pipe in a folder would be waited for without end.
            if full.endswith(SUFFIXES) and os.path.isfile(full):
                is_empty = False
                yield full
        if is_empty:
            raise CorpusError(path, f"has no {', '.join('*' + suffix for suffix in SUFFIXES)}")


def _raise(error: OSError) -> None:
    raise CorpusError(error.filename, f"cannot be read: {error.strerror}") from None


def _open(path: str) -> BinaryIO:
    if path == STDIN and sys.stdin is None:
        raise CorpusError(STDIN, "cannot be read: stdin is closed")
    # Stdin is not ours to close.
    return open(sys.stdin.fileno(), "rb", closefd=False) if path == STDIN else open(path, "rb")


def _blocks(file: BinaryIO, path: str) -> Iterator[bytes]:
    if path.endswith(".xz"):
        yield from _decompressed_xz(file)
        return
    plain = gzip.GzipFile(fileobj=file) if path.endswith(".gz") else file
    while block := plain.read(_BLOCK_BYTES):
        yield block


def _decompressed_xz(file: BinaryIO) -> Iterator[bytes]:
    """As `lzma.open`, but with a bound on the memory that a file may ask for."""
    data = file.read(_BLOCK_BYTES)
    while data:
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES)
        while not decompressor.eof:
            if decompressor.needs_input and not data and not (data := file.read(_BLOCK_BYTES)):
                raise EOFError
            yield decompressor.decompress(data, _BLOCK_BYTES)
            data = b""
        # A file may be several streams, with zeros between them.
        data = decompressor.unused_data.lstrip(b"\0") or file.read(_BLOCK_BYTES).lstrip(b"\0")


def _lines(path: str, blocks: Iterator[bytes], max_bytes: int) -> Iterator[Text]:
    line = 0
    rest: list[bytes] = []
    rest_bytes = 0
    for block in blocks:
        head, *tail = block.split(b"\n")
        if rest_bytes <= max_bytes:
            rest.append(head)
        rest_bytes += len(head)
        if not tail:
            continue
        line += 1
        yield Text(path, line, b"".join(rest) if rest_bytes <= max_bytes else None)
        last = tail.pop()
        for utf8 in tail:
            line += 1
            yield Text(path, line, utf8 if len(utf8) <= max_bytes else None)
        rest, rest_bytes = [last], len(last)
    if rest_bytes:
        yield Text(path, line + 1, b"".join(rest) if rest_bytes <= max_bytes else None)


def _whole(path: str, blocks: Iterator[bytes], max_bytes: int) -> Iterator[Text]:
    parts: list[bytes] = []
    n_bytes = 0
    for block in blocks:
        n_bytes += len(block)
        if n_bytes > max_bytes:
            yield Text(path, 0, None)
            return
        parts.append(block)
    yield Text(path, 0, b"".join(parts))
