"""What each language costs against English: tokens of the same messages, by tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tokenwire_core.encoder import Encoder

from tests import artifact_files, rank_files
from tests.languages.catalogues import catalogues, names

RANK_FILES = ("o200k_base", "cl100k_base", "r50k_base")
ARTIFACTS = ("llama3_1", "qwen3", "deepseek_v4", "gemma3", "mistral_v3", "xlm_roberta")
TOKENIZERS = (*RANK_FILES, *ARTIFACTS)
LEAST_MESSAGES = 200
_DIALECTS = {"ar_DZ", "en_AU", "en_GB", "es_AR", "es_CO", "es_MX", "es_VE"}


@dataclass(frozen=True, slots=True)
class Cost:
    """A language against English on the messages that both have. `ratios` is by tokenizer."""

    locale: str
    n_messages: int
    characters: float
    ratios: Mapping[str, float]


def encoder(name: str) -> Encoder:
    """The tokenizer of this name. One of `ARTIFACTS` is fetched if need be."""
    return rank_files.ours(name) if name in RANK_FILES else artifact_files.ours(name)


def translated() -> dict[str, list[tuple[str, str]]]:
    """(English, translation) by locale: what is translated at all, and not by itself; see `catalogues` for the rest."""
    pairs = {
        locale: [(english, other) for english, other in messages.items() if english != other]
        for locale, messages in catalogues().items()
        if locale not in _DIALECTS
    }
    return {locale: found for locale, found in pairs.items() if len(found) >= LEAST_MESSAGES}


def costs(tokenizers: Sequence[str]) -> list[Cost]:
    """Every language, by its cost for the first tokenizer. Each tokenizer counts in some seconds."""
    pairs = translated()
    ratios: dict[str, dict[str, float]] = {locale: {} for locale in pairs}
    for name in tokenizers:
        tokenizer = encoder(name)
        english = {
            text: tokenizer.count(text) for text in {text for both in pairs.values() for text, _ in both}
        }
        for locale, both in pairs.items():
            n_tokens = sum(tokenizer.count(other) for _, other in both)
            ratios[locale][name] = n_tokens / sum(english[text] for text, _ in both)
    found = [
        Cost(
            locale,
            len(both),
            _n_characters(b for _, b in both) / _n_characters(a for a, _ in both),
            ratios[locale],
        )
        for locale, both in pairs.items()
    ]
    return sorted(found, key=lambda cost: cost.ratios[tokenizers[0]])


def _n_characters(texts: Iterable[str]) -> int:
    return sum(map(len, texts))


def row(cost: Cost, tokenizers: Sequence[str]) -> str:
    """A row of the table, with these columns."""
    cells = [f"{names().get(cost.locale, cost.locale)} (`{cost.locale}`)", str(cost.n_messages)]
    cells += [f"{ratio:.2f}" for ratio in (cost.characters, *(cost.ratios[name] for name in tokenizers))]
    return "| " + " | ".join(cells) + " |"


def table() -> str:
    """The whole table: English is 1.00 throughout."""
    head = ("language", "messages", "characters", *(f"`{name}`" for name in TOKENIZERS))
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *(row(cost, TOKENIZERS) for cost in costs(TOKENIZERS)), ""])
