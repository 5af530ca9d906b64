"""Models: which tokenizer the public models use, by exact name or explicit prefix, and nothing else.

The table is `data/models.toml`, where each entry says what it rests on. A name is put together as

    [gateway] [vendor] model [variant]        azure/eu/ + gpt-4o-2024-08-06
                                              openrouter/ + openai/ + gpt-4o + :nitro

and each part is one that is listed there: `gateway` and `vendor` may be absent, `variant` too and it needs a
slash before it, `model` is an exact name or begins with a listed prefix. Exact names come before prefixes, a
longer prefix before a shorter one. Case and blanks count. A name that is not put together like this is unknown,
and is never answered by some default.

A look-up costs 1 to 4 us, and for a long name the time to read it a few times: names come from callers.
"""

from __future__ import annotations

import bisect
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

_TWINS = (frozenset({"gpt2", "r50k_base"}),)
"""Tokenizers with two names: their ids are the same for every text."""


class Names:
    """Exact names and prefixes, each with what it stands for."""

    def __init__(self, exact: Mapping[str, str], prefixes: Mapping[str, str]) -> None:
        self.exact = dict(exact)
        self.prefixes = dict(prefixes)
        self._sorted = sorted(prefixes)
        self._shorter: dict[str, str | None] = {}
        """For each prefix, the longest other one it begins with."""
        for prefix in self._sorted:
            self._shorter[prefix] = self._longest(prefix, len(self._shorter))

    def longest_prefix(self, name: str) -> str | None:
        """The longest of the prefixes `name` begins with: O(log n) comparisons, and one for each that is in another."""
        return self._longest(name, bisect.bisect_right(self._sorted, name))

    def _longest(self, name: str, n_before: int) -> str | None:
        """Looks among the first `n_before` prefixes, those up to `name` in order.

        All strings between a prefix of `name` and `name` begin with that prefix, so the nearest one before `name`
        is the longest, or begins with it.
        """
        near = self._sorted[n_before - 1] if n_before else None
        while near is not None and not name.startswith(near):
            near = self._shorter[near]
        return near


class Match(NamedTuple):
    """A name the table knows: the tokenizer it means, and how much of the name decided that.

    `n_prefix` is the number of characters up to the end of the prefix (gateway and vendor included), or None for
    an exact name.
    """

    tokenizer: str
    n_prefix: int | None


def _written_out(
    rows: Iterable[Mapping[str, Any]], key: str, vendors: Mapping[str, list[str]]
) -> dict[str, str]:
    """The names under `key`, alone and after each spelling of the row's vendor, with the row's tokenizer."""
    return {
        before + name: row.get("name", "")
        for row in rows
        for before in ("", *(vendors[row["vendor"]] if "vendor" in row else ()))
        for name in row.get(key, ())
    }


_TABLE = tomllib.loads((Path(__file__).parent / "data" / "models.toml").read_text("utf-8"))
_GATEWAYS = Names({}, dict.fromkeys(_TABLE["gateways"], ""))
_VARIANTS = frozenset(_TABLE["variants"])
_MODELS = Names(
    _written_out(_TABLE["tokenizer"], "models", _TABLE["vendors"]),
    _written_out(_TABLE["tokenizer"], "model_prefixes", _TABLE["vendors"]),
)
_UNPUBLISHED = Names({}, _written_out(_TABLE["unpublished"], "model_prefixes", _TABLE["vendors"]))
_TOKENIZERS = {row["name"]: row["name"] for row in _TABLE["tokenizer"]}
_AS_SENT = _TOKENIZERS | _MODELS.exact

KNOWN_MODELS: Mapping[str, str] = MappingProxyType(
    {model: row["name"] for row in _TABLE["tokenizer"] for model in row["models"]}
)
"""The exact model names without gateway and vendor, with their tokenizers: for suggestions."""


def match(name: str) -> Match | None:
    """What `name`, of a model or of a public tokenizer itself, means; None for one that is not in the table."""
    if (found := _AS_SENT.get(name)) is not None:
        return Match(found, None)
    bare = without_gateway(name)
    for exact in (
        bare,
        _without_variant(name),
        _without_variant(bare),
    ):  # `openai/` is a gateway and a vendor.
        if (found := _MODELS.exact.get(exact)) is not None:
            return Match(found, None)
    if (prefix := _MODELS.longest_prefix(bare)) is not None:
        return Match(_MODELS.prefixes[prefix], len(name) - len(bare) + len(prefix))
    return None


def tokenizer_of(name: str) -> str | None:
    """The name of the tokenizer that `name` means, or None for one that is not in the table."""
    found = match(name)
    return None if found is None else found.tokenizer


def is_unpublished(name: str) -> bool:
    """Whether `name`, which `match` does not know, is a model known to have no public tokenizer."""
    return _UNPUBLISHED.longest_prefix(without_gateway(name)) is not None


def without_gateway(name: str) -> str:
    """`name` without the gateway it begins with, if any."""
    return name[len(_GATEWAYS.longest_prefix(name) or "") :]


def _without_variant(name: str) -> str:
    model, colon, variant = name.rpartition(":")
    return model if "/" in model and colon + variant in _VARIANTS else name


def names_of(tokenizer: str) -> frozenset[str]:
    """The names of that tokenizer: its own, and another it is published under."""
    return next((twins for twins in _TWINS if tokenizer in twins), frozenset({tokenizer}))
