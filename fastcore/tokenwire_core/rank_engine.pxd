# Rank files: control tokens, pieces, merges.
from libc.stdint cimport uint64_t

from tokenwire_core.engine cimport Engine
from tokenwire_core.merge_table cimport MergeTable
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.special cimport ControlMatcher
from tokenwire_core.vocab cimport Vocab

cdef class RankEngine(Engine):
    cdef Vocab vocab
    cdef MergeTable merges
    cdef ControlMatcher controls     # of all control tokens; None when there are none
    cdef int pattern                 # what split_chunk knows it by, or -1
    cdef object regex_splitter       # for any other pattern

    cdef int encode_run(self, Scratch* s, size_t start, size_t end, uint64_t limit) except -1
    cdef bint encode_compiled(self, Scratch* s, size_t start, size_t end, uint64_t limit) noexcept nogil
    cdef bint encode_piece(self, Scratch* s, size_t start, size_t end) noexcept nogil
