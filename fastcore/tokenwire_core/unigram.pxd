# Unigram as the `tokenizers` library runs it: the cut of a piece into entries with the highest sum of scores.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.model cimport Model
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.trie cimport Node, Trie

# The best way to a place: its score, and the last step of it.
cdef struct Way:
    double score
    uint32_t id              # of the step, or NO_VALUE where nothing leads
    uint32_t start           # where the step begins; once the way is known: where the next one ends

# Immutable once built.
cdef struct UnigramTables:
    const Node* nodes        # of the trie of entries
    Node root
    double* scores           # by id
    double unknown_score
    uint32_t unk             # or NO_VALUE
    bint byte_fallback
    uint32_t byte_ids[256]   # or NO_VALUE

cdef class Unigram(Model):
    cdef UnigramTables tables
    cdef Trie trie
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
