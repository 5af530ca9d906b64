"""Reference libraries: what others compute for the same artifact, from the bytes in hand; nothing is downloaded.

One library is the reference of each format: tiktoken for rank files, tokenizers for a tokenizer.json, sentencepiece
for a .model. They are the extra `[reference]`; none is imported before it is asked for, and never while serving.
Where they are not installed, the core's slow twins stand in (`twin`), which prove nothing to others.
"""

from __future__ import annotations

import base64
import importlib
import importlib.metadata
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, Final, Protocol

from tokenwire_core.formats.protobuf_wire import fields
from tokenwire_core.reference import ReferenceEncoder
from tokenwire_core.reference_pipeline import ReferencePipeline
from tokenwire_core.reference_sentencepiece import ReferenceSentencePiece
from tokenwire_core.spec import PipelineSpec, RankFileSpec, SentencePieceSpec, TokenizerSpec

LIBRARIES: Final[Mapping[str, str]] = {
    "tiktoken": "tiktoken",
    "hf_json": "tokenizers",
    "sentencepiece": "sentencepiece",
}
"""Each format's reference library, under the name of its distribution."""


class Reference(Protocol):
    """A tokenizer of a reference library. All methods raise `ReferenceFailedError`."""

    @property
    def name(self) -> str:
        """The library and its version, as `tiktoken 0.14.0`; empty for the slow twin."""

    @property
    def finds_control_tokens(self) -> bool:
        """Whether it makes control tokens of text at all, where they are allowed."""

    def encode(
        self, text: str, special: bool, add_special: bool = False, pair: str | None = None
    ) -> list[int]:
        """The ids of `text`, or of it and `pair`.

        With `special` its control tokens are allowed, else they are text; `add_special` puts the template around it.
        """

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, control tokens with it."""

    def byte_starts(self, text: str, special: bool) -> list[int]:
        """Where each token of `encode` starts, in bytes of the text's UTF-8."""


class ReferenceFailedError(Exception):
    """The reference library cannot read the artifact, or not encode a text."""


def installed(
    data: bytes,
    format: str,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    control_tokens: Sequence[str] = (),
) -> Reference | None:
    """The tokenizer of an artifact in its reference library; None where that is not installed.

    `pattern` and `special_tokens` are those of a rank file, `control_tokens` those that the artifact does not flag.
    Cost: about a second for 200,000 tokens. Raises `ReferenceFailedError`.
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
            return _Tokenizers(module, name, flagged(data, control_tokens) if control_tokens else data)
        return _Sentencepiece(module, name, data)


def of_spec(data: bytes, spec: TokenizerSpec) -> Reference | None:
    """`installed` for the tokenizer that `spec` was read to from `data`."""
    is_rank_file = isinstance(spec, RankFileSpec)
    return installed(
        data,
        spec.format,
        pattern=spec.pattern if isinstance(spec, RankFileSpec) else None,
        special_tokens=spec.special_tokens if is_rank_file else None,
        control_tokens=spec.chosen_control_tokens,
    )


def twin(spec: TokenizerSpec) -> Reference:
    """The core's slow twin, which agrees with the core on what the definition says and proves nothing to others."""
    if isinstance(spec, RankFileSpec):
        return _RankFileTwin(spec)
    if isinstance(spec, PipelineSpec):
        return _PipelineTwin(spec)
    if isinstance(spec, SentencePieceSpec):
        return _SentencepieceTwin(spec)
    raise TypeError(f"there is no twin of {type(spec).__name__}")


def flagged(data: bytes, control_tokens: Sequence[str]) -> bytes:
    """A tokenizer.json in which these tokens are flagged special; entries of the vocabulary become added tokens."""
    document = json.loads(data)
    added = {token["content"]: token for token in document.get("added_tokens", ())}
    vocab = document["model"]["vocab"]
    entries = vocab if isinstance(vocab, dict) else {entry[0]: id for id, entry in enumerate(vocab)}
    for spelling in control_tokens:
        token = added.setdefault(spelling, {"id": entries.get(spelling), "content": spelling} | _FLAGS)
        token["special"] = True
    document["added_tokens"] = list(added.values())
    return json.dumps(document).encode()


_FLAGS: Final = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)


class _Tiktoken:
    finds_control_tokens = True

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

    def encode(
        self,
        text: str,
        special: bool,
        add_special: bool = False,  # noqa: ARG002  rank files have no template
        pair: str | None = None,
    ) -> list[int]:
        if pair is not None:
            raise ReferenceFailedError(f"{self.name} has no pairs of texts")
        with _failures(self.name):
            if special:
                return list(self._encoding.encode(text, allowed_special="all"))
            return list(self._encoding.encode_ordinary(text))

    def decode(self, ids: Sequence[int]) -> str:
        with _failures(self.name):
            return str(self._encoding.decode(list(ids)))

    def byte_starts(self, text: str, special: bool) -> list[int]:
        pieces = self._encoding.decode_tokens_bytes(self.encode(text, special))
        return list(accumulate(map(len, pieces[:-1]), initial=0)) if pieces else []


