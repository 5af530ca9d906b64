"""What a `tokenizer_config.json` says of the tokenizer beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenizerConfig:
    """Spellings of tokens by their part, and the most ids the model takes; None where the file says nothing.

    It decides no ids.
    """

    bos_token: str | None = None
    eos_token: str | None = None
    unk_token: str | None = None
    pad_token: str | None = None
    model_max_length: int | None = None
