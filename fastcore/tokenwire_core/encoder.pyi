from collections.abc import Iterable, Sequence
from typing import Literal, Self, final

from tokenwire_core.decoders import Decoder
from tokenwire_core.encoding import Encoding
from tokenwire_core.engine import Engine
from tokenwire_core.segment import InvalidPolicy, Segment, SpecialPolicy
from tokenwire_core.spec import TokenizerSpec
from tokenwire_core.tally import Tally
from tokenwire_core.text_input import TextInput
from tokenwire_core.truncate import Truncation

@final
class Encoder:
    """A compiled tokenizer: immutable, and safe to use from many threads at once."""

    def __new__(cls, spec: TokenizerSpec) -> Self: ...
    def encode(
        self,
        text: str | bytes | Sequence[Segment],
        pair: str | bytes | None = None,
        special: SpecialPolicy = "text",
        add_special: bool = False,
        invalid: InvalidPolicy = "error",
    ) -> Encoding: ...
    def encode_batch(
        self,
        texts: Iterable[str | bytes],
        threads: int = 1,
        special: SpecialPolicy = "text",
        add_special: bool = False,
        invalid: InvalidPolicy = "error",
    ) -> list[Encoding]: ...
    def count(
        self,
        text: str | bytes | Sequence[Segment],
        special: SpecialPolicy = "text",
        add_special: bool = False,
        invalid: InvalidPolicy = "error",
        limit: int | None = None,
    ) -> int: ...
    def tally(
        self,
        text: str | bytes | Sequence[Segment],
        pair: str | bytes | None = None,
        special: SpecialPolicy = "text",
        add_special: bool = False,
        invalid: InvalidPolicy = "error",
        limit: int | None = None,
    ) -> Tally: ...
    def tally_of(self, encoding: Encoding) -> Tally: ...
    def find_control_tokens(
        self, text: str | bytes, invalid: InvalidPolicy = "error"
    ) -> list[tuple[str, int, int, int]]: ...
    def trace(self, source: TextInput, reference: bool = False) -> tuple[bytes, bytes, bytes]: ...
    def token_bytes(self, ids: Iterable[int]) -> list[bytes]: ...
    def decode(self, ids: Sequence[int], skip_special: bool = False, reference: bool = False) -> str: ...
    def decode_bytes(self, ids: Sequence[int], skip_special: bool = False) -> bytes: ...
    def decoder(self, skip_special: bool = False) -> Decoder: ...
    def truncate(
        self,
        text: str | bytes,
        max_tokens: int,
        keep: Literal["start", "end"] = "start",
        cut: Literal["token", "grapheme"] = "grapheme",
        ids_only: bool = False,
        special: SpecialPolicy = "text",
        add_special: bool = False,
        invalid: InvalidPolicy = "error",
    ) -> Truncation: ...
    @property
    def engine(self) -> Engine: ...
    @property
    def unknown_id(self) -> int | None: ...
    @property
    def byte_fallback_ids(self) -> frozenset[int]: ...
    @property
    def digest(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def special_tokens(self) -> dict[str, int]: ...
    @property
    def control_tokens(self) -> dict[str, int]: ...
    @property
    def spec(self) -> TokenizerSpec: ...
    @property
    def n_unreachable(self) -> int: ...
    @property
    def splitter(self) -> Literal["compiled", "regex"]: ...
    @property
    def max_text_bytes(self) -> int | None: ...
