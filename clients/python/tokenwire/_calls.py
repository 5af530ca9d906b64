"""Each call as data: the request to send and how to read its reply. Both clients share this; here is no I/O.

An input that cannot travel (a `str` with surrogates, an id beyond 64 bits) is refused here and not sent; its
error takes its place among the results, as the service's own would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from google.protobuf.message import EncodeError, Message

from tokenwire._info import tokenizer_info
from tokenwire._inputs import fill, id_fault, language_tags, second_texts, surrogate_fault
from tokenwire._options import (
    CUT,
    INVALID,
    KEEP,
    OFFSETS,
    SPECIAL,
    CountDetailsOptions,
    CountOptions,
    EncodeOptions,
    OffsetUnit,
    SpecialPolicy,
    Text,
    TruncateOptions,
    choose,
    n_tokens,
    refuse_unknown,
)
from tokenwire._results import ControlTokenMatch, Encoding, TokenCount, TokenizerInfo, Truncation
from tokenwire.errors import (
    InternalError,
    MessageTooLargeError,
    TokenwireError,
    error_from_status,
)
from tokenwire.v1 import tokenizer_pb2 as pb

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One RPC on `n_inputs` inputs, of which those in `faults` (by index) are not sent."""

    method: str
    request: Message
    n_inputs: int
    single: bool
    faults: dict[int, TokenwireError]
    read: Callable[[Any], Iterable[T | TokenwireError]]

    @property
    def has_nothing_to_send(self) -> bool:
        return len(self.faults) == self.n_inputs

    def payload(self, max_message_bytes: int) -> bytes:
        """The request as it travels. Raises `MessageTooLargeError`."""
        try:
            payload = self.request.SerializeToString()
        except EncodeError:  # protobuf makes no message of 2 GiB or more
            raise _too_large(2**31, max_message_bytes) from None
        if len(payload) > max_message_bytes:
            raise _too_large(len(payload), max_message_bytes)
        return payload

    def answer(self, reply: Message | None) -> T | list[T | TokenwireError]:
        """The value of a single input, or its error raised; for a list, values and errors in order.

        `reply` is None where nothing was to be sent.
        """
        return self.single_answer(reply) if self.single else self._results(reply)

    def single_answer(self, reply: Message | None) -> T:
        (result,) = self._results(reply)
        if isinstance(result, TokenwireError):
            raise result
        return result

    def _results(self, reply: Message | None) -> list[T | TokenwireError]:
        answered = [] if reply is None else list(self.read(reply))
        n_sent = self.n_inputs - len(self.faults)
        if len(answered) != n_sent:
            raise InternalError(f"the service answered {len(answered)} results for {n_sent} inputs")
        rest = iter(answered)
        return [self.faults[i] if i in self.faults else next(rest) for i in range(self.n_inputs)]


def encode(
    tokenizer: str,
    text: Text | Sequence[Text],
    *,
    pair: Text | Sequence[Text] | None = None,
    offsets: OffsetUnit | None = None,
    reference_offsets: bool = False,
    token_bytes: bool = False,
    report_control_tokens: bool = False,
    type_ids: bool = False,
    special_tokens_mask: bool = False,
    word_ids: bool = False,
    sequence_ids: bool = False,
    **options: Any,
) -> Call[Encoding]:
    refuse_unknown("encode", options, EncodeOptions)
    if reference_offsets and offsets is None:
        raise ValueError("reference_offsets says which offsets; give their unit as offsets too")
    request = pb.EncodeRequest(
        offsets=choose(OFFSETS, "offsets", offsets),
        reference_offsets=reference_offsets,
        token_bytes=token_bytes,
        report_control_tokens=report_control_tokens,
        type_ids=type_ids,
        special_tokens_mask=special_tokens_mask,
        word_ids=word_ids,
        sequence_ids=sequence_ids,
    )

    def read(reply: pb.EncodeResponse) -> Iterable[Encoding | TokenwireError]:
        for result in reply.results:
            got = _value_of(result)
            if isinstance(got, pb.Encoding):
                yield Encoding(
                    ids=list(got.ids),
                    digest=reply.digest,
                    offsets=None if offsets is None else list(zip(got.starts, got.ends, strict=True)),
                    partial_tokens=None if offsets is None else list(got.partial_tokens),
                    token_bytes=list(got.token_bytes) if token_bytes else None,
                    control_tokens=[
                        ControlTokenMatch(
                            match.token, match.id, match.byte_start, match.byte_end, match.sequence_id
                        )
                        for match in got.control_tokens
                    ]
                    if report_control_tokens
                    else None,
                    type_ids=list(got.type_ids) if type_ids else None,
                    special_tokens_mask=list(got.special_tokens_mask) if special_tokens_mask else None,
                    word_ids=_numbers(got.word_ids) if word_ids else None,
                    sequence_ids=_numbers(got.sequence_ids) if sequence_ids else None,
                )
            else:
                yield got

    return _text_call("Encode", request, tokenizer, text, pair, read, **options)


