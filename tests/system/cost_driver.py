"""Run under callgrind by test_cost.py: counts the instructions of ordinary work on fixed texts, one dump apiece.

Arguments: the name of a rank file or of a small tokenizer of `families`, the library made from growth_marks.c. Each
measurement is made in a fork, so that no cache of an earlier one helps.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import sys
from collections.abc import Callable

from tokenwire_core.encoder import Encoder

from tests.system.growth_driver import ASCII, encoder_of
from tests.texts_20 import TEXTS

N_WORDS = 2000
SHORT_CHARACTERS = 40


def made_up_words() -> str:
    """Words that no vocabulary has whole."""
    rng = random.Random(20)
    return " ".join("".join(rng.choices(ASCII, k=rng.randint(3, 10))) for _ in range(N_WORDS))


KINDS = {
    "English": TEXTS["en"] * 100,
    "made-up words": made_up_words(),
    "20 languages": "\n".join(TEXTS.values()) * 4,
}


def short(text: str) -> list[str]:
    return [text[start : start + SHORT_CHARACTERS] for start in range(0, len(text), SHORT_CHARACTERS)]


def again(encoder: Encoder, text: str) -> Callable[[], object]:
    """Once more what the word cache knows."""
    encoder.encode(text)
    return lambda: encoder.encode(text)


def each_short(encoder: Encoder, text: str) -> Callable[[], object]:
    """A list of ids for each short string, of words that the cache knows."""
    strings = short(text)
    for string in strings:
        encoder.encode(string)
    return lambda: [encoder.encode(string).ids for string in strings]


def tallied(encoder: Encoder, text: str) -> Callable[[], object]:
    """Tokens by script, beside their ids."""
    encoder.tally(text)
    return lambda: encoder.encode(text).tally()


OPERATIONS: dict[str, Callable[[Encoder, str], Callable[[], object]]] = {
    "new": lambda encoder, text: lambda: encoder.encode(text),
    "again": again,
    "short strings": each_short,
    "count": lambda encoder, text: lambda: encoder.count(text),
    "tally": tallied,
}


def main() -> None:
    name, library = sys.argv[1:]
    marks = ctypes.CDLL(library)
    encoder = encoder_of(name)
    gc.disable()  # it walks all objects now and then, which is not the text's doing
    for kind, text in KINDS.items():
        for operation, prepare in OPERATIONS.items():
            child = os.fork()
            if not child:
                encoder.encode("\0" * 2 * len(text.encode()))  # makes room
                work = prepare(encoder, text)
                marks.begin()
                work()
                marks.end(f"{kind}/{operation}".encode())
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                sys.exit(f"{operation} of {kind} failed")


if __name__ == "__main__":
    main()
