from collections.abc import Callable
from typing import NamedTuple, Self

from typing_extensions import disjoint_base

from tokenwire_core.engine import Engine
from tokenwire_core.spec import TokenizerSpec
from tokenwire_core.text_input import TextInput

SCRIPTS: tuple[str, ...]

class Tally(NamedTuple):
    """What the tokens of a text are."""

    n_tokens: int
    n_unknown: int
    n_byte_fallback: int
    scripts: dict[str, int]

@disjoint_base
class Tallier:
    """The classes of a tokenizer's ids."""

    def __new__(
        cls, engine: Engine, spec: TokenizerSpec, trace: Callable[[TextInput], tuple[bytes, bytes, bytes]]
    ) -> Self: ...
