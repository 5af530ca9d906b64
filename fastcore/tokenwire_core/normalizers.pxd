# The normalizers of a tokenizer.json, one after the other.
from tokenwire_core.aligned cimport Aligned
from tokenwire_core.rewriting cimport Normalizer, Rewrite
from tokenwire_core.scratch cimport Scratch

cdef class NormalizerChain:
    cdef tuple stages
    cdef void** stage            # borrowed from `stages`
    cdef size_t n_stages
    cdef readonly bint is_empty
    cdef readonly object max_text_bytes

    # `text` itself where no stage changes it, else what they make of it, in s.normalized. `text.tracing` says what is
    # traced. Returns a Status.
    cdef int run(self, Scratch* s, const Aligned* text, const Aligned** result) noexcept nogil
