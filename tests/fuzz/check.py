"""The law that every artifact is held to: it is refused by name, or it is a tokenizer that does what its twin does.

A breach is an exception: `BreachError`, or whatever else escapes. Time and memory are the runner's to watch.
"""

from __future__ import annotations

import random
import re
import signal
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Final

from tokenwire_core import Encoder
from tokenwire_core.describe import describe
from tokenwire_core.errors import ArtifactError, NormalizedTooLongError, PatternTooSlowError, TokenizerError
from tokenwire_core.load import read_spec
from tokenwire_core.pipeline import BytePairModel, Model, UnigramModel
from tokenwire_core.reference import ReferenceEncoder
from tokenwire_core.reference_pipeline import ReferencePipeline
from tokenwire_core.reference_sentencepiece import ReferenceSentencePiece
from tokenwire_core.sentencepiece_spec import PieceType
from tokenwire_core.spec import PipelineSpec, RankFileSpec, SentencePieceSpec, TokenizerSpec

from tests.fuzz.artifact import Artifact, Loader

REASONS: Final = frozenset(re.findall(r"`([A-Z0-9_]+)`", ArtifactError.__doc__ or ""))
"""The reasons that the class documents."""
MAX_MESSAGE: Final = 1000
MAX_TEXT: Final = 120
TWIN_S: Final = 1.0
"""The twins are slow, and quadratic: a text that takes one longer than this is not compared."""

TEXTS: Final = (
    "Hello wörld's 12,345  <s>",
    "aabab ba  ab",
    " é漢字\u0301▁▁a\n\n \tﬁＡ\u200b",
    "<|endoftext|>x<unk>[CLS] <0x41>😀👍🏽",
    "ababababcbabcb",
)

Watched = Callable[[], AbstractContextManager[None]]
Result = tuple[str, Any]
"""`ok` and what came, or the name of a TokenizerError."""


class BreachError(Exception):
    """Something does not keep the law: in which respect, and how."""

    def __init__(self, respect: str, message: str) -> None:
        super().__init__(f"{respect}: {message}")
        self.respect = respect


class _TooSlow(BaseException):
    """A twin has had its time; no Exception, so that nothing takes it for one of its own."""


def load(artifact: Artifact, loader: Loader) -> tuple[TokenizerSpec, Encoder] | str:
    """The tokenizer, or the reason why there is none.

    Raises:
        BreachError: a refusal without a documented reason, or one that goes on for pages.
        Whatever else the loader lets escape.
    """
    try:
        spec = read_spec(artifact.data, loader, **artifact.arguments())
        return spec, Encoder(spec)
    except ArtifactError as error:
        if error.reason not in REASONS:
            raise BreachError("reason", f"the reason {error.reason} is not documented") from error
        if len(str(error)) > MAX_MESSAGE:
            raise BreachError(
                "message", f"the message of {error.reason} has {len(str(error))} characters"
            ) from error
        return error.reason


def use(spec: TokenizerSpec, encoder: Encoder, texts: Iterable[str], watched: Watched = nullcontext) -> None:
    """Encode, count, place and decode texts, as the twin does. Our own part of it is done while `watched`.

    Raises:
        BreachError: there is a difference, or a result that contradicts itself.
        Whatever else escapes.
    """
    describe(spec)
    twin = _TWINS[type(spec)](spec, encoder)
    for text in texts:
        for special in ("text", "allow"):
            for add_special in (False, True):
                with watched():
                    ours = _ours(encoder, twin, text, special, add_special)
                _compare(ours, twin, text, special, add_special)


def texts(artifact: Artifact, spec: TokenizerSpec, n_fixed: int = 2) -> Iterator[str]:
    """Some of the fixed texts, and two made of the vocabulary's own spellings; the same ones for the same artifact."""
    rng = random.Random(zlib.crc32(artifact.data))
    tokens = [token.decode(errors="ignore")[:MAX_TEXT] for _, token in spec.tokens()]
    for glue in ("", " "):
        yield glue.join(rng.choices(tokens, k=8)).replace("▁", rng.choice("▁ "))[:MAX_TEXT]
    yield from rng.sample(TEXTS, n_fixed)


