# SentencePiece's BPE: merging by the scores of pieces.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.bpe cimport MergeScratch, Merges
from tokenwire_core.model cimport Model
from tokenwire_core.safe_edges cimport SafeEdges
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.sentencepiece_rules cimport SymbolTable
from tokenwire_core.sentencepiece_output cimport FallbackTable, Output
from tokenwire_core.trie cimport Trie

# What has become of a number below n_numbers.
cdef enum Fate:
    IS_NOTHING               # a character that is no piece
    IS_PIECE
    IS_UNUSED                # a piece that is taken apart

# Symbols are numbered: the pieces by their ids, then the characters that are no piece but part of one. A user-defined
# symbol, which is never merged, is ID_LIMIT and its id.
cdef class SentencePieceBpe(Model):
    cdef Trie trie           # from characters and pieces to their numbers
    cdef Merges merges
    cdef SymbolTable symbols
    cdef SafeEdges edges
    cdef FallbackTable fallback
    cdef uint8_t* fates      # Fate by number
    cdef uint8_t* is_merged  # by number: merging its own characters leads to it
    cdef uint32_t* n_bytes   # by number
    cdef uint32_t* parts     # by number, two each: what it is merged of; NULL where no piece is unused
    cdef uint32_t n_numbers

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
    # Cut p[start:end], over whose edges no token goes. False when memory ran out.
    cdef bint encode_part(self, Output* o, size_t start, size_t end) noexcept nogil
    # Make symbols of p[:n]. Returns how many, or -1 when memory ran out.
    cdef Py_ssize_t symbols_of(self, MergeScratch* scratch, const uint8_t* p, size_t n) noexcept nogil
    cdef void put_symbol(self, Output* o, size_t start, uint32_t number, size_t n, int depth) noexcept nogil
    cdef int rank(self, list pieces) except -1
    cdef int build(self, list order) except -1
