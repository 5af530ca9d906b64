"""Everything the core refuses, as exceptions that carry a reason and its numbers, never user text.

`TokenizerError.reason` is the name of a reason in the service's error table (`proto/tokenwire/v1/error_reason.proto`),
so that a server maps core faults without looking at messages. `ArtifactError.reason` names what is wrong with an
artifact file; such a tokenizer is not served.
"""

from __future__ import annotations


class TokenizerError(ValueError):
    """A fault in one request: what came, the bound, and what to do."""

    reason = "INVALID_REQUEST"

    @property
    def metadata(self) -> dict[str, str]:
        """The numbers of the fault by name, as strings."""
        return {name: str(value) for name, value in vars(self).items()}


class InvalidUtf8Error(TokenizerError):
    """The bytes are not well-formed UTF-8 from `byte_position` on."""

    reason = "INVALID_UTF8"

    def __init__(self, byte_position: int) -> None:
        super().__init__(
            f"the text is not well-formed UTF-8 at byte {byte_position}; "
            "send valid UTF-8, or ask for ill-formed parts to be replaced"
        )
        self.byte_position = byte_position


class ControlTokenError(TokenizerError):
    """The text spells a control token and the policy is to reject."""

    reason = "CONTROL_TOKEN"

    def __init__(self, token: str, byte_start: int, byte_end: int) -> None:
        super().__init__(
            f"the text spells the control token {token} at bytes [{byte_start}, {byte_end}); "
            "remove it, encode it as text, or allow it"
        )
        self.token = token
        self.byte_start = byte_start
        self.byte_end = byte_end


class UnknownControlTokenError(TokenizerError):
    """A name in the set of allowed control tokens is none of this tokenizer's."""

    reason = "UNKNOWN_CONTROL_TOKEN"

    def __init__(self, n_known: int) -> None:
        super().__init__(
            f"a name in the allowed set is not one of this tokenizer's {n_known} control tokens; "
            "use the spellings in special_tokens"
        )
        self.n_known = n_known


class IdOutOfRangeError(TokenizerError):
    """The id at `index` is negative, past the vocabulary, or in a hole of it."""

    reason = "ID_OUT_OF_RANGE"

    def __init__(self, index: int, vocab_size: int) -> None:
        super().__init__(
            f"the id at index {index} is no token: it is not below {vocab_size}, or in a hole of the vocabulary; "
            "check that the ids come from this tokenizer"
        )
        self.index = index
        self.vocab_size = vocab_size


class BudgetTooSmallError(TokenizerError):
    """The token budget cannot hold what must be kept; `least` would do."""

    reason = "BUDGET_TOO_SMALL"

    def __init__(self, max_tokens: int, least: int) -> None:
        super().__init__(f"a budget of {max_tokens} tokens is too small; at least {least} are needed")
        self.max_tokens = max_tokens
        self.least = least


class TextTooLongError(TokenizerError):
    """The text has more bytes than this tokenizer's pattern is run on."""

    reason = "TEXT_TOO_LONG"

    def __init__(self, got: int, limit: int) -> None:
        super().__init__(f"the text has {got} bytes, the limit is {limit}; send it in smaller parts")
        self.got = got
        self.limit = limit


class NormalizedTooLongError(TokenizerError):
    """What the tokenizer's normalizer makes of the text is out of proportion to it."""

    reason = "TEXT_TOO_LONG"

    def __init__(self) -> None:
        super().__init__(
            "normalized, the text is over 1 MiB and more than 16 times as long as it came; send it in smaller parts"
        )


class UnknownTextError(TokenizerError):
    """The text has a character that the vocabulary has not, and the model no token for unknown text."""

    def __init__(self) -> None:
        super().__init__("the text has a character that this tokenizer has no token for; leave it out")


class PatternTooSlowError(TokenizerError):
    """Matching the tokenizer's own pattern took longer than the timeout."""

    reason = "PATTERN_TOO_SLOW"

    def __init__(self, limit_s: float) -> None:
        super().__init__(
            f"the tokenizer's pattern took more than {limit_s} s on this text; send it in smaller parts"
        )
        self.limit = limit_s


class ArtifactError(Exception):
    """An artifact is malformed, or does not prove itself; `reason` names the mistake, `line` or `path` where it is.

    Reasons: `EMPTY`, `BAD_LINE`, `BAD_BASE64`, `BAD_RANK`, `LINE_TOO_LONG`, `TOKEN_TOO_LONG`, `TOO_MANY_TOKENS`,
    `DUPLICATE_RANK`, `DUPLICATE_TOKEN`, `MISSING_BYTE`, `COLLIDING_SPECIAL`, `BAD_SPECIAL`,
    `UNKNOWN_CONTROL_TOKEN`, `BAD_CONTROL_TOKEN`, `MISSING_PATTERN`, `BAD_PATTERN`, `UNSUPPORTED_PATTERN`,
    `UNSUPPORTED_FORMAT`, `SELF_CHECK`.

    Of JSON: `TOO_LARGE`, `BAD_JSON`, `BAD_NUMBER`, `DUPLICATE_KEY`, `TOO_DEEP`, `MISSING_KEY`, `UNKNOWN_KEY`,
    `BAD_VALUE`.

    Of a tokenizer.json: `UNSUPPORTED_VERSION`, `UNSUPPORTED_STAGE` (a `type` no stage has, or stages that make no sense
    together), `UNSUPPORTED_OPTION` (dropout, sampling), `TOO_SLOW`, `TOO_MANY_STAGES`, `BAD_MERGE`, `BAD_TEMPLATE`,
    `BAD_ADDED_TOKEN`, `UNKNOWN_TOKEN` (one that is named but not in the vocabulary), `DUPLICATE_ID`.

    Of a SentencePiece model: `TRUNCATED`, `BAD_VARINT`, `BAD_FIELD`, `BAD_WIRE_TYPE`, `UNKNOWN_FIELD`, `BAD_UTF8`,
    `BAD_PIECE`, `BAD_SCORE`, `DUPLICATE_UNKNOWN`, `MISSING_UNKNOWN`, `BAD_CHARSMAP`, `UNSUPPORTED_MODEL`.
    """

    def __init__(
        self, reason: str, message: str, *, line: int | None = None, path: str | None = None
    ) -> None:
        where = f"line {line}: " if line is not None else f"{path}: " if path else ""
        super().__init__(where + message)
        self.reason = reason
        self.line = line
        self.path = path