@dataclass(frozen=True, slots=True)
class _Ours:
    """What our encoder makes of a text, all of it."""

    what: str
    encoded: Result
    count: Result
    ids: list[int] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    places: tuple[str, Any] = ("ok", ())
    decoded: tuple[Any, ...] = ()


def _ours(encoder: Encoder, twin: _Twin, text: str, special: Any, add_special: bool) -> _Ours:
    what = f"{text!a}, special={special!r}, add_special={add_special}"
    encoded = _result(lambda: encoder.encode(text, special=special, add_special=add_special))
    count = _result(lambda: encoder.count(text, special=special, add_special=add_special))
    if encoded[0] != "ok":
        return _Ours(what, encoded, count)
    encoding = encoded[1]
    return _Ours(
        *(what, encoded, count, encoding.ids, encoding.offsets()),
        places=_result(lambda: encoding.offsets(twin.unit, reference=True)),
        decoded=tuple(twin.decode_ours(encoding.ids, skip_special) for skip_special in (False, True)),
    )


def _compare(ours: _Ours, twin: _Twin, text: str, special: Any, add_special: bool) -> None:
    what = ours.what
    if ours.encoded[0] in (NormalizedTooLongError.__name__, PatternTooSlowError.__name__):
        return
    expected = _in_time(lambda: twin.ids(text, special, add_special)) if twin.knows(text, special) else None
    if ours.encoded[0] != "ok":
        _same(what, "count fails as encode", ours.count, ours.encoded)
        if expected is not None:
            _same(what, "error", ours.encoded, expected)
        return
    _same(what, "count", ours.count, ("ok", len(ours.ids)))
    n_bytes = len(text.encode())
    for start, end in ours.spans:
        if not 0 <= start <= end <= n_bytes:
            raise BreachError("span", f"{what}: a token at [{start}, {end}) of {n_bytes} bytes")
    if expected is not None:
        _same(what, "ids", ("ok", ours.ids), expected)
        # An error says that the places are not known.
        places = (
            None if add_special or ours.places[0] != "ok" else _in_time(lambda: twin.places(text, special))
        )
        if places is not None:
            _same(what, "places", ours.places, places)
    for skip_special, decoded in zip((False, True), ours.decoded, strict=True):
        wanted = _in_time(lambda skip=skip_special: twin.decode(ours.ids, skip))  # type: ignore[misc]
        if wanted is not None:
            _same(what, f"decode with skip_special={skip_special}", ("ok", decoded), wanted)


class _Twin:
    """What the slow twin of a format says, by names that all have in common."""

    unit: Any = "byte"

    def __init__(self, spec: Any, encoder: Encoder) -> None:
        self.spec = spec
        self.encoder = encoder
        self.control_ids = frozenset(encoder.control_tokens.values())

    def knows(self, _text: str, _special: str) -> bool:
        """Whether the twin has this text and policy."""
        return True

    def ids(self, text: str, special: Any, add_special: bool) -> Any:
        raise NotImplementedError

    def places(self, text: str, special: Any) -> Any:
        raise NotImplementedError

    def decode(self, ids: list[int], skip_special: bool) -> Any:
        raise NotImplementedError

    def decode_ours(self, ids: list[int], skip_special: bool) -> Any:
        return self.encoder.decode(ids, skip_special)


class _RankFileTwin(_Twin):
    def __init__(self, spec: RankFileSpec, encoder: Encoder) -> None:
        super().__init__(spec, encoder)
        self.twin = ReferenceEncoder(spec)

    def ids(self, text: str, special: Any, _add_special: bool) -> Any:
        return self.twin.encode(text, special)

    def places(self, text: str, special: Any) -> Any:
        return self.twin.byte_offsets(text, special)

    def decode(self, ids: list[int], skip_special: bool) -> Any:
        kept = [id for id in ids if not (skip_special and id in self.control_ids)]
        return self.twin.decode_bytes(kept)

    def decode_ours(self, ids: list[int], skip_special: bool) -> Any:
        self.encoder.decode(ids, skip_special)
        return self.encoder.decode_bytes(ids, skip_special)