class _Tokenizers:
    finds_control_tokens = True

    def __init__(self, module: Any, name: str, data: bytes) -> None:
        self.name = name
        self._tokenizer = module.Tokenizer.from_buffer(data)
        # What a tokenizer.json may say of one application: a cut and a filling that are none of the encoding.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(
        self, text: str, special: bool, add_special: bool = False, pair: str | None = None
    ) -> list[int]:
        return list(self._encoding(text, special, add_special, pair).ids)

    def decode(self, ids: Sequence[int]) -> str:
        with _failures(self.name):
            return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def byte_starts(self, text: str, special: bool) -> list[int]:
        return _byte_positions(text, [start for start, _ in self._encoding(text, special).offsets])

    def _encoding(self, text: str, special: bool, add_special: bool = False, pair: str | None = None) -> Any:
        with _failures(self.name):
            self._tokenizer.encode_special_tokens = not special
            return self._tokenizer.encode(text, pair, add_special_tokens=add_special)


class _Sentencepiece:
    """The library never makes control tokens from text, so both answers are the same."""

    finds_control_tokens = False

    def __init__(self, module: Any, name: str, data: bytes) -> None:
        self.name = name
        self._processor = module.SentencePieceProcessor(model_proto=data)

    def encode(
        self,
        text: str,
        special: bool,  # noqa: ARG002  the protocol's
        add_special: bool = False,
        pair: str | None = None,
    ) -> list[int]:
        if pair is not None or add_special:
            raise ReferenceFailedError(f"{self.name} has no templates")
        with _failures(self.name):
            return list(self._processor.encode(text, out_type=int))

    def decode(self, ids: Sequence[int]) -> str:
        with _failures(self.name):
            return str(self._processor.decode(list(ids)))

    def byte_starts(self, text: str, special: bool) -> list[int]:  # noqa: ARG002  the protocol's
        with _failures(self.name):
            message = self._processor.encode(text, out_type="serialized_proto")
        pieces = [
            dict(fields(value)) for number, value in fields(message) if number == 2 and type(value) is bytes
        ]
        begins = [piece.get(4, 0) for piece in pieces]  # The field `begin`, in bytes.
        return [begin for begin in begins if isinstance(begin, int)]


class _RankFileTwin:
    name = ""
    finds_control_tokens = True

    def __init__(self, spec: RankFileSpec) -> None:
        self._encoder = ReferenceEncoder(spec)

    def encode(
        self,
        text: str,
        special: bool,
        add_special: bool = False,  # noqa: ARG002  rank files have no template
        pair: str | None = None,
    ) -> list[int]:
        if pair is not None:
            raise ReferenceFailedError("rank files have no pairs of texts")
        return self._encoder.encode(text, special="allow" if special else "text")

    def decode(self, ids: Sequence[int]) -> str:
        return self._encoder.decode_bytes(ids).decode("utf-8", "replace")

    def byte_starts(self, text: str, special: bool) -> list[int]:
        spans = self._encoder.byte_offsets(text, special="allow" if special else "text")
        return [start for start, _ in spans]


class _PipelineTwin:
    name = ""
    finds_control_tokens = True

    def __init__(self, spec: PipelineSpec) -> None:
        self._encoder = ReferencePipeline(spec.pipeline)

    def encode(
        self, text: str, special: bool, add_special: bool = False, pair: str | None = None
    ) -> list[int]:
        return self._encoder.encode(text, "allow" if special else "text", add_special, pair).ids

    def decode(self, ids: Sequence[int]) -> str:
        return self._encoder.decode(ids)

    def byte_starts(self, text: str, special: bool) -> list[int]:
        encoding = self._encoder.encode(text, "allow" if special else "text")
        return _byte_positions(text, [start for start, _ in encoding.spans])


class _SentencepieceTwin:
    name = ""
    finds_control_tokens = False

    def __init__(self, spec: SentencePieceSpec) -> None:
        self._encoder = ReferenceSentencePiece(spec.sentencepiece)

    def encode(
        self,
        text: str,
        special: bool,  # noqa: ARG002  the protocol's
        add_special: bool = False,
        pair: str | None = None,
    ) -> list[int]:
        if pair is not None or add_special:
            raise ReferenceFailedError("SentencePiece models have no templates")
        return [token.id for token in self._encoder.encode(text)]

    def decode(self, ids: Sequence[int]) -> str:
        return self._encoder.decode(ids)

    def byte_starts(self, text: str, special: bool) -> list[int]:  # noqa: ARG002  the protocol's
        return [token.byte_start for token in self._encoder.encode(text)]


def _byte_positions(text: str, positions: list[int]) -> list[int]:
    """Positions in code points as bytes of UTF-8. An empty token at the end may have a position beyond it."""
    byte_at = [0, *accumulate(len(character.encode()) for character in text)]
    return [byte_at[min(position, len(text))] for position in positions]


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
