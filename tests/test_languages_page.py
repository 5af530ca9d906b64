"""docs/languages.md tells the truth: what of its tables can be made from packages of the index alone is made again."""

from __future__ import annotations

import re

from tokenwire_server import detector, language

from tests.languages import accuracy, cost
from tests.languages.samples import LENGTHS, locale_language, messages, windows
from tests.service import ROOT

PAGE = (ROOT / "docs" / "languages.md").read_text()
LOCALE = re.compile(r"\(`([^`]+)`\)$")
TOKENIZERS = ("o200k_base", "cl100k_base")


def table(section: str) -> tuple[list[str], dict[str, list[str]]]:
    """The titles of the columns behind the first, and by locale the cells of the first table of a section."""
    text = PAGE.partition(f"<!-- {section}:start -->")[2].partition(f"<!-- {section}:end -->")[0]
    lines = re.findall(r"^\|.*(?:\n\|.*)*", text, re.M)[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return rows[0][1:], {match[1]: row[1:] for row in rows if (match := LOCALE.search(row[0]))}


def test_what_languages_cost_is_current() -> None:
    """The number of messages, and the characters and tokens against English for the embedded tokenizers."""
    columns, shown = table("cost")
    costs = {found.locale: found for found in cost.costs(TOKENIZERS)}
    assert list(shown) == list(costs)
    for locale, cells in shown.items():
        found = costs[locale]
        ratios = dict(zip(columns, cells, strict=True))
        assert ratios["messages"] == str(found.n_messages)
        assert ratios["characters"] == f"{found.characters:.2f}"
        for name in TOKENIZERS:
            assert ratios[f"`{name}`"] == f"{found.ratios[name]:.2f}", (locale, name)


def test_how_often_labels_are_right_is_current() -> None:
    """The share of Django's messages that get the right label, and a wrong one, at 200 characters."""
    columns, shown = table("languages")
    both = detector.EldcAndPycld2()
    at = columns.index(f"label, {LENGTHS[-1]}")
    assert len(shown) > 60
    for locale, cells in shown.items():
        labels = [
            language.label("", text.encode(), both)[0] for text in windows(messages()[locale], LENGTHS[-1])
        ]
        expected = locale_language(locale)
        n_right = labels.count(expected)
        n_wrong = sum(found not in {expected, "und", "mul", "zxx"} for found in labels)
        right, wrong = (100 * n / len(labels) for n in (n_right, n_wrong))
        assert cells[at] == f"{right:.0f} / {accuracy.percent(wrong)}", locale


def test_the_closed_list_is_what_the_page_says() -> None:
    """What is on the list and never told is named on the page, and nothing else is."""
    told_by_script = set(language.LANGUAGE_OF_SCRIPT.values())
    never = language.LANGUAGES - detector.LANGUAGES - told_by_script - {"und", "mul", "zxx"}
    assert never == {"af", "am", "bs", "fil", "gl", "ha", "hr", "mk", "ms", "ps", "so", "yo", "zu"}