def count(tokenizer: str, text: Text | Sequence[Text], **options: Any) -> Call[int]:
    refuse_unknown("count", options, CountOptions)
    details = count_details(tokenizer, text, **options)

    def read(reply: pb.CountResponse) -> Iterable[int | TokenwireError]:
        for result in details.read(reply):
            yield result.n_tokens if isinstance(result, TokenCount) else result

    return Call("Count", details.request, details.n_inputs, details.single, details.faults, read)


def count_details(
    tokenizer: str,
    text: Text | Sequence[Text],
    *,
    pair: Text | Sequence[Text] | None = None,
    limit: int | None = None,
    context_size: int | None = None,
    reserved_output_tokens: int = 0,
    check_nfc: bool = False,
    **options: Any,
) -> Call[TokenCount]:
    refuse_unknown("count_details", options, CountDetailsOptions)
    if reserved_output_tokens and context_size is None:
        raise ValueError("reserved_output_tokens says how much of context_size is kept; give both")
    request = pb.CountRequest(
        limit=None if limit is None else n_tokens("limit", limit),
        context_size=None if context_size is None else n_tokens("context_size", context_size),
        reserved_output_tokens=n_tokens("reserved_output_tokens", reserved_output_tokens),
        check_nfc=check_nfc,
    )

    def read(reply: pb.CountResponse) -> Iterable[TokenCount | TokenwireError]:
        for result in reply.results:
            got = _value_of(result)
            if isinstance(got, pb.TokenCount):
                yield TokenCount(
                    n_tokens=got.n_tokens,
                    n_bytes=got.n_bytes,
                    n_codepoints=got.n_codepoints,
                    n_unknown=got.n_unknown,
                    n_byte_fallback=got.n_byte_fallback,
                    limit_exceeded=got.limit_exceeded,
                    digest=reply.digest,
                    fits=got.fits if got.HasField("fits") else None,
                    is_nfc=got.is_nfc if got.HasField("is_nfc") else None,
                )
            else:
                yield got

    return _text_call("Count", request, tokenizer, text, pair, read, **options)


def truncate(
    tokenizer: str,
    text: Text | Sequence[Text],
    max_tokens: int,
    *,
    keep: Literal["start", "end"] = "start",
    cut: Literal["token", "grapheme"] = "grapheme",
    ids_only: bool = False,
    return_ids: bool = False,
    **options: Any,
) -> Call[Truncation]:
    refuse_unknown("truncate", options, TruncateOptions)
    request = pb.TruncateRequest(
        max_tokens=n_tokens("max_tokens", max_tokens),
        keep=choose(KEEP, "keep", keep),
        cut=choose(CUT, "cut", cut),
        ids_only=ids_only,
        return_ids=return_ids,
    )

    def read(reply: pb.TruncateResponse) -> Iterable[Truncation | TokenwireError]:
        for result in reply.results:
            got = _value_of(result)
            if isinstance(got, pb.Truncation):
                yield Truncation(
                    text=got.text,
                    n_tokens=got.n_tokens,
                    n_tokens_before=got.n_tokens_before,
                    truncated=got.truncated,
                    digest=reply.digest,
                    kept=[(kept.start, kept.end) for kept in got.kept],
                    ids=list(got.ids) if ids_only or return_ids else None,
                )
            else:
                yield got

    return _text_call("Truncate", request, tokenizer, text, None, read, **options)


