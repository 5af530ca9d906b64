"""What a `tokenizer_config.json` says of the tokenizer beside it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TokenizerConfig:
    """Spellings of tokens by their part, and the most ids the model takes; None where the file says nothing.

    `chat_templates` are (name, template), that of a file with a single one under the name `default`. They are kept as
    they are: nothing here runs them. No member decides any ids.
    """

    bos_token: str | None = None
    eos_token: str | None = None
    unk_token: str | None = None
    pad_token: str | None = None
    model_max_length: int | None = None
    chat_templates: tuple[tuple[str, str], ...] = field(default=(), repr=False)
