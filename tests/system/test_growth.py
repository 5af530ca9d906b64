"""The worst texts cost in proportion to their length: twice the text, at most 2.2 times the instructions."""

from __future__ import annotations

import functools

import pytest

from tests import families
from tests.system import callgrind
from tests.system.growth_driver import OPERATIONS, STRIPPING, TEXTS

MOST_PER_DOUBLING = 2.2
N_BYTES = 1 << 16
N_BYTES_LONG = 1 << 20
N_BYTES_FAMILY = 1 << 14
SHORT_FAMILIES = ("unigram",)


@functools.cache
def instructions(name: str, largest: int) -> dict[str, dict[int, int]]:
    """Instructions by `text/operation` and size in bytes, for the named vocabulary; one process measures all."""
    counted: dict[str, dict[int, int]] = {}
    for mark, n_instructions in callgrind.instructions(
        "tests.system.growth_driver", name, str(largest)
    ).items():
        what, size = mark.rsplit("/", 1)
        counted.setdefault(what, {})[int(size)] = n_instructions
    return counted


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize(
    "largest", [N_BYTES, pytest.param(N_BYTES_LONG, marks=pytest.mark.long)], ids=["64KiB", "1MiB"]
)
def test_cost_grows_with_length_and_no_faster(largest: int, name: str, text: str, operation: str) -> None:
    """Each doubling of the text costs at most 2.2 times the instructions."""
    by_size = instructions(name, largest)[f"{text}/{operation}"]
    assert sorted(by_size) == [largest >> 2, largest >> 1, largest]
    least, middle, most = (by_size[size] for size in sorted(by_size))
    assert least > 10_000, "nothing was counted"
    assert middle <= MOST_PER_DOUBLING * least, by_size
    assert most <= MOST_PER_DOUBLING * middle, by_size


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "name",
    [
        name if name in SHORT_FAMILIES else pytest.param(name, marks=pytest.mark.long)
        for name in (*families.NAMES[1:], STRIPPING)
    ],
)
def test_cost_grows_with_length_in_every_family(name: str, text: str, operation: str) -> None:
    """The same of a small tokenizer of each family, and of added tokens that take blanks along."""
    by_size = instructions(name, N_BYTES_FAMILY)[f"{text}/{operation}"]
    least, middle, most = (by_size[size] for size in sorted(by_size))
    assert least > 10_000, "nothing was counted"
    assert middle <= MOST_PER_DOUBLING * least, by_size
    assert most <= MOST_PER_DOUBLING * middle, by_size
