"""The service's methods: request bytes in, response bytes out, knowing nothing of the transport.

Every method on inputs has one shape: find the tokenizer, read what concerns the whole request (faults there
are the RPC's), then answer input by input in order. A fault in one input becomes that result's error and
leaves the others intact. Between inputs, and between the messages of a stream, the call is asked whether it still
wants an answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from tokenwire.v1 import tokenizer_pb2 as pb
from tokenwire_core import Encoder
from tokenwire_core.errors import TokenizerError
from tokenwire_core.ledger import InputUsage
from tokenwire_core.tally import Tally

from tokenwire_server import (
    artifacts,
    counting,
    errors,
    language,
    logs,
    requests,
    tokenizer_info,
    wire_messages,
)
from tokenwire_server.artifacts import ProofError
from tokenwire_server.call import Call, Method, StreamMethod
from tokenwire_server.catalogue import Catalogue
from tokenwire_server.detector import Detector
from tokenwire_server.errors import Fault
from tokenwire_server.limits import KIB, Limits
from tokenwire_server.manifest import TokenizerConfig
from tokenwire_server.requests import Text

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["TokenizerService"].full_name
_MAX_BUDGET = 2**31 - 1  # More tokens than any text can have; larger budgets mean the same.
_PART_BYTES = 256 * KIB  # Of an artifact in one message.
_FRAMING_BYTES = 16  # More than the tag and length of one field take.
_PER_TOKEN = ("type_ids", "special_tokens_mask", "word_ids", "sequence_ids")
"""What there may be of each token beside its id and offsets: options of a request, and attributes of an encoding."""
_EXTEND_STEP = 1 << 16  # So that other threads get a turn while a million numbers go into a message.

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT", pb.EncodeResult, pb.DecodeResult, pb.CountResult, pb.TruncateResult)


class TokenizerService:
    """The methods of `tokenwire.v1.TokenizerService` on one catalogue. Holds no state of its own."""

    def __init__(self, catalogue: Catalogue, limits: Limits, detector: Detector | None = None) -> None:
        self._catalogue = catalogue
        self._limits = limits
        self._detector = detector

    def methods(self) -> dict[str, tuple[str, Method]]:
        """Each unary RPC by its name: the name of its operation in the metrics, and the method."""
        return {
            "Encode": ("encode", self.encode),
            "Decode": ("decode", self.decode),
            "Count": ("count", self.count),
            "Truncate": ("truncate", self.truncate),
            "ListTokenizers": ("list_tokenizers", self.list_tokenizers),
            "GetTokenizer": ("get_tokenizer", self.get_tokenizer),
        }

    def streams(self) -> dict[str, tuple[str, StreamMethod]]:
        """Each RPC that is answered by a stream, as in `methods`."""
        return {"GetArtifact": ("get_artifact", self.get_artifact)}

    def may_run_long(self, data: bytes) -> bool:
        """Whether even a short text of this request may take long: a pattern on the regex engine may backtrack."""
        catalogue = self._catalogue
        return catalogue.has_regex() and catalogue.is_regex(wire_messages.tokenizer_named(data))

    def encode(self, data: bytes, call: Call) -> bytes:
        """EncodeRequest → EncodeResponse."""
        requests.check_fields(data, self._limits)
        request = wire_messages.parse(wire_messages.EncodeRequest, data)
        encoder = self._encoder(request, call)
        options = requests.options(request.options, encoder)
        unit = requests.offset_unit(request)
        more = [name for name in _PER_TOKEN if getattr(request, name)]
        max_bytes = requests.max_text_bytes(encoder, self._limits)

        def answer(item: pb.Input, result: pb.EncodeResult) -> tuple[InputUsage, int]:
            text = requests.text(item, max_bytes)
            encoding = encoder.encode(
                text.utf8,
                text.pair,
                special=options.special,
                add_special=options.add_special,
                invalid=text.invalid,
            )
            message = result.encoding
            message.SetInParent()
            size = len(encoding) * ((3 if unit else 1) + len(more))  # At least one byte for each number.
            self._check_response(size)
            _extend(message.ids, encoding.ids_u32)
            if unit:
                starts, ends = encoding.spans(unit, reference=request.reference_offsets)
                _extend(message.starts, starts)
                _extend(message.ends, ends)
                if not request.reference_offsets:
                    message.partial_tokens.extend(encoding.partial_tokens())
            for name in more:
                numbers = getattr(encoding, name)
                _extend(getattr(message, name), [-1 if number is None else number for number in numbers])
            if request.token_bytes:
                pieces = encoding.token_bytes()
                size += sum(map(len, pieces)) + 2 * len(pieces)
                message.token_bytes.extend(pieces)
            if request.report_control_tokens:
                for index, utf8 in enumerate(text.both):
                    for token, token_id, start, end in encoder.find_control_tokens(utf8, text.invalid):
                        message.control_tokens.add(
                            token=token, id=token_id, byte_start=start, byte_end=end, sequence_id=index
                        )
            return self._usage_of(text, encoding.tally()), size

        response = pb.EncodeResponse(digest=encoder.digest)
        self._each(call, request.inputs, response.results.add, answer)
        return response.SerializeToString()

    def decode(self, data: bytes, call: Call) -> bytes:
        """DecodeRequest → DecodeResponse."""
        requests.check_fields(data, self._limits)
        request = wire_messages.parse(wire_messages.DecodeRequest, data)
        encoder = self._encoder(request, call)
        max_ids = self._limits.decode_ids
        if request.reference and request.as_bytes:
            raise Fault("INVALID_REQUEST", "`reference` is for text; leave `as_bytes` or it unset")

        def answer(item: pb.TokenIds, result: pb.DecodeResult) -> tuple[InputUsage, int]:
            if len(item.ids) > max_ids:
                raise Fault(
                    "TOO_MANY_IDS",
                    f"the input has {len(item.ids)} ids, the limit is {max_ids}; send them in smaller parts",
                    {"limit": max_ids, "got": len(item.ids)},
                )
            ids = list(item.ids)
            if request.as_bytes:
                utf8 = encoder.decode_bytes(ids, request.skip_special)
                text = utf8.decode("utf-8", "replace")
                self._check_response(len(utf8))
                result.utf8 = utf8
            else:
                text = encoder.decode(ids, request.skip_special, request.reference)
                utf8 = text.encode()
                self._check_response(len(utf8))
                result.text = text
            label, decided_by = language.label(item.language, utf8, self._detector)
            return InputUsage(label, decided_by, len(utf8), len(text), Tally(len(ids), 0, 0, {})), len(utf8)

        response = pb.DecodeResponse(digest=encoder.digest)
        self._each(call, request.inputs, response.results.add, answer)
        return response.SerializeToString()

    def count(self, data: bytes, call: Call) -> bytes:
        """CountRequest → CountResponse."""
        requests.check_fields(data, self._limits)
        request = wire_messages.parse(wire_messages.CountRequest, data)
        encoder = self._encoder(request, call)
        options = requests.options(request.options, encoder)
        max_bytes = requests.max_text_bytes(encoder, self._limits)
        asks_fit = request.HasField("context_size")
        room = request.context_size - request.reserved_output_tokens
        limit = request.limit if request.HasField("limit") else None
        # Whether it fits must be known exactly, so counting goes on to whichever bound is further.
        walk_to = None if limit is None else min(max(limit, room if asks_fit else 0), _MAX_BUDGET)

        def answer(item: pb.Input, result: pb.CountResult) -> tuple[InputUsage, int]:
            text = requests.text(item, max_bytes)
            tally = counting.tally(encoder, text, options, walk_to)
            n_tokens = tally.n_tokens
            message = result.count
            message.SetInParent()
            message.n_tokens = n_tokens
            used = self._usage_of(text, tally)
            message.n_bytes = used.n_bytes
            message.n_codepoints = used.n_characters
            message.limit_exceeded = limit is not None and n_tokens > limit
            if not message.limit_exceeded:
                message.n_unknown, message.n_byte_fallback = tally.n_unknown, tally.n_byte_fallback
            if asks_fit:
                message.fits = n_tokens <= room
            if request.check_nfc:
                texts = (utf8.decode("utf-8", "replace") for utf8 in text.both)
                message.is_nfc = all(unicodedata.is_normalized("NFC", each) for each in texts)
            return used, 0

        response = pb.CountResponse(digest=encoder.digest)
        self._each(call, request.inputs, response.results.add, answer)
        return response.SerializeToString()

    def truncate(self, data: bytes, call: Call) -> bytes:
        """TruncateRequest → TruncateResponse."""
        requests.check_fields(data, self._limits)
        request = wire_messages.parse(wire_messages.TruncateRequest, data)
        encoder = self._encoder(request, call)
        options = requests.options(request.options, encoder)
        keep, cut = requests.truncation(request)
        max_bytes = requests.max_text_bytes(encoder, self._limits)

        def answer(item: pb.Input, result: pb.TruncateResult) -> tuple[InputUsage, int]:
            text = requests.one_text(item, max_bytes)
            kept = encoder.truncate(
                text.utf8,
                min(request.max_tokens, _MAX_BUDGET),
                keep=keep,
                cut=cut,
                ids_only=request.ids_only,
                special=options.special,
                add_special=options.add_special,
                invalid=text.invalid,
            )
            message = result.truncation
            message.SetInParent()
            message.n_tokens = kept.n_tokens
            message.n_tokens_before = kept.n_tokens_before
            message.truncated = kept.truncated
            size = 0
            if not request.ids_only:
                message.text = kept.text
                size += len(kept.text)
                for start, end in kept.kept:
                    message.kept.add(start=start, end=end)
            if request.ids_only or request.return_ids:
                size += len(kept.ids)
                self._check_response(size)
                _extend(message.ids, kept.ids)
            return self._usage_of(text, counting.tally(encoder, text, options)), size

        response = pb.TruncateResponse(digest=encoder.digest)
        self._each(call, request.inputs, response.results.add, answer)
        return response.SerializeToString()

    def list_tokenizers(self, data: bytes, _call: Call) -> bytes:
        """ListTokenizersRequest → ListTokenizersResponse."""
        wire_messages.parse(pb.ListTokenizersRequest, data)
        tokenizers = [tokenizer_info.info(entry, self._limits) for entry in self._catalogue.entries()]
        return pb.ListTokenizersResponse(tokenizers=tokenizers).SerializeToString()

    def get_tokenizer(self, data: bytes, _call: Call) -> bytes:
        """GetTokenizerRequest → GetTokenizerResponse."""
        request = wire_messages.parse(wire_messages.GetTokenizerRequest, data)
        if request.expect_digest:
            self._catalogue.find(request.tokenizer, request.expect_digest)
        info = tokenizer_info.info(self._catalogue.entry(request.tokenizer), self._limits)
        return pb.GetTokenizerResponse(tokenizer=info).SerializeToString()

    def get_artifact(self, data: bytes, call: Call) -> Iterator[bytes]:
        """GetArtifactRequest → GetArtifactResponse, the header and then the bytes from the offset on.

        The file is read anew each time, and checked whole against its pin before the first byte is sent.
        """
        request = wire_messages.parse(pb.GetArtifactRequest, data)
        call.tokenizer, encoder = self._catalogue.find(request.tokenizer, request.expect_digest)
        config = self._catalogue.entry(call.tokenizer).config
        artifact = self._read_artifact(config)
        call.hold(len(artifact))  # Counted only now, when its size is known.
        if request.offset > len(artifact):
            raise Fault(
                "INVALID_REQUEST",
                f"the offset {request.offset} is beyond the end of the artifact, which has {len(artifact)} bytes; "
                "start from 0",
            )
        header = pb.ArtifactHeader(
            digest=encoder.digest,
            format=config.format,
            sha256=config.sha256,
            n_bytes=len(artifact),
            pattern=config.pattern or "",
            control_tokens=config.control_tokens or (),
        )
        tokenizer_info.add_by_id(header.special_tokens, config.special_tokens or {})
        yield pb.GetArtifactResponse(header=header).SerializeToString()
        step = max(1, min(_PART_BYTES, self._limits.message_bytes - _FRAMING_BYTES))
        for start in range(request.offset, len(artifact), step):
            call.check()
            yield pb.GetArtifactResponse(data=artifact[start : start + step]).SerializeToString()

    def _read_artifact(self, config: TokenizerConfig) -> bytes:
        try:
            return artifacts.read_pinned(config, self._limits.artifact_bytes)
        except ProofError as error:
            logs.error("artifact_unavailable", tokenizer=config.name, failure=f"{error.reason}: {error}")
            raise Fault(
                "ARTIFACT_UNAVAILABLE",
                f"the artifact of {config.name} is no longer on the disk of this service as it was proven "
                f"({error.reason}); have the file restored there, or ask another instance",
                {"tokenizer": config.name},
            ) from None

    def _encoder(self, request: Any, call: Call) -> Encoder:
        """The encoder a request names, once its number of inputs is known to be within the limit."""
        call.tokenizer, encoder = self._catalogue.find(request.tokenizer, request.expect_digest)
        requests.check_inputs(len(request.inputs), self._limits)
        return encoder

    def _each(
        self,
        call: Call,
        inputs: Iterable[ItemT],
        add_result: Callable[[], ResultT],
        answer: Callable[[ItemT, ResultT], tuple[InputUsage, int]],
    ) -> None:
        """Answer each input in order.

        `answer` fills the result, and gives what it took and the least size in bytes of what it filled in.
        """
        response_bytes = 0
        for item in inputs:
            call.check()
            result = add_result()
            try:
                used, size = answer(item, result)
            except TokenizerError as error:
                _fail(result, errors.from_core(error), call)
            except Fault as fault:
                if fault.reason == "MESSAGE_TOO_LARGE":
                    raise
                _fail(result, fault, call)
            else:
                call.usage.append(used)
                response_bytes += size
                self._check_response(response_bytes)

    def _usage_of(self, text: Text, tally: Tally) -> InputUsage:
        """What a text took that the core accepted."""
        label, decided_by = language.label(text.language, text.utf8, self._detector)
        n_bytes, n_characters = text.n_bytes(), text.n_characters()
        return InputUsage(label, decided_by, n_bytes, n_characters, tally)

    def _check_response(self, at_least_bytes: int) -> None:
        """Stop early where the response is bound to be over the limit; the guard checks its exact size."""
        if at_least_bytes > self._limits.message_bytes:
            raise errors.message_too_large("response", at_least_bytes, self._limits.message_bytes)


def _fail(result: ResultT, fault: Fault, call: Call) -> None:
    result.Clear()
    result.error.CopyFrom(fault.status())
    call.input_faults.append(fault.reason)


def _extend(field: Any, numbers: Sequence[int] | memoryview) -> None:
    for start in range(0, len(numbers), _EXTEND_STEP):
        field.extend(numbers[start : start + _EXTEND_STEP])
