"""What a service says of its tokenizers, from the wire to records."""

from __future__ import annotations

from typing import Any

from tokenwire._options import STATES
from tokenwire._results import Pipeline, TokenizerConfig, TokenizerInfo
from tokenwire.v1 import tokenizer_pb2 as pb


def tokenizer_info(info: pb.TokenizerInfo) -> TokenizerInfo:
    """The record of one tokenizer."""
    return TokenizerInfo(
        name=info.name,
        aliases=tuple(info.aliases),
        state=STATES.get(info.state, "unknown"),
        digest=info.digest,
        format=info.format,
        model=info.model,
        vocab_size=info.vocab_size,
        control_tokens={special.token: special.id for special in info.control_tokens},
        splitter=info.splitter,
        pattern=info.pattern,
        sha256=info.sha256,
        max_text_bytes=info.max_text_bytes,
        failure=info.failure,
        source=info.source,
        proven_by=info.proven_by,
        models=tuple(info.models),
        model_prefixes=tuple(info.model_prefixes),
        pipeline=_pipeline(info.pipeline) if info.HasField("pipeline") else None,
        config=_config(info.config) if info.HasField("config") else None,
    )


def _pipeline(message: pb.Pipeline) -> Pipeline:
    return Pipeline(
        normalizer=tuple(message.normalizer),
        pre_tokenizer=tuple(message.pre_tokenizer),
        model=message.model,
        post_processor=tuple(message.post_processor),
        decoder=tuple(message.decoder),
        n_added_tokens=message.n_added_tokens,
        n_control_tokens=message.n_control_tokens,
    )


def _config(message: pb.TokenizerConfig) -> TokenizerConfig:
    names = ("bos_token", "eos_token", "unk_token", "pad_token", "model_max_length")
    said: dict[str, Any] = {
        name: getattr(message, name) if message.HasField(name) else None for name in names
    }
    return TokenizerConfig(**said, chat_templates=tuple(message.chat_templates))
