"""Requests: what the fields of a text request ask for, checked, in the words of the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeVar

from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_core import Encoder, InvalidPolicy, OffsetUnit, SpecialPolicy
from tokenwire_core.utf8 import count_codepoints, repair

from tokenwire_server.errors import Fault
from tokenwire_server.limits import Limits
from tokenwire_server.wire_messages import count_fields, pair_text_bytes, text_bytes

WordT = TypeVar("WordT")

MAX_ALLOWED_CONTROL_TOKENS = 4096
_FEW_FIELDS = 1 << 16  # Takes some milliseconds to count and some megabytes to parse.

_SPECIAL: Mapping[int, Literal["text", "allow", "reject"]] = MappingProxyType(
    {
        pb.SPECIAL_POLICY_UNSPECIFIED: "text",
        pb.SPECIAL_POLICY_AS_TEXT: "text",
        pb.SPECIAL_POLICY_ALLOW: "allow",
        pb.SPECIAL_POLICY_REJECT: "reject",
    }
)
_INVALID: Mapping[int, InvalidPolicy] = MappingProxyType(
    {
        pb.INVALID_UTF8_POLICY_UNSPECIFIED: "error",
        pb.INVALID_UTF8_POLICY_ERROR: "error",
        pb.INVALID_UTF8_POLICY_REPLACE: "replace",
    }
)
_UNITS: Mapping[int, OffsetUnit | None] = MappingProxyType(
    {
        pb.OFFSET_UNIT_UNSPECIFIED: None,
        pb.OFFSET_UNIT_BYTE: "byte",
        pb.OFFSET_UNIT_CODEPOINT: "codepoint",
        pb.OFFSET_UNIT_UTF16: "utf16",
    }
)
_KEEP: Mapping[int, Literal["start", "end"]] = MappingProxyType(
    {pb.TRUNCATE_KEEP_UNSPECIFIED: "start", pb.TRUNCATE_KEEP_START: "start", pb.TRUNCATE_KEEP_END: "end"}
)
_CUT: Mapping[int, Literal["token", "grapheme"]] = MappingProxyType(
    {
        pb.TRUNCATE_CUT_UNSPECIFIED: "grapheme",
        pb.TRUNCATE_CUT_TOKEN: "token",
        pb.TRUNCATE_CUT_GRAPHEME: "grapheme",
    }
)


@dataclass(frozen=True, slots=True)
class Text:
    """One text of a request, or a pair. `utf8` and `pair` are as sent, not yet checked.

    `pair` is None where there is one text; `language` is the declared tag or empty.
    """

    utf8: bytes
    invalid: InvalidPolicy
    language: str
    pair: bytes | None = None

    @property
    def both(self) -> tuple[bytes, ...]:
        """The one text or the two."""
        return (self.utf8,) if self.pair is None else (self.utf8, self.pair)

    def n_bytes(self) -> int:
        """The size of all that was sent."""
        return len(self.utf8) if self.pair is None else len(self.utf8) + len(self.pair)

    def n_characters(self) -> int:
        """How many code points the text has that the core accepted: ill-formed parts count as they are replaced."""
        if self.invalid == "error" and self.pair is None:
            return count_codepoints(self.utf8)
        return sum(
            [count_codepoints(utf8 if self.invalid == "error" else repair(utf8)[0]) for utf8 in self.both]
        )


@dataclass(frozen=True, slots=True)
class Options:
    """How text becomes ids, for every input of a request."""

    special: SpecialPolicy
    add_special: bool


def check_fields(data: bytes, limits: Limits) -> None:
    """Refuse what would take long to parse only to be refused. Raises TOO_MANY_INPUTS and INVALID_REQUEST."""
    most = limits.inputs + _FEW_FIELDS
    if len(data) <= 2 * most:  # No field is shorter.
        return
    n_fields, n_inputs, n_allowed = count_fields(data, most)
    check_inputs(n_inputs, limits)
    _check_allowed(n_allowed)
    if n_fields > most:
        raise Fault(
            "INVALID_REQUEST",
            f"the request has more than {most} fields; send each field that is not repeated once",
        )


def _check_allowed(n_allowed: int) -> None:
    if n_allowed > MAX_ALLOWED_CONTROL_TOKENS:
        raise Fault(
            "INVALID_REQUEST",
            f"the request has {n_allowed} allowed_control_tokens, the limit is {MAX_ALLOWED_CONTROL_TOKENS}; "
            "name each once, or allow all by naming none",
        )


def check_inputs(n_inputs: int, limits: Limits) -> None:
    """Raises TOO_MANY_INPUTS over the limit. Where a request has very many, `n_inputs` are those counted so far."""
    if n_inputs > limits.inputs:
        raise Fault(
            "TOO_MANY_INPUTS",
            f"the request has {n_inputs} inputs, the limit is {limits.inputs}; send them in several requests",
            {"limit": limits.inputs, "got": n_inputs},
        )


def options(message: pb.EncodeOptions, encoder: Encoder) -> Options:
    """The options of a request. Raises INVALID_REQUEST and UNKNOWN_CONTROL_TOKEN."""
    special: SpecialPolicy = _word(_SPECIAL, message.special, "options.special")
    _check_allowed(len(message.allowed_control_tokens))
    if message.allowed_control_tokens:
        if special != "allow":
            raise Fault(
                "INVALID_REQUEST",
                "allowed_control_tokens has a meaning with the policy ALLOW only; set it, or name none",
            )
        special = frozenset(message.allowed_control_tokens)
        if not special <= encoder.control_tokens.keys():
            raise Fault(
                "UNKNOWN_CONTROL_TOKEN",
                f"a name in allowed_control_tokens is not one of the {len(encoder.control_tokens)} control "
                "tokens of this tokenizer; GetTokenizer lists them",
            )
    return Options(special, message.add_special)


def text(item: pb.Input, max_bytes: int) -> Text:
    """The text of an input, or its pair. Raises INVALID_REQUEST and TEXT_TOO_LONG, faults of this input."""
    invalid: InvalidPolicy = "error"
    pair: bytes | None = None
    content, pair_content = item.WhichOneof("content"), item.WhichOneof("pair")
    if pair_content not in (None, f"pair_{content}"):
        raise Fault(
            "INVALID_REQUEST",
            f"the second text of a pair is of the kind of the first; set `{content or 'text'}` with `pair_text`, or "
            "`utf8` with `pair_utf8`",
        )
    match content:
        case "text":
            utf8 = text_bytes(item)
            pair = None if pair_content is None else pair_text_bytes(item)
            if item.invalid_utf8 != pb.INVALID_UTF8_POLICY_UNSPECIFIED:
                raise Fault(
                    "INVALID_REQUEST",
                    "invalid_utf8 is for `utf8` only; send the bytes there, or leave it unset",
                )
        case "utf8":
            utf8 = item.utf8
            pair = None if pair_content is None else item.pair_utf8
            invalid = _word(_INVALID, item.invalid_utf8, "invalid_utf8")
        case _:
            raise Fault("INVALID_REQUEST", "the input is empty of content; set `text` or `utf8`")
    made = Text(utf8, invalid, item.language, pair)
    for each in made.both:
        _check_size(each, invalid, max_bytes)
    return made


def _check_size(utf8: bytes, invalid: InvalidPolicy, max_bytes: int) -> None:
    n_bytes = len(utf8)
    if invalid == "replace" and n_bytes <= max_bytes:
        n_bytes = len(repair(utf8)[0])  # a replaced byte becomes three
    if n_bytes > max_bytes:
        raise Fault(
            "TEXT_TOO_LONG",
            f"the text has {n_bytes} bytes, the limit is {max_bytes}; send it in smaller parts",
            {"limit": max_bytes, "got": n_bytes},
        )


def one_text(item: pb.Input, max_bytes: int) -> Text:
    """`text`, where a pair has no meaning. Raises the same."""
    if item.WhichOneof("pair") is not None:
        raise Fault("INVALID_REQUEST", "a pair of texts has no meaning here; send the texts one by one")
    return text(item, max_bytes)


def max_text_bytes(encoder: Encoder, limits: Limits) -> int:
    """The longest text accepted for this tokenizer, in bytes."""
    bounds = [limits.text_bytes]
    if encoder.splitter == "regex":
        bounds.append(limits.regex_text_bytes)
    if encoder.max_text_bytes is not None:
        bounds.append(encoder.max_text_bytes)
    return min(bounds)


def offset_unit(message: pb.EncodeRequest) -> OffsetUnit | None:
    """The unit of offsets asked for, None for no offsets. Raises INVALID_REQUEST."""
    unit = _word(_UNITS, message.offsets, "offsets")
    if message.reference_offsets and unit is None:
        raise Fault(
            "INVALID_REQUEST", "reference_offsets says which offsets; set `offsets` to their unit too"
        )
    return unit


def truncation(message: pb.TruncateRequest) -> tuple[Literal["start", "end"], Literal["token", "grapheme"]]:
    """Which part to keep and where to cut. Raises INVALID_REQUEST."""
    keep = _word(_KEEP, message.keep, "keep")
    cut = _word(_CUT, message.cut, "cut")
    if message.ids_only and cut != "token":
        raise Fault("INVALID_REQUEST", "ids_only goes with cut TOKEN only; set `cut`, or ask for text")
    return keep, cut


def _word(words: Mapping[int, WordT], number: int, name: str) -> WordT:
    if number not in words:
        raise Fault("INVALID_REQUEST", f"`{name}` has the value {number}, which this version does not know")
    return words[number]
