"""What a label costs, by what decides it: CPU time, the median over many texts of the least of several runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from tokenwire_server import language
from tokenwire_server.detector import Detector, EldcAndPycld2

from tests.languages.samples import messages, spread, windows

N_CHARACTERS = (64, 256)
_N_TEXTS = 50
_N_CALLS = 100


def table() -> str:
    """A row for each way to a label."""
    both = EldcAndPycld2()
    json = ['{"id": 4711, "name": "lamp", "price": 12.5, "tags": ["new", "red"]}, '] * 400
    rows: list[tuple[str, str, Sequence[str], Detector | None]] = [
        ("a declared tag", "de", messages()["de"], both),
        ("a script: Japanese", "", messages()["ja"], both),
        ("signs: JSON", "", json, both),
        ("nothing: German, the detector off", "", messages()["de"], None),
        ("eldc alone: German", "", messages()["de"], both),
        ("eldc and the alphabet: Ukrainian", "", messages()["uk"], both),
        ("eldc and pycld2: Spanish", "", messages()["es"], both),
        ("pycld2 alone: Hindi", "", messages()["hi"], both),
    ]
    lines = [
        "| what decides | " + " | ".join(f"{n} characters" for n in N_CHARACTERS) + " |",
        "|---|---|---|",
    ]
    for title, tag, source, detector in rows:
        cells = [f"{_median_us(tag, windows(source, n), detector):.1f} µs" for n in N_CHARACTERS]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _median_us(tag: str, texts: Sequence[str], detector: Detector | None) -> float:
    return statistics.median(_least_us(tag, text.encode(), detector) for text in spread(texts, _N_TEXTS))


def _least_us(tag: str, utf8: bytes, detector: Detector | None) -> float:
    def run_s() -> float:
        started = time.thread_time()
        for _ in range(_N_CALLS):
            language.label(tag, utf8, detector)
        return time.thread_time() - started

    return min(run_s() for _ in range(9)) / _N_CALLS * 1e6
