# The pre-tokenizer of a pipeline: its stages compiled, one after the other.
from libc.stdint cimport uint8_t

from tokenwire_core.aligned cimport Aligned
from tokenwire_core.cuts cimport Pieces
from tokenwire_core.scratch cimport Scratch

cdef class PreTokenizerChain:
    cdef tuple steps
    cdef size_t n_steps
    cdef size_t spell_at     # the step whose text in the byte alphabet is only cut: at the end its pieces are bytes again
    cdef readonly bint is_empty
    cdef readonly bint needs_places
    cdef readonly bint keeps_bytes
    cdef readonly object max_text_bytes
    cdef readonly int fast_pattern
    # The pieces of text.text[start:end], start < end, which is a text of its own: what stands around it plays no part,
    # though TEXT_PADDING bytes behind it are read. Returns a Status.
    cdef int run(self, Scratch* s, const Aligned* text, size_t start, size_t end, Pieces* pieces) noexcept nogil
