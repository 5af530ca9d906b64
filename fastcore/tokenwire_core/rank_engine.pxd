# Rank files: control tokens, pieces, merges.
from libc.stdint cimport uint64_t

from tokenwire_core.engine cimport Engine
from tokenwire_core.merge_table cimport MergeTable
from tokenwire_core.scratch cimport Scratch

cdef class RankEngine(Engine):
    cdef MergeTable merges
    cdef int pattern                 # what split_chunk knows it by, or -1
    cdef object regex_splitter       # for any other pattern

    cdef bint encode_compiled(self, Scratch* s, size_t start, size_t end, uint64_t limit) noexcept nogil
    cdef bint encode_piece(self, Scratch* s, size_t start, size_t end) noexcept nogil
