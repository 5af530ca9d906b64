"""Exact, compiled tokenizers as a library: an artifact's bytes in, an `Encoder` out.

It knows nothing of services, networks or configuration. Begin with `reference.py`, the slow twin that says what is
computed; `encoder.pyx` is the same pipeline compiled.
"""

from tokenwire_core.decoders import Decoder
from tokenwire_core.encoder import Encoder
from tokenwire_core.encoding import Encoding
from tokenwire_core.errors import (
    ArtifactError,
    BudgetTooSmallError,
    ControlTokenError,
    IdOutOfRangeError,
    InvalidUtf8Error,
    NormalizedTooLongError,
    PatternTooSlowError,
    TextTooLongError,
    TokenizerError,
    UnknownControlTokenError,
    UnknownTextError,
)
from tokenwire_core.load import load, read_spec
from tokenwire_core.segment import InvalidPolicy, OffsetUnit, Segment, SpecialPolicy
from tokenwire_core.spec import PipelineSpec, RankFileSpec, SentencePieceSpec, TokenizerSpec

__all__ = [
    "ArtifactError",
    "BudgetTooSmallError",
    "ControlTokenError",
    "Decoder",
    "Encoder",
    "Encoding",
    "IdOutOfRangeError",
    "InvalidPolicy",
    "InvalidUtf8Error",
    "NormalizedTooLongError",
    "OffsetUnit",
    "PatternTooSlowError",
    "PipelineSpec",
    "RankFileSpec",
    "Segment",
    "SentencePieceSpec",
    "SpecialPolicy",
    "TextTooLongError",
    "TokenizerError",
    "TokenizerSpec",
    "UnknownControlTokenError",
    "UnknownTextError",
    "load",
    "read_spec",
]
