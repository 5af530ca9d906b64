"""The options of the calls: their types for the two clients, and the words of the wire they stand for."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, TypedDict, TypeVar

from tokenwire.v1 import tokenizer_pb2 as pb

T = TypeVar("T")

Text = str | bytes
"""A `str`, or UTF-8 as `bytes`."""
SpecialPolicy = Literal["text", "allow", "reject"] | AbstractSet[str]
OffsetUnit = Literal["byte", "codepoint", "utf16"]

SPECIAL = {
    "text": pb.SPECIAL_POLICY_AS_TEXT,
    "allow": pb.SPECIAL_POLICY_ALLOW,
    "reject": pb.SPECIAL_POLICY_REJECT,
}
INVALID = {"error": pb.INVALID_UTF8_POLICY_ERROR, "replace": pb.INVALID_UTF8_POLICY_REPLACE}
OFFSETS = {
    None: pb.OFFSET_UNIT_UNSPECIFIED,
    "byte": pb.OFFSET_UNIT_BYTE,
    "codepoint": pb.OFFSET_UNIT_CODEPOINT,
    "utf16": pb.OFFSET_UNIT_UTF16,
}
KEEP = {"start": pb.TRUNCATE_KEEP_START, "end": pb.TRUNCATE_KEEP_END}
CUT = {"token": pb.TRUNCATE_CUT_TOKEN, "grapheme": pb.TRUNCATE_CUT_GRAPHEME}
STATES: dict[int, Literal["loading", "ready", "failed"]] = {
    pb.TOKENIZER_STATE_LOADING: "loading",
    pb.TOKENIZER_STATE_READY: "ready",
    pb.TOKENIZER_STATE_FAILED: "failed",
}


class TextOptions(TypedDict, total=False):
    """Options of every call that takes text."""

    special: SpecialPolicy
    """What a control token's spelling in the text is: ordinary text (`text`, the default), the control id
    (`allow`), or an error (`reject`). A set of spellings: the control id for these, text for all others."""
    add_special: bool
    """Add the tokens of the tokenizer's template (BOS, EOS). Default off."""
    invalid: Literal["error", "replace"]
    """For `bytes`: ill-formed UTF-8 is an error (default), or U+FFFD for each maximal ill-formed part."""
    language: str | Sequence[str]
    """BCP 47 tag for the service's metrics: one for all texts, or one for each."""
    expect_digest: str
    """Raise DigestMismatchError unless the tokenizer has this digest."""


class PairOptions(TextOptions, total=False):
    pair: Text | Sequence[Text] | None
    """A second text, for tokenizers that take two; for a list of texts one for each. Default none."""


class EncodeOptions(PairOptions, total=False):
    offsets: OffsetUnit | None
    """The unit of `Encoding.offsets`. Default none."""
    reference_offsets: bool
    """With `offsets`: those of the tokenizer's reference implementation, oddities included."""
    token_bytes: bool
    """Also give the bytes of each token."""
    report_control_tokens: bool
    """Also give the control-token spellings in the text."""
    type_ids: bool
    """Also give the number that the template gives to each token's text."""
    special_tokens_mask: bool
    """Also tell for each token whether the template put it in."""
    word_ids: bool
    """Also give the number of each token's piece (pre-token) in its text."""
    sequence_ids: bool
    """Also tell which text of a pair each token comes from."""


class CountOptions(PairOptions, total=False):
    limit: int | None
    """Stop as soon as a text is known to have more tokens; the count is then a lower bound above `limit`."""


class CountDetailsOptions(CountOptions, total=False):
    context_size: int | None
    """Also answer whether each text fits a context of this many tokens."""
    reserved_output_tokens: int
    """How many of these are kept for the model's answer."""
    check_nfc: bool
    """Also answer whether each text is in Unicode normalization form C."""


class TruncateOptions(TextOptions, total=False):
    keep: Literal["start", "end"]
    """Which part is kept. Default `start`."""
    cut: Literal["token", "grapheme"]
    """Where the text may be cut. Default `grapheme`."""
    ids_only: bool
    """The exact first or last `max_tokens` ids and no text; only with `cut="token"`."""
    return_ids: bool
    """Also give the ids of the text kept."""


def choose(table: Mapping[Any, T], name: str, value: object) -> T:
    if value not in table:
        raise ValueError(f"{name} is none of {', '.join(repr(key) for key in table)}")
    return table[value]


def n_tokens(name: str, value: int) -> int:
    """A number of tokens as it can travel. Raises TypeError and ValueError with the option's name."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}") from None
    if not 0 <= number < 2**63:
        raise ValueError(f"{name} must be a number of tokens from 0 on, below 2**63")
    return number


def refuse_unknown(method: str, given: Mapping[str, object], known: type[TextOptions]) -> None:
    """Raises TypeError for the first option that `method` does not take."""
    options = known.__annotations__
    for name in given:
        if name not in options:
            raise TypeError(f"{method}() takes no option {name!r}; it takes {', '.join(options)}, timeout_s")
