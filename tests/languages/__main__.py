"""Writes the tables of docs/languages.md between their markers, or those that are named.

Takes two minutes. TOKENWIRE_TEST_DATA is needed.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from tests.languages import accuracy, cost, speed

PAGE = Path(__file__).parents[2] / "docs" / "languages.md"
SECTIONS = {
    "languages": accuracy.language_tables,
    "no-language": accuracy.no_language_table,
    "speed": speed.table,
    "cost": cost.table,
}


def replaced(page: str, section: str, table: str) -> str:
    """The page with the table in its section."""
    between = re.compile(f"(?<=<!-- {section}:start -->\n).*?(?=<!-- {section}:end -->)", re.S)
    if not between.search(page):
        raise SystemExit(f"{PAGE.name} has no markers for {section}")
    return between.sub(lambda _: table, page)


if __name__ == "__main__":
    if not os.environ.get("TOKENWIRE_TEST_DATA"):
        raise SystemExit("set TOKENWIRE_TEST_DATA to the folder that has the corpora")
    for section in sys.argv[1:] or SECTIONS:
        print(f"{section} ...", flush=True)
        PAGE.write_text(replaced(PAGE.read_text(), section, SECTIONS[section]()))
