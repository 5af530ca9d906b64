# A compiled tokenizer: the pipeline from text to ids.
from libc.stdint cimport uint64_t

from tokenwire_core.bpe cimport MergeTable
from tokenwire_core.pieces cimport Scratch
from tokenwire_core.special cimport ControlMatcher
from tokenwire_core.vocab cimport Vocab

cdef enum:
    POOL_SIZE = 8                # idle scratches kept

cdef class Encoder:
    cdef readonly object spec
    cdef readonly dict special_tokens
    cdef readonly dict control_tokens
    cdef Vocab vocab
    cdef MergeTable merges
    cdef ControlMatcher controls     # of all control tokens; None when there are none
    cdef int pattern                 # what split_chunk knows it by, or -1
    cdef object regex_splitter       # for any other pattern
    cdef Scratch* pool[POOL_SIZE]
    cdef int n_pool

    cdef Scratch* acquire(self) except NULL
    cdef void release(self, Scratch* s) noexcept
    cdef tuple policy(self, object special)
    cdef int encode_parts(
        self, Scratch* s, object text, list parts, bint keep, uint64_t limit, list resyncs, bytes replaced
    ) except -1
    cdef int encode_run(
        self, Scratch* s, size_t start, size_t end, bint keep, uint64_t limit, list resyncs, object until_s
    ) except -1
    cdef bint encode_compiled(self, Scratch* s, size_t start, size_t end, bint keep, uint64_t limit) noexcept nogil