class _PipelineTwin(_Twin):
    """As the reference, but its model does not have the entries of control tokens: there a text could spell them."""

    unit = "codepoint"

    def __init__(self, spec: PipelineSpec, encoder: Encoder) -> None:
        super().__init__(spec, encoder)
        self.twin = ReferencePipeline(
            replace(spec.pipeline, model=_without(spec.pipeline.model, self.control_ids))
        )
        self.decoding_twin = ReferencePipeline(spec.pipeline)

    def ids(self, text: str, special: Any, add_special: bool) -> Any:
        return self.twin.encode(text, special, add_special).ids

    def places(self, text: str, special: Any) -> Any:
        return self.twin.encode(text, special).spans

    def decode(self, ids: list[int], skip_special: bool) -> Any:
        return self.decoding_twin.decode(ids, skip_special)


def _without(model: Model, ids: frozenset[int]) -> Model:
    """A model that has these entries under names that no text has, and no merges with them."""
    if isinstance(model, UnigramModel):
        pieces = (
            ("\0" * 200 + text if id in ids else text, score) for id, (text, score) in enumerate(model.pieces)
        )
        return replace(model, pieces=tuple(pieces))
    hidden = {text for text, id in model.vocab.items() if id in ids}
    vocab = {"\0" * 200 + text if text in hidden else text: id for text, id in model.vocab.items()}
    if not isinstance(model, BytePairModel):
        return replace(model, vocab=vocab)
    merges = (
        (left, right)
        for left, right in model.merges
        if hidden.isdisjoint((left, right, left + right[len(model.prefix) :]))
    )
    return replace(model, vocab=vocab, merges=tuple(merges))


class _SentencePieceTwin(_Twin):
    """Its control tokens come from no text at all."""

    def __init__(self, spec: SentencePieceSpec, encoder: Encoder) -> None:
        super().__init__(spec, encoder)
        model = spec.sentencepiece
        pieces = (
            piece._replace(type=PieceType.CONTROL) if piece.text in spec.chosen_control_tokens else piece
            for piece in model.pieces
        )
        self.twin = ReferenceSentencePiece(replace(model, pieces=tuple(pieces)))
        # A control piece that the caller has chosen is one where control pieces are left out, else it is text.
        self.decoding_twin = ReferenceSentencePiece(model)
        self.begin = [] if model.bos_id is None else [model.bos_id]
        self.end = [] if model.eos_id is None else [model.eos_id]

    def knows(self, text: str, special: str) -> bool:
        return special == "text" or not any(token in text for token in self.encoder.control_tokens)

    def ids(self, text: str, _special: Any, add_special: bool) -> Any:
        ids = [token.id for token in self.twin.encode(text)]
        return [*self.begin, *ids, *self.end] if add_special else ids

    def places(self, text: str, _special: Any) -> Any:
        return [(token.byte_start, token.byte_end) for token in self.twin.encode(text)]

    def decode(self, ids: list[int], skip_special: bool) -> Any:
        return (self.twin if skip_special else self.decoding_twin).decode(ids)


_TWINS: Final[dict[type, type[_Twin]]] = {
    RankFileSpec: _RankFileTwin,
    PipelineSpec: _PipelineTwin,
    SentencePieceSpec: _SentencePieceTwin,
}


def _same(what: str, name: str, found: Result, expected: Result) -> None:
    if found != expected:
        raise BreachError(name, f"{what}: {found!r:.600} instead of {expected!r:.600}")


def _result(function: Callable[[], object]) -> Result:
    try:
        return "ok", function()
    except TokenizerError as error:
        return type(error).__name__, None


def _in_time(function: Callable[[], object]) -> Result | None:
    """What a twin says; None if it takes too long."""
    try:
        with _time_limit(TWIN_S):
            return _result(function)
    except (_TooSlow, MemoryError, RecursionError):
        return None


@contextmanager
def _time_limit(limit_s: float) -> Iterator[None]:
    """Raise _TooSlow in this block after so much CPU time."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
