"""Patterns that tokenizers are served with, as their artifacts spell them; each entry is of one tokenizer."""

from __future__ import annotations

SERVED_PATTERNS: dict[str, tuple[str, ...]] = {
    "deepseek_v3": (
        r"\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        (
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^"""
            "\r\n"
            r"""\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+["""
            "\r\n"
            r"""]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
        ),
    ),
    "bloom": (r" ?[^(\s|[.,!?…。，、।۔،])]+",),
    "clip": (r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",),
}
