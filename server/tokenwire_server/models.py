"""Models: which tokenizer the public models of this family use, by exact name or explicit prefix.

Nothing else matches: a name that is in neither table is unknown, and is never served by some default.
"""

from __future__ import annotations

_BY_NAME: dict[str, tuple[str, ...]] = {
    "o200k_base": ("gpt-5", "gpt-4.1", "gpt-4o", "o1", "o3", "o4-mini"),
    "cl100k_base": (
        "gpt-4",
        "gpt-3.5",
        "gpt-3.5-turbo",
        "gpt-35-turbo",
        "davinci-002",
        "babbage-002",
        "text-embedding-3-large",
        "text-embedding-3-small",
        "text-embedding-ada-002",
    ),
    "p50k_base": (
        "text-davinci-002",
        "text-davinci-003",
        "code-cushman-001",
        "code-cushman-002",
        "code-davinci-001",
        "code-davinci-002",
        "cushman-codex",
        "davinci-codex",
    ),
    "p50k_edit": ("text-davinci-edit-001", "code-davinci-edit-001"),
    "r50k_base": (
        "ada",
        "babbage",
        "curie",
        "davinci",
        "text-ada-001",
        "text-babbage-001",
        "text-curie-001",
        "text-davinci-001",
        "text-similarity-ada-001",
        "text-similarity-babbage-001",
        "text-similarity-curie-001",
        "text-similarity-davinci-001",
        "text-search-ada-doc-001",
        "text-search-babbage-doc-001",
        "text-search-curie-doc-001",
        "text-search-davinci-doc-001",
        "code-search-ada-code-001",
        "code-search-babbage-code-001",
    ),
    "gpt2": ("gpt2", "gpt-2"),
}

_BY_PREFIX: dict[str, tuple[str, ...]] = {
    "o200k_base": (
        "gpt-5",
        "gpt-4.5-",
        "gpt-4.1-",
        "gpt-4o-",
        "chatgpt-4o-",
        "o1-",
        "o3-",
        "o4-mini-",
        "ft:gpt-4o",
    ),
    "cl100k_base": (
        "gpt-4-",
        "gpt-3.5-turbo-",
        "gpt-35-turbo-",
        "ft:gpt-4",
        "ft:gpt-3.5-turbo",
        "ft:davinci-002",
        "ft:babbage-002",
    ),
    "o200k_harmony": ("gpt-oss-",),
}

_TOKENIZER_OF_MODEL = {model: name for name, models in _BY_NAME.items() for model in models}
# The longest prefix decides: `ft:gpt-4o...` before `ft:gpt-4...`.
_PREFIXES = sorted(
    ((prefix, name) for name, prefixes in _BY_PREFIX.items() for prefix in prefixes),
    key=lambda entry: -len(entry[0]),
)

KNOWN_MODELS = tuple(_TOKENIZER_OF_MODEL)
"""The exact model names, for suggestions."""

KNOWN_TOKENIZERS = frozenset(_BY_NAME) | frozenset(_BY_PREFIX)
"""The tokenizers these models use."""

_TWINS = ({"gpt2", "r50k_base"},)
"""Tokenizers with two names: their ids are the same for every text."""


def tokenizer_of(model: str) -> str | None:
    """The name of the tokenizer `model` uses, or None for a model that is not in the table."""
    exact = _TOKENIZER_OF_MODEL.get(model)
    if exact is not None:
        return exact
    return next((name for prefix, name in _PREFIXES if model.startswith(prefix)), None)


def names_of(tokenizer: str) -> frozenset[str]:
    """The names of that tokenizer: its own, and another it is published under."""
    return frozenset(next((twins for twins in _TWINS if tokenizer in twins), {tokenizer}))
