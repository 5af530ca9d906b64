"""What the calls return: small immutable records, in the units and words of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class ControlTokenMatch:
    """The spelling of a control token found in a text, whatever the policy made of it."""

    token: str
    id: int
    byte_start: int
    byte_end: int
    sequence_id: int = 0
    """1 in the second text of a pair."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The ids of one text. What was not asked for is None."""

    ids: list[int]
    digest: str
    """The sha256 identity of the tokenizer that answered, in hex."""
    offsets: list[tuple[int, int]] | None = None
    """[start, end) of each token in its text, in the unit asked for; with `invalid="replace"`, of the bytes as sent."""
    partial_tokens: list[int] | None = None
    """Indices of the tokens that begin or end inside a character; comes with `offsets`, empty with reference ones."""
    token_bytes: list[bytes] | None = None
    """The bytes of each token, which need not be whole characters; its spelling, if the tokenizer is not byte-level."""
    control_tokens: list[ControlTokenMatch] | None = None
    """The control-token spellings in the text, in text order."""
    type_ids: list[int] | None = None
    """The number that the template gives to each token's text."""
    special_tokens_mask: list[bool] | None = None
    """Whether the template put each token in."""
    word_ids: list[int | None] | None = None
    """The number of each token's piece (pre-token) in its text; None for those of the template."""
    sequence_ids: list[int | None] | None = None
    """0 for tokens of the text, 1 for those of the second one of a pair, None for those of the template."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The size of one text. It counts the text alone, not a chat request with its template and tools."""

    n_tokens: int
    """Where `limit_exceeded`, counting stopped early and this is a lower bound greater than `limit`."""
    n_bytes: int
    n_codepoints: int
    n_unknown: int
    """How many are the unknown token; not counted, and 0, where `limit_exceeded`."""
    n_byte_fallback: int
    """How many are bytes of a character that the vocabulary lacks; likewise."""
    limit_exceeded: bool
    digest: str
    fits: bool | None = None
    """With `context_size`: n_tokens + reserved_output_tokens <= context_size."""
    is_nfc: bool | None = None
    """With `check_nfc`: whether the text is in Unicode normalization form C."""


@dataclass(frozen=True, slots=True)
class Truncation:
    """The part of one text that fits the budget."""

    text: str
    """What was kept; empty with `ids_only`."""
    n_tokens: int
    """How many tokens `text` has when it is encoded again (with `ids_only`, how many ids there are)."""
    n_tokens_before: int
    """How many tokens the whole input has."""
    truncated: bool
    digest: str
    kept: list[tuple[int, int]]
    """The one [byte_start, byte_end) that was kept, in the input; empty, as (0, 0), where nothing fits. With
    `ids_only` there is none."""
    ids: list[int] | None = None
    """With `return_ids` or `ids_only`."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The stages that a text goes through, a line each in the field's words; for people, not to be parsed."""

    normalizer: tuple[str, ...]
    pre_tokenizer: tuple[str, ...]
    model: str
    post_processor: tuple[str, ...]
    decoder: tuple[str, ...]
    n_added_tokens: int
    """Tokens that are found in a text before the model sees it."""
    n_control_tokens: int


@dataclass(frozen=True, slots=True)
class TokenizerConfig:
    """What the tokenizer_config.json beside the artifact says; None where it says nothing."""

    bos_token: str | None
    eos_token: str | None
    unk_token: str | None
    pad_token: str | None
    model_max_length: int | None
    """The most tokens that the model takes."""
    chat_templates: tuple[str, ...]
    """Their names; `default` for one that has none."""


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """A tokenizer the service is configured to serve."""

    name: str
    aliases: tuple[str, ...]
    state: Literal["loading", "ready", "failed", "unknown"]
    """`unknown` is a state this client has no word for."""
    digest: str
    """Empty unless ready."""
    format: str
    model: str
    vocab_size: int
    """The highest id + 1."""
    control_tokens: Mapping[str, int]
    """Ids by spelling: what text becomes only where the caller allows it."""
    splitter: str
    pattern: str
    sha256: str
    max_text_bytes: int
    failure: str
    """Why it is `failed`: a reason, never file contents."""
    source: str = ""
    """Where the artifact is from, as the service's manifest says; empty where it does not."""
    proven_by: str = ""
    """The reference implementation, with its version, that made the golden vectors; empty: unproven."""
    models: tuple[str, ...] = ()
    """The model names that the deployment adds for it."""
    model_prefixes: tuple[str, ...] = ()
    """What such names may begin with."""
    pipeline: Pipeline | None = None
    """None unless ready."""
    config: TokenizerConfig | None = None
    """None where the service's manifest names no tokenizer_config.json."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """The pinned bytes of a tokenizer, and all that makes them the tokenizer."""

    data: bytes = field(repr=False)
    """Uncompressed; their sha256 was checked."""
    digest: str
    """Of the tokenizer that the bytes and the fields below make, as the service says."""
    format: str
    sha256: str
    pattern: str
    """Rank files: the pre-tokenizer's pattern; else empty."""
    special_tokens: Mapping[str, int]
    """Rank files: ids by spelling of the tokens that stand beside the file; else empty."""
    control_tokens: tuple[str, ...]
    """Spellings of the control tokens beyond those the artifact flags."""
