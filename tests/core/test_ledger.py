"""The ledger: places are checked once, when they are given, and never where a call is added."""

from __future__ import annotations

import pytest
from tokenwire_core.ledger import Account, Histogram, InputUsage, Ledger


def account(ledger: Ledger, languages: dict[str, int], tenants: dict[str, int]) -> Account:
    """Volumes at 0, 2 and 4, gaps at 6 and 8, a script, a decision, and a histogram of two buckets at 12."""
    histogram = Histogram(ledger, 12, [4.0])
    return Account(
        ledger, [0, 2, 4], [6, 8], languages, {"Latn": 10}, {"declared": 11}, tenants, 15, histogram
    )


def test_a_call_is_added_where_its_places_are() -> None:
    """Volumes and gaps by language, scripts, decisions, tenants, and the request's tokens."""
    ledger = Ledger(16)
    usage = [InputUsage("en", "declared", 5, 7, 6, 1, 2, {"Latn": 5}), InputUsage("de", "declared", 1, 1, 1)]
    account(ledger, {"en": 0, "de": 1}, {}).add(usage, "nobody")
    assert ledger.copy() == [5, 1, 7, 1, 6, 1, 1, 0, 2, 0, 5, 2, 0, 1, 6, 6]


@pytest.mark.parametrize(
    ("languages", "tenants"),
    [({"en": 0, "de": 16}, {}), ({"en": -1, "de": 0}, {}), ({"en": 0}, {"x": 16}), ({"en": 0}, {"x": -1})],
)
def test_places_that_are_none_are_refused(languages: dict[str, int], tenants: dict[str, int]) -> None:
    """Before or behind the numbers, of a language or of a tenant."""
    with pytest.raises(IndexError, match="there is no place"):
        account(Ledger(16), languages, tenants)


def test_a_histogram_has_room() -> None:
    """Its buckets and its sum are in the ledger."""
    with pytest.raises(IndexError, match="there is no place"):
        Histogram(Ledger(3), 1, [4.0])
    with pytest.raises(IndexError, match="there is no place"):
        Ledger(3).add(-1)
