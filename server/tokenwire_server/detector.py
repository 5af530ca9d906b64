"""The detector: which language a text in one of the shared scripts is in, where that is certain; else none.

Behind the interface stand two libraries, which come with the extra `languages`. What each may decide follows from the
tables in docs/languages.md: a wrong label is worse than none.

- eldc is fast and, where it calls an answer reliable, nearly always right in languages that it knows. One that it
  lacks it takes for the nearest one that it has (Macedonian for Serbian, Indonesian for Malay), and it is hardly ever
  sure in Devanagari. So an answer with such a neighbour needs pycld2 to say the same; and a text in Cyrillic or Arabic
  must be spelled with the letters of its language.
- pycld2 knows more languages, errs more and takes ten times as long. It decides alone in Devanagari and on some
  languages that eldc lacks, and is asked only where eldc leaves the question open.

Croatian, Bosnian and Serbian in Latin letters, Malay, Galician, Afrikaans and Macedonian neither tells well enough
from its neighbour: a text in them is declared, or has no language. Short texts are too alike: see the least lengths.

What a label costs is in docs/languages.md (`python -m tests.languages speed`): more where pycld2 is asked. The tables
of both are mostly mapped from their files and so shared by processes. Both release the GIL, and no call sees
another's text.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from importlib import metadata
from types import MappingProxyType
from typing import Any, Final, Protocol

from tokenwire_server.errors import ConfigError

AUTO, ON, OFF = "auto", "on", "off"
SETTINGS: Final = (AUTO, ON, OFF)
"""The values of the setting `language_detector`: use it if it is installed, insist on it, do without."""
SCRIPTS = frozenset({"Latn", "Cyrl", "Arab", "Deva"})
"""The scripts a detector is asked about, by ISO 15924 code: each has many languages."""
LIBRARIES = ("eldc", "pycld2")


class Detector(Protocol):
    """Tells the language of prose. Safe to use from any thread."""

    @property
    def name(self) -> str:
        """What decides, with versions: for the log and the check of a configuration."""

    def detect(self, text: str, script: str) -> str | None:
        """The language of a text whose letters are mostly of `script`, one of `SCRIPTS`; None where not certain."""


def load(setting: str) -> tuple[Detector | None, str]:
    """The detector that a setting, one of `SETTINGS`, asks for, and what to say of it. Raises `ConfigError`.

    Takes some 10 ms.
    """
    if setting == OFF:
        return None, "off"
    try:
        detector = EldcAndPycld2()
    except ImportError as error:
        state = f"not installed ({error}); it comes with the extra `languages`, see docs/languages.md"
        if setting == ON:
            raise ConfigError(f"`language_detector` is on but {state}") from None
        return None, state
    return detector, detector.name


_LEAST_CHARACTERS = 24
_LEAST_WITH_NEIGHBOURS = 48
_LEAST_DEVANAGARI = 64

# fmt: off
_BY_ELDC = frozenset(
    (
        "ar", "az", "be", "ca", "cs", "da", "de", "en", "et", "eu", "fa", "fi", "fr", "hu", "is", "it", "lt", "lv",
        "nb", "pl", "ro", "sk", "sl", "sq", "sv", "tr", "uk", "ur", "vi",
    )
)
# fmt: on
_BY_ELDC_AT_LENGTH = frozenset({"ru"})
_BY_BOTH = frozenset({"bg", "es", "nl", "pt", "sr"})
_BY_PYCLD2 = frozenset({"cy", "ga", "kk", "ky", "mn", "sw", "tg", "uz"})
_BY_PYCLD2_DEVANAGARI = frozenset({"hi", "mr", "ne"})
LANGUAGES = _BY_ELDC | _BY_ELDC_AT_LENGTH | _BY_BOTH | _BY_PYCLD2 | _BY_PYCLD2_DEVANAGARI | {"id"}
"""Every language that `detect` may answer."""

_CODES = MappingProxyType({"no": "nb", "nn": "nb"})
"""Answers of the libraries that the list of languages has under another name."""

_ARABIC = "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيـ"
_ALPHABETS = MappingProxyType(
    {
        "ru": "абвгдежзийклмнопрстуфхцчшщъыьэюяё",
        "be": "абвгдежзйклмнопрстуфхцчшыьэюяёіўґ",
        "bg": "абвгдежзийклмнопрстуфхцчшщъьюяѝ",
        "uk": "абвгдежзийклмнопрстуфхцчшщьюяєіїґ",
        "sr": "абвгдежзиклмнопрстуфхцчшђјљњћџ",
        "ar": _ARABIC,
        "fa": _ARABIC + "پچژکگیۀ",
        "ur": _ARABIC + "پچژکگیۀٹڈڑںھہۂۃےۓ",
    }
)
_LETTERS = [
    chr(c) for first, end in ((0x400, 0x530), (0x620, 0x64B), (0x66E, 0x6D4)) for c in range(first, end)
]


def _letters_outside(alphabet: str) -> re.Pattern[str]:
    letters = "".join(letter for letter in _LETTERS if letter.lower() not in alphabet)
    # Ossetic is often typed with the Latin æ.
    return re.compile(f"[{letters}æ]")


_FOREIGN_LETTER = {language: _letters_outside(alphabet) for language, alphabet in _ALPHABETS.items()}

# eldc stops at a NUL, and pycld2 refuses control characters and code points that are no characters.
_NONCHARACTERS = "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef{_NONCHARACTERS}]")
_LEAST_SHARE_PERCENT = 80


def without_controls(text: str) -> str:
    """The text with blanks for the characters on which the libraries stumble."""
    text = text.replace("\n", " ").replace("\r", " ")
    # Twenty times as fast as to look for each, and no printable character is one of them.
    return text if text.isprintable() else _CONTROLS.sub(" ", text)


class EldcAndPycld2:
    """The two libraries, each for what it is right about."""

    def __init__(self) -> None:
        """Loads both and their tables. Raises `ImportError`."""
        eldc, pycld2 = (importlib.import_module(name) for name in LIBRARIES)
        eldc.init()
        instance = eldc.instance()
        instance.set_scores(1)
        self._eldc: Callable[[str], Any] = instance.detect_details
        self._pycld2: Callable[..., Any] = pycld2.detect
        self._name = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)

    @property
    def name(self) -> str:
        return self._name

    def detect(self, text: str, script: str) -> str | None:
        text = without_controls(text)
        if script == "Deva":
            language = self._ask_pycld2(text) if len(text) >= _LEAST_DEVANAGARI else None
            return language if language in _BY_PYCLD2_DEVANAGARI else None
        if len(text) < _LEAST_CHARACTERS:
            return None
        nearest = self._ask_eldc(text)
        foreign = _FOREIGN_LETTER.get(nearest) if nearest else None
        if foreign is not None and foreign.search(text):
            nearest = None
        if nearest in _BY_ELDC:
            return nearest
        if len(text) < _LEAST_WITH_NEIGHBOURS:
            return None
        if nearest in _BY_ELDC_AT_LENGTH:
            return nearest
        language = self._ask_pycld2(text)
        if language in _BY_PYCLD2 or (language in _BY_BOTH and language == nearest):
            return language
        # eldc has no Indonesian and takes it for Malay.
        return language if language == "id" and nearest == "ms" else None

    def _ask_eldc(self, text: str) -> str | None:
        result = self._eldc(text)
        return _CODES.get(result.language, result.language) if result.reliable else None

    def _ask_pycld2(self, text: str) -> str | None:
        is_reliable, _, ((_, code, percent, _), *_) = self._pycld2(text, isPlainText=True)
        return _CODES.get(code, code) if is_reliable and percent >= _LEAST_SHARE_PERCENT else None
