"""Ordinary work costs no more instructions than it did: a guard against a change that makes it slower unseen.

`python -m tests.system.test_cost` measures and writes the table; what it has is per byte of UTF-8, of one compiler on
x86-64. The margin is for other compilers and other Pythons.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

import pytest

from tests.system import callgrind
from tests.system.cost_driver import KINDS, OPERATIONS

TABLE = Path(__file__).with_name("instructions.toml")
NAMES = ("o200k_base", "unigram", "wordpiece", "sentencepiece-bpe")
MARGIN = 1.3


@functools.cache
def per_byte(name: str) -> dict[str, float]:
    """Instructions a byte, by kind of text and operation."""
    counted = callgrind.instructions("tests.system.cost_driver", name)
    return {
        what: round(n_instructions / len(KINDS[what.split("/")[0]].encode()), 1)
        for what, n_instructions in counted.items()
    }


@pytest.mark.parametrize("what", [f"{kind}/{operation}" for kind in KINDS for operation in OPERATIONS])
@pytest.mark.parametrize("name", NAMES)
def test_work_costs_no_more_than_it_did(name: str, what: str) -> None:
    """Within a margin of what the table has; far below it the table is out of date, and guards nothing."""
    bound = tomllib.loads(TABLE.read_text())[name][what]
    assert bound / MARGIN / MARGIN < per_byte(name)[what] < bound * MARGIN, "see the head of this file"


def main() -> None:
    lines = ["# Instructions for each byte of text, written by `python -m tests.system.test_cost`."]
    for name in NAMES:
        lines += ["", f'["{name}"]', *(f'"{what}" = {cost}' for what, cost in sorted(per_byte(name).items()))]
    TABLE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
