"""Model bundles: whether a tokenizer fits the model whose `config.json` is given.

A bundle is what Hugging Face publishes of a model: `config.json`, and beside it where they are there
`generation_config.json`, `tokenizer_config.json` and `special_tokens_map.json`. Checked are: every id has a row in
the embedding; the ids named for BOS, EOS, PAD and their like are tokens here; the files agree with each other and
with the special tokens of the tokenizer; and BOS and EOS are control tokens, so that no user text can make them.

The language model of a multimodal model stands in a nest of `config.json` (`text_config` and others), which then
decides. Null and negative ids mean "none".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tokenwire_core import Encoder
from tokenwire_core.errors import IdOutOfRangeError, TokenizerError

from tokenwire_server import artifacts
from tokenwire_server.artifacts import ProofError
from tokenwire_server.errors import shorten
from tokenwire_server.tools.verifying import Finding

REASONS = MappingProxyType(
    {
        "BAD_MODEL_CONFIG": "a file of the bundle cannot be read, or a value in it has the wrong type",
        "NO_EMBEDDING_SIZE": "the configuration does not say how many rows the embedding has",
        "ID_BEYOND_EMBEDDING": "an id has no row in the embedding",
        "UNKNOWN_SPECIAL": "the bundle names an id or a spelling that is no token of the tokenizer",
        "SPECIAL_ID_MISMATCH": "the files of the bundle, or bundle and tokenizer, disagree on a token",
        "NOT_CONTROL": "the bundle has a token as special that text can make here",
    }
)
"""Each reason with its meaning."""

CONFIG_NAME = "config.json"
_MAKE_CONTROL = (
    "give it to the tokenizer as a special token if it is a rank file, else under `control_tokens`"
)
_MAX_BYTES = 4 << 20
_MAX_DEPTH = 4
_MAX_SPELLING_BYTES = 256
_MOST_ID = 2**31
_NESTS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
"""Where the language model of a larger model is described, the likeliest first."""
_SIZE_KEYS = ("vocab_size", "padded_vocab_size")
_EXTRA_KEY = "additional_vocab_size"
"""Rows that some models keep in a second embedding behind the first."""
_EXTRA_ROWS = MappingProxyType({"mllama": 8, "mllama_text_model": 8})
"""Rows that a model type adds to `vocab_size` in its code."""

_ROLES = ("bos", "eos", "pad", "unk", "sep", "cls", "mask")
_ID_ROLES = (*_ROLES, "decoder_start", "forced_bos", "forced_eos")
_CONTROL_ROLES = ("bos", "eos")
_EXTRA_LISTS = ("additional_special_tokens", "extra_special_tokens")


@dataclass(slots=True)
class BundleCheck:
    """What was found of a bundle; `embedding_rows` is None where the configuration does not say."""

    embedding_rows: int | None = None
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, reason: str, message: str) -> None:
        """Add a finding."""
        self.findings.append(Finding(reason, message))


def check(encoder: Encoder, path: Path) -> BundleCheck:
    """Hold the tokenizer to the bundle at `path`, a `config.json` or the folder that has it.

    Reads at most 4 MiB of each file.
    """
    found = BundleCheck()
    config_path = path / CONFIG_NAME if os.path.isdir(path) else path
    config = _read(found, config_path, needed=True)
    generation = _read(found, config_path.parent / "generation_config.json")
    spellings = {
        name: document
        for name in ("tokenizer_config.json", "special_tokens_map.json")
        if (document := _read(found, config_path.parent / name)) is not None
    }
    levels = {} if config is None else dict(_levels(found, config_path.name, config))
    if config is not None:
        found.embedding_rows = _embedding_rows(found, levels)
        _check_size(found, encoder)
    if generation is not None:
        levels["generation_config.json"] = generation
    named = _Named(found, encoder)
    for place, document in levels.items():
        named.take_ids(place, document)
    for place, document in spellings.items():
        named.take_spellings(place, document)
    named.check()
    return found


def _read(found: BundleCheck, path: Path, *, needed: bool = False) -> dict[str, Any] | None:
    """The JSON object at `path`; None, with a finding where that is a fault, if it cannot be had."""
    if not os.path.exists(path):
        if needed:
            found.add("BAD_MODEL_CONFIG", f"there is no {path}; give the model's config.json or its folder")
        return None
    why = "it is not a JSON object"
    try:
        real = path.resolve()  # The Hugging Face client keeps links to files elsewhere.
        document = json.loads(artifacts.read_bounded(real.parent, real.name, _MAX_BYTES))
        if isinstance(document, dict):
            return document
    except ProofError as error:
        why = str(error)
    except (ValueError, RecursionError):
        why = "it is not JSON, or nested too deep, or has a number of thousands of digits"
    found.add("BAD_MODEL_CONFIG", f"{path.name} cannot be used: {why}")
    return None


def _levels(found: BundleCheck, place: str, document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The configuration and the nests that describe its language model, from the outside in."""
    for _ in range(_MAX_DEPTH):
        yield place, document
        for key in _NESTS:
            nest = document.get(key)
            if isinstance(nest, dict):
                place, document = f"{place} {key}", nest
                break
            if nest is not None:
                found.add("BAD_MODEL_CONFIG", f"`{key}` in {place} is not an object")
        else:
            return


