# SentencePiece's models: normalized text to tokens.
from libc.stdint cimport uint8_t

from tokenwire_core.model cimport Model
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.sentencepiece_normalizer cimport SentencePieceNormalizer
from tokenwire_core.sentencepiece_rules cimport SymbolTable
from tokenwire_core.sentencepiece_output cimport FallbackTable
from tokenwire_core.trie cimport Trie

# What `char` and `word` models need.
cdef class SentencePieceLookup(Model):
    cdef Trie trie           # the pieces that text is made of
    cdef FallbackTable fallback

cdef class SentencePieceChar(SentencePieceLookup):
    cdef SymbolTable symbols
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil

cdef class SentencePieceWord(SentencePieceLookup):
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil

# The model of any algorithm.
cdef class SentencePieceTokenizer(Model):
    cdef Model model
    # Append the tokens of the normalized text p[:n], with their places in it; those of the pieces of bytes are as
    # s.tracing says.
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
    cdef int encode_text(self, SentencePieceNormalizer normalizer, Scratch* s, bytes utf8) except -1
