# SentencePiece's normalizer: what its models see of a text.
from libc.stdint cimport uint8_t

from tokenwire_core.aligned cimport Aligned
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.sentencepiece_rules cimport Rules, RuleTable

cdef struct NormalizerTables:
    Rules rules
    uint8_t space[4]         # what a blank is written as
    size_t space_bytes
    bint add_dummy_prefix
    bint remove_extra_whitespaces
    bint whitespace_is_suffix

cdef class SentencePieceNormalizer:
    cdef NormalizerTables tables
    cdef RuleTable rules     # here to keep what the tables point to
    # Write what the model sees of `text`, which is as the source has it, to `out`, with the places that text.tracing
    # asks for. Returns a Status.
    cdef int run(self, Scratch* s, const Aligned* text, Aligned* out) noexcept nogil
    # Turn the places of the tokens from number `first` on, which are in the normalized text and in order, into places
    # in the source: those of the reference if it was normalized with TRACE_REFERENCE, else those by our rule.
    cdef void place(self, Scratch* s, const Aligned* normalized, size_t first) noexcept nogil
