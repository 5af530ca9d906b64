"""Measuring: each text goes through all tokenizers, in one pass. Cost: 30 to 100 ns a byte and tokenizer."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from tokenwire_core import Encoder
from tokenwire_core.errors import TokenizerError
from tokenwire_core.tally import Tally

from tokenwire_server import language
from tokenwire_server.detector import Detector
from tokenwire_server.tools.report.numbers import Report, TextSums, TokenizerNumbers, TokenSums
from tokenwire_server.tools.report.texts import LeftOut, Text


def measure(
    texts: Iterable[Text | LeftOut],
    encoders: Sequence[Encoder],
    report: Report,
    detector: Detector | None = None,
) -> None:
    """Add the texts to `report`; its tokenizers have these encoders, in the same order.

    `detector` tells languages of one script apart.
    """
    last_file: str | None = None
    for text in texts:
        if isinstance(text, LeftOut):
            report.leave_out(text)
            continue
        try:
            measured = [_measure(text.text, encoder, report.add_special) for encoder in encoders]
        except TokenizerError as error:
            report.leave_out(LeftOut(text.file, text.line, error.reason, str(error)))
            continue
        report.n_files += text.file != last_file
        last_file = text.file
        label, _ = language.label("", text.text.encode(), detector)
        report.texts.add(text)
        report.by_language.setdefault(label, TextSums()).add(text)
        report.n_not_nfc += not unicodedata.is_normalized("NFC", text.text)
        for numbers, (tally, is_same) in zip(report.tokenizers, measured, strict=True):
            _add(numbers, label, tally, is_same)


def _measure(text: str, encoder: Encoder, add_special: bool) -> tuple[Tally, bool]:
    """What the tokens of a text are, and whether decoding them gives it back."""
    encoding = encoder.encode(text, add_special=add_special)
    return encoding.tally(), encoder.decode(encoding.ids_u32, skip_special=add_special) == text


def _add(numbers: TokenizerNumbers, label: str, tally: Tally, is_same: bool) -> None:
    counts = (tally.n_tokens, tally.n_unknown, tally.n_byte_fallback)
    numbers.total.add(*counts)
    numbers.by_language.setdefault(label, TokenSums()).add(*counts)
    numbers.by_script.update(tally.scripts)
    numbers.lengths[tally.n_tokens] += 1
    numbers.n_same += is_same
