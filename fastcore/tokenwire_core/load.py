"""From an artifact's bytes to an `Encoder`: one table says which reader takes which format and options."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Literal

from tokenwire_core.byte_alphabet import to_bytes
from tokenwire_core.encoder import Encoder
from tokenwire_core.errors import ArtifactError, TokenizerError
from tokenwire_core.formats.hf_json import read_hf_json
from tokenwire_core.formats.sentencepiece_model import read_sentencepiece_model
from tokenwire_core.formats.tiktoken_ranks import read_tiktoken_ranks
from tokenwire_core.pipeline import AddedToken, vocabulary_of
from tokenwire_core.sentencepiece_spec import PieceType
from tokenwire_core.spec import MAX_CONTROL_TOKEN_BYTES, PipelineSpec, SentencePieceSpec, TokenizerSpec

Format = Literal["tiktoken", "hf_json", "sentencepiece"]


def load(
    data: bytes,
    format: Format = "tiktoken",
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    control_tokens: Iterable[str] | None = None,
    normalizer: Mapping[str, object] | None = None,
    tokenizer_config: bytes | None = None,
) -> Encoder:
    """The tokenizer of an artifact, ready to encode.

    Args:
        data: the artifact's bytes, uncompressed.
        format: `tiktoken`, a rank file; `hf_json`, a tokenizer.json; `sentencepiece`, a `.model` file.
        pattern: rank files only, and needed there: the regular expression that splits text into pieces.
        special_tokens: rank files only: spelling to id of the tokens that stand beside the file.
        control_tokens: spellings of tokens that must be control tokens beyond those the artifact flags: added tokens,
            or entries of the vocabulary that ordinary text can do without.
        normalizer: of no format yet.
        tokenizer_config: tokenizer.json only: the bytes of the tokenizer_config.json beside it.

    Raises:
        ArtifactError: the artifact or an option is malformed; its `reason` names the mistake.
        TokenizerError: an option that the format does not take.

    Cost: about 2 microseconds a token of a rank file, 10 to 20 of the other formats.
    """
    spec = read_spec(
        data,
        format,
        pattern=pattern,
        special_tokens=special_tokens,
        control_tokens=control_tokens,
        normalizer=normalizer,
        tokenizer_config=tokenizer_config,
    )
    return Encoder(spec)


def read_spec(data: bytes, format: Format = "tiktoken", **options: object) -> TokenizerSpec:
    """What `load` compiles: the artifact as a `TokenizerSpec`, with the same options and errors."""
    if format not in _READERS:
        known = ", ".join(_READERS)
        raise ArtifactError("UNSUPPORTED_FORMAT", f"this version does not read the format; it reads {known}")
    reader, taken = _READERS[format]
    if isinstance(options.get("control_tokens"), (str, bytes)):
        raise TypeError("control_tokens is one text; give a list of spellings")
    given = {name: value for name, value in options.items() if value is not None}
    if refused := given.keys() - taken:
        raise TokenizerError(f"artifacts of format {format} take no {', '.join(sorted(refused))}")
    return reader(data, **given)


def _pipeline_spec(
    data: bytes, *, control_tokens: Iterable[str] = (), tokenizer_config: bytes | None = None
) -> PipelineSpec:
    """The tokenizer of a tokenizer.json. A chosen control token is an added token of it, or an entry."""
    pipeline = read_hf_json(data, tokenizer_config=tokenizer_config)
    added = {token.content: token for token in pipeline.added_tokens}
    entries = vocabulary_of(pipeline.model)
    chosen = []
    for spelling in dict.fromkeys(control_tokens):
        token = added.get(spelling)
        if token is None:
            if spelling not in entries:
                raise _unknown_control_token(spelling, len(entries.keys() | added.keys()))
            if len(spelling) == 1 or _BYTE_TOKEN.fullmatch(spelling):
                raise _needed_for_text(spelling)
            _check_length(spelling)
            token = AddedToken(spelling, entries[spelling], normalized=False)
        if not token.special:
            added[spelling] = replace(token, special=True)
            chosen.append(spelling)
    spec = PipelineSpec(
        format="hf_json",
        files=(hashlib.sha256(data).hexdigest(),),
        special_tokens={token.content: token.id for token in added.values() if token.special},
        control_tokens=(),
        chosen_control_tokens=tuple(chosen),
        pipeline=replace(pipeline, added_tokens=tuple(added.values())),
    )
    for spelling in chosen:
        if spec.is_byte_level and spelling in entries and to_bytes(spelling) != spelling.encode():
            message = (
                f"the control token {_shown(spelling)} is spelled in the byte alphabet; no text has it so"
            )
            raise ArtifactError("BAD_CONTROL_TOKEN", message)
    of_text = spec.byte_fallback_ids | {spec.unknown_id}
    steering = (spelling for spelling, id in spec.special_tokens.items() if id not in of_text)
    return replace(spec, control_tokens=tuple(steering))


def _sentencepiece_spec(data: bytes, *, control_tokens: Iterable[str] = ()) -> SentencePieceSpec:
    """The tokenizer of a SentencePiece model. A chosen control token is any of its pieces."""
    model = read_sentencepiece_model(data)
    flagged = {piece.text: id for id, piece in enumerate(model.pieces) if piece.type is PieceType.CONTROL}
    others = {piece.text: id for id, piece in enumerate(model.pieces) if piece.type is not PieceType.CONTROL}
    chosen = {}
    for spelling in control_tokens:
        if spelling not in flagged and others.get(spelling, model.unk_id) == model.unk_id:
            raise _unknown_control_token(spelling, len(model.pieces))
        if spelling not in flagged:
            type_ = model.pieces[others[spelling]].type
            if type_ is not PieceType.USER_DEFINED and (
                len(spelling) == 1 or type_ is PieceType.BYTE or "▁" in spelling
            ):
                raise _needed_for_text(spelling)
            _check_length(spelling)
            chosen[spelling] = others[spelling]
    return SentencePieceSpec(
        format="sentencepiece",
        files=(hashlib.sha256(data).hexdigest(),),
        special_tokens=flagged | chosen,
        control_tokens=tuple(flagged | chosen),
        chosen_control_tokens=tuple(chosen),
        sentencepiece=model,
    )


_BYTE_TOKEN: Final = re.compile(r"<0x[0-9A-Fa-f]{2}>")


def _unknown_control_token(spelling: str, n_tokens: int) -> ArtifactError:
    message = f"the control token {_shown(spelling)} is none of the {n_tokens} tokens; write it as the artifact does"
    return ArtifactError("UNKNOWN_CONTROL_TOKEN", message)


def _needed_for_text(spelling: str) -> ArtifactError:
    message = (
        f"{_shown(spelling)} cannot be a control token: ordinary text is made of it; choose added tokens"
    )
    return ArtifactError("BAD_CONTROL_TOKEN", message)


def _check_length(spelling: str) -> None:
    if (n_bytes := len(spelling.encode())) > MAX_CONTROL_TOKEN_BYTES:
        message = f"the control token {_shown(spelling)}... has {n_bytes} bytes, the limit is {MAX_CONTROL_TOKEN_BYTES}"
        raise ArtifactError("BAD_CONTROL_TOKEN", message)


def _shown(spelling: str) -> str:
    return ascii(spelling[:64])


_READERS: Final[dict[str, tuple[Callable[..., TokenizerSpec], set[str]]]] = {
    "tiktoken": (read_tiktoken_ranks, {"pattern", "special_tokens", "control_tokens"}),
    "hf_json": (_pipeline_spec, {"control_tokens", "tokenizer_config"}),
    "sentencepiece": (_sentencepiece_spec, {"control_tokens"}),
}
"""Each format's reader, and the options that go with it."""