def _embedding_rows(found: BundleCheck, levels: Mapping[str, dict[str, Any]]) -> int | None:
    """What the innermost level that says it says."""
    stated: dict[str, int] = {}
    extra = 0
    for place, document in levels.items():
        model_type = document.get("model_type")
        if isinstance(model_type, str) and model_type in _EXTRA_ROWS:
            extra = _EXTRA_ROWS[model_type]
        for key in (*_SIZE_KEYS, _EXTRA_KEY):
            value = document.get(key)
            if value is None:
                continue
            least = 0 if key == _EXTRA_KEY else 1
            if type(value) is not int or not least <= value <= _MOST_ID:
                found.add(
                    "BAD_MODEL_CONFIG", f"`{key}` in {place} is not a number from {least} to {_MOST_ID}"
                )
            elif key == _EXTRA_KEY:
                extra = value
            else:
                stated[f"`{key}` in {place}"] = value
    if not stated:
        found.add(
            "NO_EMBEDDING_SIZE",
            "the configuration has no `vocab_size`, so ids cannot be compared with the rows of the embedding; "
            "add it, as the model's code has it",
        )
        return None
    *outer, (where, rows) = stated.items()
    found.notes += [f"{where} decides: {rows}; {name} is {value}" for name, value in outer if value != rows]
    return rows + extra


def _check_size(found: BundleCheck, encoder: Encoder) -> None:
    rows, highest = found.embedding_rows, encoder.vocab_size - 1
    if rows is None:
        return
    if highest >= rows:
        found.add(
            "ID_BEYOND_EMBEDDING",
            f"the highest id is {highest}, the embedding has {rows} rows, so ids from {rows} on have none; "
            "this is the tokenizer of another model, or tokens were added and the embedding was not enlarged",
        )
    elif spare := rows - encoder.vocab_size:
        found.notes.append(
            f"the embedding has {rows} rows, {spare} more than ids: padding above the highest id {highest}"
        )


