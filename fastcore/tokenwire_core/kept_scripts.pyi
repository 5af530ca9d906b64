from collections.abc import Callable, Iterable

from typing_extensions import disjoint_base

from tokenwire_core.charsmap import Charsmap

@disjoint_base
class KeptScripts:
    """The characters that keep their script."""

    def __init__(
        self,
        normalized: Callable[[list[str]], list[str]] | None,
        joint: Iterable[str] = frozenset(),
        allows_blanks: bool = False,
        takes_marks: bool = False,
    ) -> None: ...
    def kept(self, text: str) -> bool: ...

def keeps_script(old: str, new: str) -> bool: ...
def joint_characters(charsmap: Charsmap) -> set[str] | None: ...
