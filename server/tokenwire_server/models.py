"""Models: which tokenizer the public models use, by exact name or explicit prefix, and nothing else.

The table is `data/models.toml`, where each entry says what it rests on. A name is put together as

    [gateway] [vendor] model [variant]        azure/eu/ + gpt-4o-2024-08-06
                                              openrouter/ + openai/ + gpt-4o + :nitro

and each part is one that is listed there: `gateway` and `vendor` may be absent, `variant` too and it needs a
slash before it, `model` is an exact name or begins with a listed prefix. Exact names come before prefixes, a
longer prefix before a shorter one. Case and blanks count. A name that is not put together like this is unknown,
and is never answered by some default.

A look-up costs a few us: the name is hashed and one short slice taken for each length a prefix has, and no more
for a long name than reading it.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TWINS = (frozenset({"gpt2", "r50k_base"}),)
"""Tokenizers with two names: their ids are the same for every text."""


class Names:
    """Exact names and prefixes, each with what it stands for."""

    def __init__(self, exact: Mapping[str, str], prefixes: Mapping[str, str]) -> None:
        self.exact = dict(exact)
        self.prefixes = dict(prefixes)
        self._lengths = sorted({len(prefix) for prefix in prefixes}, reverse=True)

    def longest_prefix(self, name: str) -> str | None:
        """The longest of the prefixes `name` begins with. One slice and one look-up for each length there is."""
        for length in self._lengths:
            if (start := name[:length]) in self.prefixes:
                return start
        return None


@dataclass(frozen=True, slots=True)
class Match:
    """A name the table knows: the tokenizer it means, and how much of the name decided that.

    `n_prefix` is the number of characters up to the end of the prefix (gateway and vendor included), or None for
    an exact name.
    """

    tokenizer: str
    n_prefix: int | None


class _Table:
    """`data/models.toml` with the vendors written out before their names."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        vendors = document["vendors"]
        self._gateways = Names({}, dict.fromkeys(document["gateways"], ""))
        self._variants = frozenset(document["variants"])
        rows = document["tokenizer"]
        self.models = {model: row["name"] for row in rows for model in row["models"]}
        self._known = Names(
            {row["name"]: row["name"] for row in rows} | _written_out(rows, "models", vendors),
            _written_out(rows, "model_prefixes", vendors),
        )
        self._unpublished = Names({}, _written_out(document["unpublished"], "model_prefixes", vendors))

    def find(self, name: str) -> Match | None:
        bare = name[self._n_gateway(name) :]
        for whole in (name, bare):  # `openai/` is a gateway and a vendor.
            exact = self._known.exact.get(whole) or self._known.exact.get(self._plain(whole))
            if exact is not None:
                return Match(exact, None)
        if (prefix := self._known.longest_prefix(bare)) is not None:
            return Match(self._known.prefixes[prefix], len(name) - len(bare) + len(prefix))
        return None

    def is_unpublished(self, name: str) -> bool:
        return self._unpublished.longest_prefix(name[self._n_gateway(name) :]) is not None

    def _n_gateway(self, name: str) -> int:
        return len(self._gateways.longest_prefix(name) or "")

    def _plain(self, name: str) -> str:
        """`name` without the variant at its end."""
        model, colon, variant = name.rpartition(":")
        return model if "/" in model and colon + variant in self._variants else name


def _written_out(
    rows: Iterable[Mapping[str, Any]], key: str, vendors: Mapping[str, list[str]]
) -> dict[str, str]:
    """The names under `key`, alone and after each spelling of the row's vendor, with the row's tokenizer."""
    return {
        before + name: row.get("name", "")
        for row in rows
        for before in ("", *vendors.get(row.get("vendor", ""), ()))
        for name in row.get(key, ())
    }


@functools.cache
def _table() -> _Table:
    return _Table(tomllib.loads((Path(__file__).parent / "data" / "models.toml").read_text("utf-8")))


def match(name: str) -> Match | None:
    """What `name`, of a model or of a public tokenizer itself, means; None for one that is not in the table."""
    return _table().find(name)


def tokenizer_of(name: str) -> str | None:
    """The name of the tokenizer that `name` means, or None for one that is not in the table."""
    found = match(name)
    return None if found is None else found.tokenizer


def is_unpublished(name: str) -> bool:
    """Whether `name` is a model known to have no public tokenizer. Models with one may be among them: ask first."""
    return _table().is_unpublished(name)


def known_models() -> Mapping[str, str]:
    """The exact model names without gateway and vendor, with their tokenizers: for suggestions."""
    return _table().models


def names_of(tokenizer: str) -> frozenset[str]:
    """The names of that tokenizer: its own, and another it is published under."""
    return next((twins for twins in _TWINS if tokenizer in twins), frozenset({tokenizer}))
