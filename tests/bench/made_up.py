"""Libraries as the benchmark may meet them, for the vocabulary whose ids are the bytes of the text."""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Sequence
from typing import Any

from tests.bench.peers import Call, Calls, UnsupportedError, Vocabulary

RARE = "\N{SNOWMAN}"
"""What a text holds that `rarely_wrong` gets wrong, `dying` does not survive, and `endless` never ends with."""


def _as_they_are(results: list[Any]) -> list[Any]:
    return results


def _ids(text: str) -> list[int]:
    return list(text.encode())


def _list_alone(work: Any) -> Calls:
    return {"list": Call(work, _as_they_are)}


def exact(_: Vocabulary) -> Calls:
    """All three calls, the buffer as a batch."""

    def flat(texts: Sequence[str]) -> tuple[array[int], list[int]]:
        return array("I", _ids("".join(texts))), [len(text.encode()) for text in texts]

    def read(result: tuple[array[int], list[int]]) -> list[list[int]]:
        ids = iter(result[0])
        return [[next(ids) for _ in range(length)] for length in result[1]]

    return {
        "list": Call(lambda texts: (_ids(text) for text in texts), _as_they_are),
        "buffer": Call(flat, read, True),
        "count": Call(lambda texts: (len(text.encode()) for text in texts), _as_they_are),
    }


def wrong(_: Vocabulary) -> Calls:
    """Nothing is faster."""
    return _list_alone(lambda texts: ([] for _ in texts))


def rarely_wrong(_: Vocabulary) -> Calls:
    return _list_alone(lambda texts: ([0] if RARE in text else _ids(text) for text in texts))


def miscounting(_: Vocabulary) -> Calls:
    """Its ids are right, and its counts are characters."""
    count = Call(lambda texts: (len(text) for text in texts), _as_they_are)
    return {**_list_alone(lambda texts: (_ids(text) for text in texts)), "count": count}


def refusing(_: Vocabulary) -> Calls:
    raise UnsupportedError("only for vocabularies of its own")


def failing(_: Vocabulary) -> Calls:
    raise ValueError("there is no such table\nand more is not said")


def dying(_: Vocabulary) -> Calls:
    return _list_alone(lambda texts: (os._exit(3) if RARE in text else _ids(text) for text in texts))


def endless(_: Vocabulary) -> Calls:
    return _list_alone(
        lambda texts: (threading.Event().wait() if RARE in text else _ids(text) for text in texts)
    )
