"""Known rank files: the patterns and special tokens of published ones, which are not in the files themselves.

`data/known_rank_files.toml` and the embedded tokenizers are the table; a file is recognised by its sha256.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tokenwire_server import embedded
from tokenwire_server.manifest import TokenizerConfig


@dataclass(frozen=True, slots=True)
class KnownRankFile:
    """A published tokenizer: its name, the sha256 of its rank file, and what that is read with."""

    name: str
    sha256: str
    pattern: str
    special_tokens: Mapping[str, int]

    def is_read_by(self, config: TokenizerConfig) -> bool:
        """Whether a tokenizer of a manifest is of this file, with these special tokens and perhaps more."""
        given = config.special_tokens or {}
        return config.sha256 == self.sha256 and self.special_tokens.items() <= given.items()


@functools.cache
def known() -> Mapping[str, KnownRankFile]:
    """All known ones by name. Of those that share a file, the first is meant where no name says otherwise."""
    path = embedded.DATA_FOLDER / "known_rank_files.toml"
    entries = [
        KnownRankFile(item.name, item.sha256, item.pattern or "", item.special_tokens or {})
        for item in embedded.embedded()
    ]
    for table in tomllib.loads(path.read_text("utf-8"))["tokenizer"]:
        special_tokens = {
            spelling: id_ for run in table["special_tokens"] for spelling, id_ in _written_out(run)
        }
        entries.append(KnownRankFile(table["name"], table["sha256"], table["pattern"], special_tokens))
    return {item.name: item for item in entries}


def recognise(sha256: str, name: str | None = None) -> KnownRankFile | None:
    """The published tokenizer of a rank file; of several the one called `name`, else the first."""
    found = [item for item in known().values() if item.sha256 == sha256]
    return next((item for item in found if item.name == name), found[0] if found else None)


def _written_out(run: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Each spelling of a run of special tokens with its id."""
    spellings = run.get("spellings")
    if spellings is None:
        start, step = run.get("start", 0), run.get("step", 1)
        spellings = [run["numbered"].format(start + index * step) for index in range(run["count"])]
    for index, spelling in enumerate(spellings):
        yield spelling, run["first_id"] + index
