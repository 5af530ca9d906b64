"""What is fuzzed: the bytes of an artifact and the options it is loaded with, kept as one file.

The file is a line of JSON with the options, then the bytes. `tokenizer_config`, which is bytes, stands there as text
of one character a byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Loader = Literal["tiktoken", "hf_json", "sentencepiece"]
LOADERS: Final[tuple[Loader, ...]] = ("tiktoken", "hf_json", "sentencepiece")


@dataclass(frozen=True, slots=True)
class Artifact:
    """Bytes, and options of `load` as JSON can spell them."""

    data: bytes
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """The options as `load` takes them."""
        config = self.options.get("tokenizer_config")
        return {**self.options} | ({} if config is None else {"tokenizer_config": config.encode("latin-1")})

    def to_bytes(self) -> bytes:
        return json.dumps(self.options).encode() + b"\n" + self.data

    @classmethod
    def from_bytes(cls, stored: bytes) -> Artifact:
        options, _, data = stored.partition(b"\n")
        return cls(data, json.loads(options))
