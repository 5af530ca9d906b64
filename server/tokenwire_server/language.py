"""Language: the label under which an input is counted in the metrics. For reports, never for bills or limits.

Who decides, in this order, on the first 256 characters:

1. the declared BCP 47 tag, if its primary language is on the closed list;
2. a script that stands for one language, where at least 70% of the letters have it;
3. signs: code and data are `zxx`;
4. where no script has 70% of the letters, that alone: `mul`;
5. the detector, if there is one, for prose in a script of many languages; it answers where it is certain.

All else is `und`. An input of any length costs the same; how much, and how much more with the detector, is in a table
of docs/languages.md that `python -m tests.languages speed` writes.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from tokenwire_core.appearance import APPEARANCES, Appearance, Notation, look

from tokenwire_server import detector as detectors
from tokenwire_server.detector import Detector

UNDETERMINED, MULTIPLE, NO_LANGUAGE = "und", "mul", "zxx"
DECLARED, SCRIPT, SIGNS, DETECTOR, NONE = "declared", "script", "signs", "detector", "none"
SOURCES = (DECLARED, SCRIPT, SIGNS, DETECTOR, NONE)
"""What decided: the caller's tag, the script or that there are several, the signs of code and data, the detector, or
nothing (the label is then `und`)."""

_SAMPLE_CODEPOINTS = 256
_SAMPLE_BYTES = 4 * _SAMPLE_CODEPOINTS

# Scripts that stand for one language in all but rare texts. Latin, Cyrillic, Arabic and Devanagari do not.
LANGUAGE_OF_SCRIPT = MappingProxyType(
    {
        "Hang": "ko",
        "Jpan": "ja",
        "Hani": "zh",
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

# fmt: off
LANGUAGES = frozenset(
    (
        "af", "am", "ar", "az", "be", "bg", "bn", "bo", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "es",
        "et", "eu", "fa", "fi", "fil", "fr", "ga", "gl", "gu", "ha", "he", "hi", "hr", "hu", "hy", "id", "is",
        "it", "ja", "ka", "kk", "km", "kn", "ko", "ky", "lo", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my",
        "nb", "ne", "nl", "or", "pa", "pl", "ps", "pt", "ro", "ru", "si", "sk", "sl", "so", "sq", "sr", "sv",
        "sw", "ta", "te", "tg", "th", "tr", "uk", "ur", "uz", "vi", "yo", "zh", "zu", "mul", "und", "zxx",
    )
)
# fmt: on
"""Every value the label can take."""
_NATURAL = LANGUAGES - {UNDETERMINED, MULTIPLE, NO_LANGUAGE}

# Old or narrower subtags for a language of the list, from the IANA registry.
_CANONICAL = MappingProxyType(
    {"iw": "he", "in": "id", "mo": "ro", "no": "nb", "nn": "nb", "tl": "fil", "cmn": "zh", "yue": "zh"}
)
_PRIMARY = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8})*")


def label(tag: str, utf8: bytes, detector: Detector | None = None) -> tuple[str, str]:
    """The language of a text and what decided it: (one of `LANGUAGES`, one of `SOURCES`).

    `tag` is the declared BCP 47 tag or empty; ill-formed parts of `utf8` have no script.
    """
    if tag:
        language = _from_tag(tag)
        return (language, DECLARED) if language is not None else _NOT_KNOWN
    seen = look(utf8, _SAMPLE_CODEPOINTS)
    decided = _DECIDED.get(seen)
    if decided is not None:
        return decided
    if detector is not None:
        text = utf8[:_SAMPLE_BYTES].decode("utf-8", "replace")[:_SAMPLE_CODEPOINTS]
        language = detector.detect(text, seen.script)
        if language in _NATURAL:
            return language, DETECTOR
    return _NOT_KNOWN


def _decided(seen: Appearance) -> tuple[str, str] | None:
    """What a text's appearance alone decides; None where a detector may know more."""
    language = LANGUAGE_OF_SCRIPT.get(seen.script)
    if language is not None:
        return language, SCRIPT
    if seen.notation is Notation.DATA:
        return NO_LANGUAGE, SIGNS
    if seen.has_letters and not seen.script:
        return MULTIPLE, SCRIPT
    return None if seen.notation is Notation.PROSE and seen.script in detectors.SCRIPTS else _NOT_KNOWN


_NOT_KNOWN = UNDETERMINED, NONE
_DECIDED = {seen: decided for seen in APPEARANCES if (decided := _decided(seen)) is not None}


def _from_tag(tag: str) -> str | None:
    if tag in _NATURAL:
        return tag
    match = _PRIMARY.fullmatch(tag) if len(tag) <= 64 else None
    if match is None:
        return None
    primary = match[1].lower()
    primary = _CANONICAL.get(primary, primary)
    return primary if primary in LANGUAGES and primary != UNDETERMINED else None
