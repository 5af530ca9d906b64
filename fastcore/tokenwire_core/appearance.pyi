from enum import Enum
from typing import final

class Notation(Enum):
    PROSE = "prose"
    UNCLEAR = "unclear"
    DATA = "data"

@final
class Appearance:
    @property
    def script(self) -> str: ...
    @property
    def has_letters(self) -> bool: ...
    @property
    def notation(self) -> Notation: ...

APPEARANCES: tuple[Appearance, ...]

def look(utf8: bytes, max_codepoints: int) -> Appearance: ...