def decode(
    tokenizer: str,
    ids: Sequence[int] | Sequence[Sequence[int]],
    *,
    skip_special: bool = False,
    as_bytes: bool = False,
    reference: bool = False,
    language: str | Sequence[str] = "",
    expect_digest: str = "",
) -> Call[Any]:
    """An empty sequence is one input without ids, not a list without inputs."""
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__getitem__"):
        raise TypeError(f"ids must be a sequence of int, or a sequence of those, not {type(ids).__name__}")
    single = len(ids) == 0 or not hasattr(ids[0], "__len__")
    lists: list[Any] = [ids] if single else list(ids)
    languages = language_tags(language, len(lists))
    if reference and as_bytes:
        raise ValueError("reference is for text; give it or as_bytes")
    request = pb.DecodeRequest(
        tokenizer=tokenizer,
        expect_digest=expect_digest,
        skip_special=skip_special,
        as_bytes=as_bytes,
        reference=reference,
    )
    faults: dict[int, TokenwireError] = {}
    for i, one in enumerate(lists):
        entry = request.inputs.add(language=languages[i])
        try:
            entry.ids.extend(one)
        except ValueError:
            del request.inputs[-1]
            faults[i] = id_fault(one)

    def read(reply: pb.DecodeResponse) -> Iterable[Any]:
        for result in reply.results:
            yield _value_of(result)

    return Call("Decode", request, len(lists), single, faults, read)


def list_tokenizers() -> Call[list[TokenizerInfo]]:
    def read(reply: pb.ListTokenizersResponse) -> Iterable[list[TokenizerInfo]]:
        yield [tokenizer_info(info) for info in reply.tokenizers]

    return Call("ListTokenizers", pb.ListTokenizersRequest(), 1, True, {}, read)


def get_tokenizer(name: str, *, expect_digest: str = "") -> Call[TokenizerInfo]:
    def read(reply: pb.GetTokenizerResponse) -> Iterable[TokenizerInfo]:
        yield tokenizer_info(reply.tokenizer)

    request = pb.GetTokenizerRequest(tokenizer=name, expect_digest=expect_digest)
    return Call("GetTokenizer", request, 1, True, {}, read)


def _text_call(
    method: str,
    request: pb.EncodeRequest | pb.CountRequest | pb.TruncateRequest,
    tokenizer: str,
    text: Text | Sequence[Text],
    pair: Text | Sequence[Text] | None,
    read: Callable[[Any], Iterable[T | TokenwireError]],
    *,
    special: SpecialPolicy = "text",
    add_special: bool = False,
    invalid: Literal["error", "replace"] = "error",
    language: str | Sequence[str] = "",
    expect_digest: str = "",
) -> Call[T]:
    single = isinstance(text, (str, bytes))
    texts: Sequence[Text] = [text] if isinstance(text, (str, bytes)) else text
    if not isinstance(texts, Sequence):
        raise TypeError(f"text must be str, bytes or a sequence of them, not {type(text).__name__}")
    seconds = second_texts(pair, len(texts), single)
    languages = language_tags(language, len(texts))
    invalid_utf8 = choose(INVALID, "invalid", invalid)
    request.tokenizer = tokenizer
    request.expect_digest = expect_digest
    request.options.add_special = add_special
    if isinstance(special, str):
        request.options.special = choose(SPECIAL, "special", special)
    else:
        # On the wire ALLOW without names means all of them; an empty set allows none.
        request.options.special = pb.SPECIAL_POLICY_ALLOW if special else pb.SPECIAL_POLICY_AS_TEXT
        request.options.allowed_control_tokens.extend(sorted(special))
    faults: dict[int, TokenwireError] = {}
    for i, (one, other) in enumerate(zip(texts, seconds, strict=True)):
        for each in (one, "" if other is None else other):
            if not isinstance(each, str | bytes):
                raise TypeError(f"text {i} of the sequence must be str or bytes, not {type(each).__name__}")
        entry = request.inputs.add(language=languages[i])
        try:
            fill(entry, one, other, invalid_utf8)
        except UnicodeEncodeError as fault:
            del request.inputs[-1]
            faults[i] = surrogate_fault(fault.object, fault.start)
    return Call(method, request, len(texts), single, faults, read)


def _numbers(values: Iterable[int]) -> list[int | None]:
    """Where there is no number, -1 travels."""
    return [None if value < 0 else value for value in values]


def _too_large(n_bytes: int, limit: int) -> MessageTooLargeError:
    return MessageTooLargeError(
        f"the request has {n_bytes} bytes, the client's max_message_bytes is {limit};"
        " send fewer inputs in one request, or raise it here and message_bytes on the service",
        metadata={"limit": str(limit), "got": str(n_bytes)},
    )


def _value_of(result: Any) -> Any:
    """The set member of `outcome`: a message or a value, or the error as an exception (not raised)."""
    kind = result.WhichOneof("outcome")
    if kind is None:
        return InternalError("a result of the service has neither a value nor an error this client knows")
    if kind == "error":
        return error_from_status(result.error)
    return getattr(result, kind)
