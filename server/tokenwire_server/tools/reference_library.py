"""Reference libraries: what others compute for the same artifact, from the bytes in hand; nothing is downloaded.

One library is the reference of each format: tiktoken for rank files, tokenizers for a tokenizer.json, sentencepiece
for a .model. They are the extra `[reference]`; none is imported before it is asked for, and never while serving.
"""

from __future__ import annotations

import base64
import importlib
import importlib.metadata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Final, Protocol

from tokenwire_core import TokenizerSpec
from tokenwire_core.reference import ReferenceEncoder

from tokenwire_server.tools.model_proto import fields

LIBRARIES: Final[Mapping[str, str]] = {
    "tiktoken": "tiktoken",
    "hf_json": "tokenizers",
    "sentencepiece": "sentencepiece",
}
"""Each format's reference library, under the name of its distribution."""


class Reference(Protocol):
    """A tokenizer of a reference library."""

    @property
    def name(self) -> str:
        """The library and its version, as `tiktoken 0.14.0`; empty for the slow twin."""

    def encode(self, text: str, special: bool) -> list[int]:
        """The ids of `text` without a template; with `special` its control tokens are allowed, else they are text.

        Raises `ReferenceFailedError`.
        """

    def byte_starts(self, text: str, special: bool) -> list[int]:
        """Where each token of `encode` starts, in bytes of the text's UTF-8. Raises `ReferenceFailedError`."""


class ReferenceFailedError(Exception):
    """The reference library cannot read the artifact, or not encode a text."""


def installed(
    data: bytes,
    format: str,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> Reference | None:
    """The tokenizer of an artifact in its reference library; None where that is not installed.

    `pattern` and `special_tokens` are those of a rank file. Cost: about a second for 200,000 tokens.
    Raises `ReferenceFailedError`.
    """
    library = LIBRARIES[format]
    try:
        module = importlib.import_module(library)
        name = f"{library} {importlib.metadata.version(library)}"
    except ImportError:
        return None
    with _failures(name):
        if format == "tiktoken":
            return _Tiktoken(module, name, data, pattern, special_tokens or {})
        if format == "hf_json":
            return _Tokenizers(module, name, data)
        return _Sentencepiece(module, name, data)


def twin(spec: TokenizerSpec) -> Reference:
    """The core's slow twin, which agrees with the core on what the definition says and proves nothing to others."""
    return _Twin(spec)


class _Tiktoken:
    def __init__(
        self, module: Any, name: str, data: bytes, pattern: str | None, special_tokens: Mapping[str, int]
    ) -> None:
        self.name = name
        self._encoding = module.Encoding(
            name="artifact",
            pat_str=pattern,
            mergeable_ranks=_ranks(data),
            special_tokens=dict(special_tokens),
        )

    def encode(self, text: str, special: bool) -> list[int]:
        with _failures(self.name):
            if special:
                return list(self._encoding.encode(text, allowed_special="all"))
            return list(self._encoding.encode_ordinary(text))

    def byte_starts(self, text: str, special: bool) -> list[int]:
        pieces = self._encoding.decode_tokens_bytes(self.encode(text, special))
        return list(accumulate(map(len, pieces[:-1]), initial=0)) if pieces else []


class _Tokenizers:
    def __init__(self, module: Any, name: str, data: bytes) -> None:
        self.name = name
        self._tokenizer = module.Tokenizer.from_buffer(data)
        # What a tokenizer.json may say of one application: a cut and a filling that are none of the encoding.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str, special: bool) -> list[int]:
        return list(self._encoding(text, special).ids)

    def byte_starts(self, text: str, special: bool) -> list[int]:
        return _byte_positions(text, [start for start, _ in self._encoding(text, special).offsets])

    def _encoding(self, text: str, special: bool) -> Any:
        with _failures(self.name):
            self._tokenizer.encode_special_tokens = not special
            return self._tokenizer.encode(text, add_special_tokens=False)


class _Sentencepiece:
    """The library never makes control tokens from text, so both answers are the same."""

    def __init__(self, module: Any, name: str, data: bytes) -> None:
        self.name = name
        self._processor = module.SentencePieceProcessor(model_proto=data)

    def encode(self, text: str, special: bool) -> list[int]:  # noqa: ARG002  the protocol's
        with _failures(self.name):
            return list(self._processor.encode(text, out_type=int))

    def byte_starts(self, text: str, special: bool) -> list[int]:  # noqa: ARG002  the protocol's
        with _failures(self.name):
            message = self._processor.encode(text, out_type="serialized_proto")
        pieces = [
            dict(fields(value)) for number, value in fields(message) if number == 2 and type(value) is bytes
        ]
        return [int(piece.get(4, 0)) for piece in pieces]  # The field `begin`, in bytes.


class _Twin:
    name = ""

    def __init__(self, spec: TokenizerSpec) -> None:
        self._encoder = ReferenceEncoder(spec)

    def encode(self, text: str, special: bool) -> list[int]:
        return self._encoder.encode(text, special="allow" if special else "text")

    def byte_starts(self, text: str, special: bool) -> list[int]:
        spans = self._encoder.byte_offsets(text, special="allow" if special else "text")
        return [start for start, _ in spans]


def _byte_positions(text: str, positions: list[int]) -> list[int]:
    """Positions in code points as bytes of UTF-8."""
    byte_at = [0, *accumulate(len(character.encode()) for character in text)]
    return [byte_at[position] for position in positions]


def _ranks(data: bytes) -> dict[bytes, int]:
    """A rank file read apart from the core's reader, so that a fault of that shows."""
    pairs = (line.split() for line in data.splitlines() if line)
    # Whisper's file spells its empty token `=`, which is no base64.
    return {b"" if token == b"=" else base64.b64decode(token): int(rank) for token, rank in pairs}


@contextmanager
def _failures(name: str) -> Iterator[None]:
    """A library's exceptions as `ReferenceFailedError`, also those of its Rust code, which no `Exception` covers."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ReferenceFailedError(
            f"{name} fails on this tokenizer ({type(error).__name__}); if the artifact and what it is read with are "
            "right, take another version of the library"
        ) from error
