"""Rank files, as tiktoken publishes them: one token a line, its bytes in base64 and its rank, `IQ== 0`.

A rank file holds neither its pattern nor its special tokens; the caller brings them, and the digest covers
them. What tiktoken reads, this reads to the same tokens: any line ending, empty lines, holes between ranks,
ranks in any order, and `=` for the token of no bytes (Whisper has one). What tiktoken lets pass silently is
refused by name: digits or base64 that are not strictly so, a token or rank that comes twice, a byte that is
no token.

Cost: 0.9 microseconds a line; every size is bounded before memory is taken for it.
"""

from __future__ import annotations

import hashlib
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Final

from tokenwire_core.errors import ArtifactError
from tokenwire_core.spec import MAX_CONTROL_TOKEN_BYTES, MAX_VOCAB_SIZE, RankFileSpec

MAX_TOKEN_BYTES: Final = 1024
MAX_LINE_BYTES: Final = 2048
MAX_PATTERN_BYTES: Final = 4096


def read_tiktoken_ranks(
    data: bytes,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    control_tokens: Iterable[str] | None = None,
) -> RankFileSpec:
    """The tokenizer of a rank file.

    Args:
        data: the file's bytes, uncompressed.
        pattern: the regular expression that splits text into pieces.
        special_tokens: spelling to id. All of them are control tokens.
        control_tokens: spellings that must be control tokens; each has to be one of `special_tokens`.

    Raises:
        ArtifactError: see its reasons; `line` counts from 1.
    """
    pattern = _checked_pattern(pattern)
    ranks = _read_ranks(data)
    specials = _checked_special_tokens(special_tokens or {}, ranks)
    for spelling in control_tokens or ():
        if spelling not in specials:
            raise ArtifactError(
                "UNKNOWN_CONTROL_TOKEN",
                f"a control token is none of the {len(specials)} special tokens; add its id to those",
            )
    return RankFileSpec(
        format="tiktoken",
        ranks=ranks,
        pattern=pattern,
        special_tokens=specials,
        control_tokens=tuple(specials),
        files=(hashlib.sha256(data).hexdigest(),),
        chosen_control_tokens=(),
    )


def _read_ranks(data: bytes) -> dict[bytes, int]:
    if data.count(b"\n") > MAX_VOCAB_SIZE or data.count(b"\r") > MAX_VOCAB_SIZE:
        raise ArtifactError("TOO_MANY_TOKENS", f"the file has more lines than {MAX_VOCAB_SIZE}, the most ids")
    lines = data.splitlines()
    ranks: dict[bytes, int] = {}
    n_tokens = 0
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        if len(line) > MAX_LINE_BYTES:
            raise ArtifactError("LINE_TOO_LONG", f"{len(line)} bytes, limit {MAX_LINE_BYTES}", line=number)
        try:
            field, digits = line.split()
        except ValueError:
            message = "a line is a token in base64, a blank, and a rank"
            raise ArtifactError("BAD_LINE", message, line=number) from None
        try:
            token = a2b_base64(field, strict_mode=True)
        except Base64Error:
            if field != b"=":
                raise ArtifactError("BAD_BASE64", "the token is not strict base64", line=number) from None
            token = b""
        if not digits.isdigit():
            raise ArtifactError("BAD_RANK", "a rank is a decimal number", line=number)
        ranks[token] = int(digits)
        n_tokens += 1
    _check_ranks(ranks, n_tokens, lines)
    ids = list(ranks.values())
    return ranks if ids == sorted(ids) else dict(sorted(ranks.items(), key=itemgetter(1)))


def _check_ranks(ranks: dict[bytes, int], n_tokens: int, lines: list[bytes]) -> None:
    """What can be checked for all tokens at once, at a tenth of the cost of doing it line by line."""
    if not ranks:
        raise ArtifactError("EMPTY", "the file has no tokens")
    if len(ranks) != n_tokens or len(set(ranks.values())) != n_tokens:
        raise _find_duplicate(lines)
    if (highest := max(ranks.values())) >= MAX_VOCAB_SIZE:
        raise ArtifactError("BAD_RANK", f"the highest rank is {highest}, the limit is {MAX_VOCAB_SIZE - 1}")
    if (n_bytes := max(map(len, ranks))) > MAX_TOKEN_BYTES:
        raise ArtifactError("TOKEN_TOO_LONG", f"a token has {n_bytes} bytes, the limit is {MAX_TOKEN_BYTES}")
    for byte in range(256):
        if bytes((byte,)) not in ranks:
            raise ArtifactError(
                "MISSING_BYTE", f"the byte 0x{byte:02x} is no token, so not every text could be encoded"
            )


def _find_duplicate(lines: list[bytes]) -> ArtifactError:
    """The first line that repeats a token or a rank, of lines that were read without error."""
    line_of: dict[bytes | int, int] = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        field, digits = line.split()
        # Base64 can spell one token in several ways, and decimal digits one rank.
        if (first := line_of.setdefault(a2b_base64(field), number)) != number:
            return ArtifactError("DUPLICATE_TOKEN", f"the token of line {first} again", line=number)
        if (first := line_of.setdefault(int(digits), number)) != number:
            return ArtifactError("DUPLICATE_RANK", f"the rank of line {first} again", line=number)
    raise AssertionError("called for lines without a duplicate")


def _checked_pattern(pattern: str | None) -> str:
    if pattern is None:
        raise ArtifactError("MISSING_PATTERN", "a rank file does not hold its pattern; give it with the file")
    n_bytes = _utf8_size(pattern)
    if not 0 < n_bytes <= MAX_PATTERN_BYTES:
        raise ArtifactError(
            "BAD_PATTERN", f"a pattern is 1 to {MAX_PATTERN_BYTES} bytes of text without lone surrogates"
        )
    return pattern


def _checked_special_tokens(special_tokens: Mapping[str, int], ranks: Mapping[bytes, int]) -> dict[str, int]:
    """The special tokens in id order."""
    taken = set(ranks.values())
    for spelling, id_ in special_tokens.items():
        if not 0 < _utf8_size(spelling) <= MAX_CONTROL_TOKEN_BYTES:
            raise ArtifactError(
                "BAD_SPECIAL",
                f"a special token is spelled by 1 to {MAX_CONTROL_TOKEN_BYTES} bytes without lone surrogates",
            )
        if type(id_) is not int or not 0 <= id_ < MAX_VOCAB_SIZE:
            raise ArtifactError("BAD_SPECIAL", f"a special token's id is an int below {MAX_VOCAB_SIZE}")
        if id_ in taken:
            raise ArtifactError("COLLIDING_SPECIAL", f"two tokens have the id {id_}")
        taken.add(id_)
        if (rank := ranks.get(spelling.encode())) is not None:
            raise ArtifactError(
                "COLLIDING_SPECIAL", f"the special token {id_} is spelled like the ordinary one {rank}"
            )
    return dict(sorted(special_tokens.items(), key=itemgetter(1)))


def _utf8_size(text: object) -> int:
    """Its size in UTF-8, or -1 for what has none: not a string, or lone surrogates in it."""
    try:
        return len(text.encode()) if isinstance(text, str) else -1
    except UnicodeEncodeError:
        return -1
