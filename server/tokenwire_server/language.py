"""Language: the label under which an input is counted in the metrics. For reports, never for bills or limits.

A declared BCP 47 tag counts as its primary language if that is on the closed list. Without a tag, a script
that stands for one language decides where at least 70% of the letters among the first 256 characters have
it. All else is `und`. Cost: a few microseconds for an input without a tag, whatever its length.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from tokenwire_core.scripts import count_scripts

UNDETERMINED = "und"
DECLARED, SCRIPT, NONE = "declared", "script", "none"
SOURCES = (DECLARED, SCRIPT, NONE)
"""What decided: the caller's tag, the script, or nothing (the label is then `und`)."""

_SAMPLE_CODEPOINTS = 256
_SHARE = 0.7

# Scripts that stand for one language in all but rare texts. Latin, Cyrillic, Arabic and Devanagari do not.
_LANGUAGE_OF_SCRIPT = MappingProxyType(
    {
        "Hang": "ko",
        "Thai": "th",
        "Grek": "el",
        "Hebr": "he",
        "Taml": "ta",
        "Telu": "te",
        "Knda": "kn",
        "Mlym": "ml",
        "Beng": "bn",
        "Gujr": "gu",
        "Guru": "pa",
        "Orya": "or",
        "Sinh": "si",
        "Geor": "ka",
        "Armn": "hy",
        "Khmr": "km",
        "Laoo": "lo",
        "Mymr": "my",
        "Tibt": "bo",
    }
)

_DECISIVE = frozenset({*_LANGUAGE_OF_SCRIPT, "Hira", "Kana", "Hani", "Bopo"})

# fmt: off
LANGUAGES = frozenset(
    (
        "af", "am", "ar", "az", "be", "bg", "bn", "bo", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "es",
        "et", "eu", "fa", "fi", "fil", "fr", "ga", "gl", "gu", "ha", "he", "hi", "hr", "hu", "hy", "id", "is",
        "it", "ja", "ka", "kk", "km", "kn", "ko", "ky", "lo", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my",
        "nb", "ne", "nl", "or", "pa", "pl", "ps", "pt", "ro", "ru", "si", "sk", "sl", "so", "sq", "sr", "sv",
        "sw", "ta", "te", "tg", "th", "tr", "uk", "ur", "uz", "vi", "yo", "zh", "zu", "und",
    )
)
# fmt: on
"""Every value the label can take."""

# Old or narrower subtags for a language of the list, from the IANA registry.
_CANONICAL = MappingProxyType(
    {"iw": "he", "in": "id", "mo": "ro", "no": "nb", "nn": "nb", "tl": "fil", "cmn": "zh", "yue": "zh"}
)
_PRIMARY = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8})*")


def label(tag: str, utf8: bytes) -> tuple[str, str]:
    """The language of a text and what decided it: (one of `LANGUAGES`, one of `SOURCES`).

    `tag` is the declared BCP 47 tag or empty; ill-formed parts of `utf8` have no script.
    """
    if tag:
        language = _from_tag(tag)
        return (language, DECLARED) if language is not None else (UNDETERMINED, NONE)
    language = _from_scripts(count_scripts(utf8, _SAMPLE_CODEPOINTS))
    return (language, SCRIPT) if language is not None else (UNDETERMINED, NONE)


def _from_tag(tag: str) -> str | None:
    match = _PRIMARY.fullmatch(tag) if len(tag) <= 64 else None
    if match is None:
        return None
    primary = match[1].lower()
    primary = _CANONICAL.get(primary, primary)
    return primary if primary in LANGUAGES and primary != UNDETERMINED else None


def _from_scripts(counts: dict[str, int]) -> str | None:
    """`counts` are letters by ISO 15924 code; neutral and inherited characters decide nothing."""
    if _DECISIVE.isdisjoint(counts):
        return None
    counts = {script: n for script, n in counts.items() if script not in ("Zyyy", "Zinh", "Zzzz")}
    total = sum(counts.values())
    kana = counts.pop("Hira", 0) + counts.pop("Kana", 0)
    han = counts.pop("Hani", 0) + counts.pop("Bopo", 0)
    by_language = {"ja": kana + han} if kana else {"zh": han}
    for script, n in counts.items():
        language = _LANGUAGE_OF_SCRIPT.get(script)
        if language is not None:
            by_language[language] = by_language.get(language, 0) + n
    best = max(by_language, key=lambda language: by_language[language])
    return best if by_language[best] >= _SHARE * total else None
