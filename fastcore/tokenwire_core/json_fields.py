"""The members of a JSON object, taken one by one by name and type; what nobody takes is refused.

Every refusal names the place in the document, as `pre_tokenizer.pretokenizers[1].pattern`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, TypeVar

from tokenwire_core.errors import ArtifactError

MAX_INTEGER: Final = (1 << 31) - 1
MAX_TEXT_BYTES: Final = 4096

_Choice = TypeVar("_Choice", bound=str)


class _Absent(Enum):
    """There is no default: the member must be there."""

    REQUIRED = 0


REQUIRED: Final = _Absent.REQUIRED


class Fields:
    """One object of a document at `path`.

    Takers raise ArtifactError: MISSING_KEY where the member is not there and has no default, BAD_VALUE where it is of
    another type or out of bounds.
    """

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, dict):
            raise bad_value(path, f"an object is wanted, not {json_type(value)}")
        self.path = path
        self._members = value
        self._left = dict.fromkeys(value)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def names(self) -> list[str]:
        """The names of all members, in order."""
        return list(self._members)

    def at(self, name: str) -> str:
        """The path of a member; a name that is none of ours may hold anything, so it is shown as ASCII."""
        if name.isascii() and name.isidentifier():
            return f"{self.path}.{name}" if self.path else name
        return f"{self.path}[{name[:64]!a}]"

    def take(self, name: str, default: object = REQUIRED) -> object:
        """A member of any type."""
        self._left.pop(name, None)
        value = self._members.get(name, default)
        if value is REQUIRED:
            raise ArtifactError("MISSING_KEY", f"the object has no {name}", path=self.path)
        return value

    def finish(self) -> None:
        """Refuses what nobody took.

        Raises:
            ArtifactError: UNKNOWN_KEY.
        """
        for name in self._left:
            raise ArtifactError(
                "UNKNOWN_KEY",
                "this version knows no such key here; it could change ids",
                path=self.at(name[:64]),
            )

    def text(self, name: str, *, max_bytes: int = MAX_TEXT_BYTES) -> str:
        return text(self.take(name), self.at(name), max_bytes=max_bytes)

    def text_or_none(self, name: str) -> str | None:
        """null, and a member that is not there, are None."""
        value = self.take(name, None)
        return None if value is None else text(value, self.at(name))

    def character(self, name: str) -> str:
        value = self.text(name)
        if len(value) != 1:
            raise bad_value(self.at(name), f"one character is wanted, not {len(value)}")
        return value

    def flag(self, name: str, default: bool | _Absent = REQUIRED) -> bool:
        return flag(self.take(name, default), self.at(name))

    def flag_or_none(self, name: str) -> bool | None:
        """null, and a member that is not there, are None."""
        value = self.take(name, None)
        return None if value is None else flag(value, self.at(name))

    def integer(
        self, name: str, default: int | _Absent = REQUIRED, *, least: int = 0, most: int = MAX_INTEGER
    ) -> int:
        return integer(self.take(name, default), self.at(name), least=least, most=most)

    def choice(self, name: str, choices: Sequence[_Choice], default: str | _Absent = REQUIRED) -> _Choice:
        value = self.take(name, default)
        for each in choices:
            if value == each:
                return each
        raise bad_value(self.at(name), f"one of {', '.join(choices)} is wanted")

    def array(self, name: str) -> list[object]:
        return array(self.take(name), self.at(name))


def text(value: object, path: str, *, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """A string of Unicode scalar values."""
    if not isinstance(value, str):
        raise bad_value(path, f"a string is wanted, not {json_type(value)}")
    n_bytes = utf8_size(value, path)
    if n_bytes > max_bytes:
        raise bad_value(path, f"the string has {n_bytes} bytes, the limit is {max_bytes}")
    return value


def utf8_size(value: str, path: str) -> int:
    """The bytes of a string in UTF-8; lone surrogates, which have none there, are refused."""
    try:
        return len(value.encode())
    except UnicodeEncodeError:
        raise bad_value(path, "the string has half of a surrogate pair") from None


def flag(value: object, path: str) -> bool:
    if not isinstance(value, bool):
        raise bad_value(path, f"true or false is wanted, not {json_type(value)}")
    return value


def integer(value: object, path: str, *, least: int = 0, most: int = MAX_INTEGER) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_value(path, f"an integer is wanted, not {json_type(value)}")
    if not least <= value <= most:
        raise bad_value(path, f"an integer from {least} to {most} is wanted")
    return value


def array(value: object, path: str) -> list[object]:
    if not isinstance(value, list):
        raise bad_value(path, f"an array is wanted, not {json_type(value)}")
    return value


def bad_value(path: str, what: str) -> ArtifactError:
    return ArtifactError("BAD_VALUE", what, path=path)


def json_type(value: object) -> str:
    """What JSON calls a value, for messages."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
