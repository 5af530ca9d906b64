"""The ledger: places are checked once, when they are given, and never where a call is added."""

from __future__ import annotations

import pytest
from tokenwire_core.ledger import Account, Book, Histogram, InputUsage, Ledger
from tokenwire_core.tally import Tally

SCRIPTS = {"Latn": 10, "Zyyy": 23, "special": 24, "Cyrl": 25}


def account(ledger: Ledger, languages: dict[str, int], tenants: dict[str, int]) -> Account:
    """Volumes at 0, 2 and 4, gaps at 6 and 8, scripts, a decision, and a histogram of two buckets at 12."""
    histogram = Histogram(ledger, 12, [4.0])
    return Account(ledger, [0, 2, 4], [6, 8], languages, SCRIPTS, {"declared": 11}, tenants, 15, histogram)


def usage(language: str, *numbers: int, scripts: dict[str, int] | None = None) -> InputUsage:
    """Of bytes, characters, tokens, unknown ones and those of byte fallback."""
    n_bytes, n_characters, n_tokens, n_unknown, n_byte_fallback = numbers
    tally = Tally(n_tokens, n_unknown, n_byte_fallback, scripts or {})
    return InputUsage(language, "declared", n_bytes, n_characters, tally)


def book(ledger: Ledger, languages: dict[str, int] | None = None) -> Book:
    """One account, durations of two operations at 16 and 19, one reason at 22."""
    durations = {"count": Histogram(ledger, 16, [1.0]), "get_artifact": Histogram(ledger, 19, [1.0])}
    return Book(
        ledger,
        {"count": {"a": account(ledger, languages or {"en": 0}, {})}},
        durations,
        {"TEXT_TOO_LONG": 22},
    )


def test_a_call_is_added_where_its_places_are() -> None:
    """Volumes and gaps by language, scripts, decisions, tenants, and the request's tokens."""
    ledger = Ledger(26)
    taken = [usage("en", 7, 6, 5, 1, 2, scripts={"Latn": 4, "Cyrl": 1}), usage("de", 1, 1, 1, 0, 0)]
    book(ledger, {"en": 0, "de": 1}).answered("count", "a", "nobody", taken, [])
    assert ledger.copy()[:16] == [5, 1, 7, 1, 6, 1, 1, 0, 2, 0, 4, 2, 0, 1, 6, 6]
    assert ledger.copy()[23:] == [0, 0, 1]


@pytest.mark.parametrize(
    ("languages", "tenants"),
    [({"en": 0, "de": 26}, {}), ({"en": -1, "de": 0}, {}), ({"en": 0}, {"x": 26}), ({"en": 0}, {"x": -1})],
)
def test_places_that_are_none_are_refused(languages: dict[str, int], tenants: dict[str, int]) -> None:
    """Before or behind the numbers, of a language or of a tenant."""
    with pytest.raises(IndexError, match="there is no place"):
        account(Ledger(26), languages, tenants)


def test_a_histogram_has_room() -> None:
    """Its buckets and its sum are in the ledger."""
    with pytest.raises(IndexError, match="there is no place"):
        Histogram(Ledger(3), 1, [4.0])
    with pytest.raises(IndexError, match="there is no place"):
        Ledger(3).add(-1)


def test_a_call_goes_to_the_account_of_its_operation_and_tokenizer() -> None:
    """Its good inputs and its faults; an operation or tokenizer without an account adds nothing."""
    ledger = Ledger(26)
    book(ledger).answered("count", "a", "", [usage("en", 7, 6, 5, 0, 0)], ["TEXT_TOO_LONG"] * 2)
    numbers = ledger.copy()
    assert (numbers[0], numbers[15], numbers[22]) == (5, 5, 2)
    book(ledger).answered("get_artifact", "a", "", [], [])
    book(ledger).answered("count", "b", "", [], [])
    assert ledger.copy() == numbers
    book(ledger).took("get_artifact", 1.5)
    book(ledger).refused("TEXT_TOO_LONG")
    numbers[20], numbers[21], numbers[22] = 1, 1.5, 3
    assert ledger.copy() == numbers


def test_what_a_book_does_not_know_is_an_error() -> None:
    """An operation, a reason, and calls that are none."""
    ledger = Ledger(26)
    with pytest.raises(KeyError):
        book(ledger).took("sing", 1)
    with pytest.raises(KeyError):
        book(ledger).refused("BORED")
    with pytest.raises(KeyError):
        book(ledger).answered("count", "a", "", [], ["BORED"])
    with pytest.raises(TypeError):
        InputUsage.__new__(InputUsage)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        book(ledger).answered("count", "a", "", None, [])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Book(ledger, {"count": {"a": None}}, {}, {})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        Book(ledger, {}, {"count": "fast"}, {})  # type: ignore[dict-item]
    with pytest.raises(IndexError):
        Book(ledger, {}, {}, {"LATE": 26})
