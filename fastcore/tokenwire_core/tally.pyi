from collections.abc import Callable
from typing import Self, final

from typing_extensions import disjoint_base

from tokenwire_core.engine import Engine
from tokenwire_core.spec import TokenizerSpec
from tokenwire_core.text_input import TextInput

SCRIPTS: tuple[str, ...]

@final
class Tally:
    """What the tokens of a text are."""

    def __init__(
        self, n_tokens: int, n_unknown: int, n_byte_fallback: int, scripts: dict[str, int]
    ) -> None: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_unknown(self) -> int: ...
    @property
    def n_byte_fallback(self) -> int: ...
    @property
    def scripts(self) -> dict[str, int]: ...
    def __eq__(self, value: object, /) -> bool: ...

@disjoint_base
class Tallier:
    """The classes of a tokenizer's ids."""

    def __new__(
        cls, engine: Engine, spec: TokenizerSpec, trace: Callable[[TextInput], tuple[bytes, bytes, bytes]]
    ) -> Self: ...
