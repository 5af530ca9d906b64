# SentencePiece's Unigram: the cut with the highest sum of scores, added as the library adds them.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.model cimport Model
from tokenwire_core.safe_edges cimport SafeEdges
from tokenwire_core.scratch cimport Buffer, Scratch
from tokenwire_core.sentencepiece_output cimport FallbackTable, Output
from tokenwire_core.trie cimport Trie

# The best way to a place.
cdef struct Way:
    float score
    uint32_t start           # where its last step begins, or NO_VALUE where no way leads
    uint32_t id              # of that step, or NO_VALUE: a character that is no piece
    uint32_t next_end        # once the whole way is known: where the step that begins here ends

cdef class SentencePieceUnigram(Model):
    cdef Trie trie           # the pieces that text is made of
    cdef SafeEdges edges
    cdef FallbackTable fallback
    cdef float* scores       # by id
    cdef float unknown_score
    cdef float certain_below # the size of sums for which `is_certain` speaks

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
    # Cut p[start:end], over whose edges no piece goes. `sum` is the score of the way to `start` and then to `end`.
    # False when memory ran out.
    cdef bint encode_part(self, Output* o, size_t start, size_t end, float* sum) noexcept nogil
    cdef bint is_certain(self, const uint8_t* p, size_t n) noexcept nogil
