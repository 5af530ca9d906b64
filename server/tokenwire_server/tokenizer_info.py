"""What ListTokenizers and GetTokenizer say of a tokenizer, and the wire forms that other answers share."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_core import Encoder
from tokenwire_core.describe import Description
from tokenwire_core.spec import PipelineSpec

from tokenwire_server import requests, sources
from tokenwire_server.catalogue import Entry
from tokenwire_server.limits import Limits


def info(entry: Entry, limits: Limits) -> pb.TokenizerInfo:
    """A configured tokenizer as any client may see it."""
    config = entry.config
    message = pb.TokenizerInfo(
        name=config.name,
        aliases=config.aliases,
        state=f"TOKENIZER_STATE_{entry.state.value}",
        format=config.format,
        pattern=config.pattern or "",
        sha256=config.sha256,
        failure=entry.failure,
        source=_public(config.source),
        proven_by=config.proof,
        models=config.models,
        model_prefixes=config.model_prefixes,
    )
    if entry.encoder is not None and entry.description is not None:
        _add_encoder(message, entry.encoder, limits)
        _add_pipeline(message.pipeline, entry.description)
    return message


def add_by_id(field: Any, tokens: Mapping[str, int]) -> None:
    """Add (spelling, id) pairs to a field of `SpecialToken`s, by id."""
    for token, token_id in sorted(tokens.items(), key=itemgetter(1)):
        field.add(token=token, id=token_id)


def _add_encoder(message: pb.TokenizerInfo, encoder: Encoder, limits: Limits) -> None:
    message.digest = encoder.digest
    message.model = encoder.spec.model
    message.vocab_size = encoder.vocab_size
    message.splitter = encoder.splitter
    message.max_text_bytes = requests.max_text_bytes(encoder, limits)
    add_by_id(message.control_tokens, encoder.control_tokens)
    config = encoder.spec.pipeline.config if isinstance(encoder.spec, PipelineSpec) else None
    if config is not None:
        message.config.SetInParent()
        for name in ("bos_token", "eos_token", "unk_token", "pad_token", "model_max_length"):
            if (value := getattr(config, name)) is not None:
                setattr(message.config, name, value)
        message.config.chat_templates.extend(name for name, _ in config.chat_templates)


def _add_pipeline(message: pb.Pipeline, description: Description) -> None:
    for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        getattr(message, name).extend(getattr(description, name))
    message.model = description.model
    message.n_added_tokens = description.n_added_tokens
    message.n_control_tokens = description.n_control_tokens


def _public(source: str) -> str:
    """A source as any client may see it: without the folder of a file, too."""
    if source.startswith("file:"):
        return f"file:{PurePosixPath(source.removeprefix('file:')).name}"
    return sources.shown(source)