class _Named:
    """The ids that the files of a bundle give for each role, and whether they hold."""

    def __init__(self, found: BundleCheck, encoder: Encoder) -> None:
        self._found = found
        self._encoder = encoder
        self._control_ids = frozenset(encoder.control_tokens.values())
        self._ids: dict[str, dict[str, list[int]]] = {}
        """Role, then place, to the ids."""

    def take_ids(self, place: str, document: Mapping[str, Any]) -> None:
        """The `..._token_id` of a configuration."""
        for role in _ID_ROLES:
            key = f"{role}_token_id"
            value = document.get(key)
            ids = value if isinstance(value, list) else [] if value is None else [value]
            if not all(type(id_) is int and id_ < _MOST_ID for id_ in ids):
                self._found.add(
                    "BAD_MODEL_CONFIG",
                    f"`{key}` in {place} is not an id below {_MOST_ID}, a list of such, or null",
                )
                continue
            if any(id_ < 0 for id_ in ids):
                self._found.notes.append(f"`{key}` in {place} is negative: taken as none")
            self._take(role, place, [id_ for id_ in ids if id_ >= 0])

    def take_spellings(self, place: str, document: Mapping[str, Any]) -> None:
        """The `..._token` of a tokenizer's configuration, and its lists of special and added tokens."""
        for role in _ROLES:
            for spelling in self._spellings(place, f"{role}_token", document.get(f"{role}_token")):
                id_ = self._id(place, f"{role}_token", spelling)
                self._take(role, place, [] if id_ is None else [id_])
        for key in _EXTRA_LISTS:
            value = document.get(key)
            items = (
                value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            )
            for item in items:
                for spelling in self._spellings(place, key, item):
                    self._check_control(place, key, spelling, self._id(place, key, spelling))
        self._take_added(place, document.get("added_tokens_decoder"))

    def check(self) -> None:
        """Check each id once, however many files name it, and that the files agree."""
        for role, by_place in self._ids.items():
            for id_ in dict.fromkeys(id_ for ids in by_place.values() for id_ in ids):
                places = ", ".join(place for place, ids in by_place.items() if id_ in ids)
                self._check_id(role, id_, places)
            self._check_agreement(role, by_place)

    def _take(self, role: str, place: str, ids: list[int]) -> None:
        if ids:
            self._ids.setdefault(role, {}).setdefault(place, []).extend(ids)

    def _take_added(self, place: str, added: object) -> None:
        """`added_tokens_decoder`: id to a token's spelling and whether it is special."""
        key = "added_tokens_decoder"
        if added is None:
            return
        if not isinstance(added, dict):
            self._found.add("BAD_MODEL_CONFIG", f"`{key}` in {place} is not an object")
            return
        for number, token in added.items():
            if not isinstance(token, dict):
                self._found.add("BAD_MODEL_CONFIG", f"`{key}` in {place} has an entry that is not an object")
                continue
            for spelling in self._spellings(place, key, token):
                id_ = self._id(place, key, spelling)
                if id_ is not None and str(id_) != number:
                    self._found.add(
                        "SPECIAL_ID_MISMATCH",
                        f"{_shown(spelling)} is {id_}, `{key}` in {place} says {shorten(number, 20)}",
                    )
                if token.get("special") is True:
                    self._check_control(place, key, spelling, id_)

    def _spellings(self, place: str, key: str, value: object) -> list[str]:
        """The spelling that a value holds: itself, or its `content`; none for null and the empty string."""
        spelling = value.get("content") if isinstance(value, dict) else value
        if isinstance(spelling, str):
            return [spelling] if spelling else []
        if value is not None:
            self._found.add("BAD_MODEL_CONFIG", f"`{key}` in {place} has a token without a spelling")
        return []

    def _id(self, place: str, key: str, spelling: str) -> int | None:
        """The id of the token that is spelled so; None, with a finding, if there is no such token."""
        try:
            utf8 = spelling.encode()
            special = self._encoder.special_tokens.get(spelling)
            ids = [special] if special is not None else []
            if not ids and len(utf8) <= _MAX_SPELLING_BYTES:
                ids = self._encoder.encode(spelling).ids
        except (UnicodeEncodeError, TokenizerError):
            ids = []
        if len(ids) == 1:
            return ids[0]
        self._found.add(
            "UNKNOWN_SPECIAL",
            f"{_shown(spelling)} in `{key}` of {place} is no token of the tokenizer; give it as one of "
            "`special_tokens`, or use the tokenizer of this model",
        )
        return None

    def _check_control(self, place: str, key: str, spelling: str, id_: int | None) -> None:
        if id_ is not None and id_ not in self._control_ids:
            self._found.add(
                "NOT_CONTROL",
                f"{_shown(spelling)}, id {id_}, is special in `{key}` of {place}, but no control token here: "
                f"text that spells it becomes it. {_MAKE_CONTROL}",
            )

    def _check_id(self, role: str, id_: int, places: str) -> None:
        rows = self._found.embedding_rows
        what = f"the {role.upper()} id {id_} of {places}"
        if rows is not None and id_ >= rows:
            self._found.add("ID_BEYOND_EMBEDDING", f"{what} has no row: the embedding has {rows}")
        elif not self._is_token(id_):
            self._found.add(
                "UNKNOWN_SPECIAL", f"{what} is no token: the highest id is {self._encoder.vocab_size - 1}"
            )
        elif role in _CONTROL_ROLES and id_ not in self._control_ids:
            self._found.add(
                "NOT_CONTROL",
                f"{what} is no control token here: text can make it. Correct the id, or if it is meant "
                f"{_MAKE_CONTROL}",
            )

    def _is_token(self, id_: int) -> bool:
        try:
            self._encoder.decode_bytes([id_])
        except IdOutOfRangeError:
            return False
        return True

    def _check_agreement(self, role: str, by_place: Mapping[str, list[int]]) -> None:
        """Two places agree if they have an id in common: a list names all that may end a text, a spelling one."""
        sets = [frozenset(ids) for ids in by_place.values()]
        if any(left.isdisjoint(right) for left in sets for right in sets):
            said = ", ".join(
                f"{' or '.join(map(str, ids[:8]))} in {place}" for place, ids in by_place.items()
            )
            self._found.add("SPECIAL_ID_MISMATCH", f"the {role.upper()} id is {said}; make them agree")


def _shown(spelling: str) -> str:
    return repr(shorten(spelling, 60))
