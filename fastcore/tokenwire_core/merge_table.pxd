# The merges of bytes to the entries of a vocabulary.
from libc.stdint cimport uint32_t

from tokenwire_core.bpe cimport Merges, MergeTables
from tokenwire_core.byte_merges cimport ByteTables
from tokenwire_core.vocab cimport Vocab, VocabTables

cdef class MergeTable(Merges):
    cdef readonly uint32_t n_unreachable
    cdef ByteTables of_bytes
    cdef Vocab vocab             # which of_bytes refers to
    cdef int complete(self, const VocabTables* v) except -1
    cdef int build(self, const VocabTables* v, const MergeTables* listed) except -1
