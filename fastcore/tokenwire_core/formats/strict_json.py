"""JSON as serde_json reads it, and nothing that readers take in different ways.

Python's own parser does the work. What it would let pass is refused: NaN and Infinity, keys that come twice (the last
one wins in one reader, the first in another), bytes that are not UTF-8, numbers that go on for pages. Numbers get the
value that serde_json gives them, see `_number`.

Memory: the text at 1 to 4 bytes a character, and about 100 bytes a value; both are bounded before anything is read.
Cost: 1 to 2 microseconds a number or a member of an object, 0.3 any other value.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Final

from tokenwire_core.errors import ArtifactError

MAX_JSON_BYTES: Final = 1 << 26
MAX_JSON_VALUES: Final = 1 << 22
"""Commas and opening brackets, those in strings too: at least as many as there are values."""
MAX_NUMBER_LENGTH: Final = 64

_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?", re.A)
_LARGEST: Final = (1 << 64) - 1
_POWERS_OF_TEN: Final = tuple(float(f"1e{exponent}") for exponent in range(309))


def read_json(data: bytes) -> object:
    """The value that the whole of `data` spells, of dicts, lists, strings, ints, floats, booleans and None.

    Strings may hold lone surrogates where an escape spells them: who takes a string has to look (`fields.py` does).

    Raises:
        ArtifactError: EMPTY, TOO_LARGE, BAD_JSON, BAD_NUMBER, DUPLICATE_KEY or TOO_DEEP.
    """
    if not data:
        raise ArtifactError("EMPTY", "the file has no bytes")
    if len(data) > MAX_JSON_BYTES:
        raise ArtifactError("TOO_LARGE", f"the file has {len(data)} bytes, the limit is {MAX_JSON_BYTES}")
    n_values = 1 + sum(map(data.count, (b",", b"[", b"{")))
    if n_values > MAX_JSON_VALUES:
        raise ArtifactError("TOO_LARGE", f"the file has {n_values} values, the limit is {MAX_JSON_VALUES}")
    try:
        return _DECODER.decode(data.decode())
    except UnicodeDecodeError as error:
        raise ArtifactError("BAD_JSON", f"the file is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        message = f"the file is not JSON at character {error.colno} of the line: {error.msg}"
        raise ArtifactError("BAD_JSON", message, line=error.lineno) from None
    except RecursionError:
        raise ArtifactError("TOO_DEEP", "arrays and objects are too deep within each other") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        key = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ArtifactError("DUPLICATE_KEY", f"an object has the key {key[:64]!a} twice; keep one of them")
    return members


def _constant(text: str) -> object:
    raise ArtifactError("BAD_JSON", f"the file has {text}, which is no JSON number")


def _integer(text: str) -> int | float:
    """What has neither fraction nor exponent; beyond 64 bits, and for -0, a float."""
    if len(text) < 19 and text != "-0":
        return int(text)
    value = _number(text)
    whole = int(text)
    return whole if whole and -(1 << 63) <= whole <= _LARGEST else value


def _number(text: str) -> float:
    """The float that serde_json makes of a number, which is not always the nearest one.

    It counts with as many digits as fit into 64 bits, makes a float of them and multiplies or divides that by a power
    of ten: each step rounds. Scores that differ in the last bit make other ties.
    """
    match = _NUMBER.fullmatch(text, 0, MAX_NUMBER_LENGTH + 1)
    if match is None or len(text) > MAX_NUMBER_LENGTH:
        message = f"a number has {len(text)} characters, the limit is {MAX_NUMBER_LENGTH}"
        raise ArtifactError("BAD_NUMBER", message)
    sign, whole, fraction, power = match.groups(default="")
    if len(whole) + len(fraction) < 20:
        significand, exponent = int(whole + fraction), -len(fraction)
    else:
        significand, n_whole = _leading(0, whole)
        significand, n_fraction = _leading(significand, fraction)
        exponent = len(whole) - n_whole - n_fraction
    exponent += int(power or 0)
    value = float(significand)
    while exponent < -308 and value:
        value /= 1e308
        exponent += 308
    if exponent > 308 and value:
        value = float("inf")
    elif value:
        value = value / _POWERS_OF_TEN[-exponent] if exponent < 0 else value * _POWERS_OF_TEN[exponent]
    if value == float("inf"):
        raise ArtifactError("BAD_NUMBER", "a number is beyond the range of a float")
    return -value if sign else value


def _leading(significand: int, digits: str) -> tuple[int, int]:
    """`significand` with digits behind it while it fits into 64 bits, and how many those were."""
    for n_taken, digit in enumerate(digits):
        longer = significand * 10 + int(digit)
        if longer > _LARGEST:
            return significand, n_taken
        significand = longer
    return significand, len(digits)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_number, parse_int=_integer, parse_constant=_constant
)
