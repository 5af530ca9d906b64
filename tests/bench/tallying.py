"""What telling scripts costs beside encoding: the CPU time of `Encoding.tally` as a share of that of `encode`.

`python -m tests.bench.tallying [ARTIFACT...]` takes documents of 4 KB, each for the first time and then again: the word
cache knows the second ones.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

from tokenwire_core.encoder import Encoder

from tests import artifact_files, rank_files
from tests.bench.texts import documents, texts_by_kind

TOKENIZERS = ("cl100k_base", "o200k_base")
N_DOCUMENTS = 20
N_ROUNDS = 8


def share(encoder: Encoder, texts: Sequence[str]) -> float:
    """What tallies of the texts take, against encoding them."""
    started_ns = time.thread_time_ns()
    encodings = [encoder.encode(text) for text in texts]
    encoded_ns = time.thread_time_ns()
    for encoding in encodings:
        encoding.tally()
    return (time.thread_time_ns() - encoded_ns) / (encoded_ns - started_ns)


def main(names: Sequence[str]) -> None:
    for name in names or TOKENIZERS:
        encoder = rank_files.ours(name) if name in TOKENIZERS else artifact_files.ours(name)
        encoder.tally("its tables are made once")
        for kind, text in texts_by_kind().items():
            first, again = [], []
            for number in range(N_ROUNDS):
                round_of = documents(text, number * N_DOCUMENTS, N_DOCUMENTS)
                first.append(share(encoder, round_of))
                again.append(share(encoder, round_of))
            new, repeated = (100 * statistics.median(shares) for shares in (first, again))
            print(
                f"{name:12} {kind:8} {new:5.1f}% of encoding new text, {repeated:5.1f}% of repeated",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
