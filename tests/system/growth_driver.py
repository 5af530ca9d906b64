"""Run under callgrind by test_growth.py: counts the instructions of each operation on each text, one dump apiece.

Arguments: the name of a rank file or of a small tokenizer of `families`, the library made from growth_marks.c, the
largest size in bytes. Each measurement
is made in a fork, so that no cache of an earlier one helps.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import random
import sys
from collections.abc import Callable

import tokenwire_core
from tokenwire_core.encoder import Encoder

from tests import families
from tests.core import hf_documents
from tests.rank_files import rank_file

N_SIZES = 3
ASCII = "abcdefghijklmnopqrstuvwxyz"


def drawn(alphabet: str, seed: int = 1) -> Callable[[int], str]:
    """Random text of about n bytes from an alphabet, another text for each size."""
    width = max(len(c.encode()) for c in alphabet)
    return lambda n: "".join(random.Random(seed + n).choices(alphabet, k=n // width))


def repeated(unit: str) -> Callable[[int], str]:
    return lambda n: unit * (n // len(unit.encode()))


TEXTS: dict[str, Callable[[int], str]] = {
    "one letter": repeated("a"),
    "blanks": repeated(" "),
    "newlines": repeated("\n"),
    "dashes": repeated("-"),
    "Han without blanks": drawn("".join(map(chr, range(0x4E00, 0x9FA6)))),
    "joined emoji": repeated("\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"),
    "random letters": drawn(ASCII),
    "combining marks": repeated("\u0301"),
    "marks on a letter": repeated("e\u0301\u0323"),
    "digits": drawn("0123456789"),
    "blanks and newlines": drawn(" \n"),
    "two letters": repeated("ab"),
    "apostrophes": repeated("'s"),
}

OPERATIONS: dict[str, Callable[[Encoder, str], object]] = {
    "encode": lambda encoder, text: encoder.encode(text),
    "places": lambda encoder, text: encoder.encode(text).offsets("codepoint", reference=True),
    "count": lambda encoder, text: encoder.count(text),
    "truncate": lambda encoder, text: encoder.truncate(text, len(text) // 40),
    "tally": lambda encoder, text: encoder.tally(text),
}
STRIPPING = "added tokens that strip"
"""The name of a tokenizer with little else."""


def encoder_of(name: str) -> Encoder:
    if name in families.NAMES:
        return tokenwire_core.load(families.family(name).data, **families.options(name))
    if name == STRIPPING:
        tokens = [
            hf_documents.added("\n", 1, lstrip=True),
            hf_documents.added("\n\n\n", 2, rstrip=True),
            hf_documents.added(" ", 3, lstrip=True, rstrip=True),
        ]
        content = hf_documents.wordlevel(vocab={"u": 0}) | {"added_tokens": tokens}
        return tokenwire_core.load(json.dumps(content).encode(), "hf_json")
    file = rank_file(name)
    return tokenwire_core.load(
        file.data, format="tiktoken", pattern=file.pattern, special_tokens=file.special_tokens
    )


def main() -> None:
    name, library, largest = sys.argv[1], sys.argv[2], int(sys.argv[3])
    marks = ctypes.CDLL(library)
    encoder = encoder_of(name)
    gc.disable()  # it walks all objects now and then, which is not the text's doing
    for kind, make in TEXTS.items():
        for size in (largest >> shift for shift in reversed(range(N_SIZES))):
            text = make(size)
            for operation, run in OPERATIONS.items():
                child = os.fork()
                if not child:
                    marks.begin()
                    run(encoder, text)
                    marks.end(f"{kind}/{operation}/{size}".encode())
                    os._exit(0)
                if os.waitpid(child, 0)[1]:
                    sys.exit(f"{operation} of {size} bytes of {kind} failed")


if __name__ == "__main__":
    main()
