# A SentencePiece model: control tokens, normalizer, model.
from libc.stdint cimport uint32_t, uint64_t

from tokenwire_core.engine cimport Engine
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.sentencepiece_models cimport SentencePieceTokenizer
from tokenwire_core.sentencepiece_normalizer cimport SentencePieceNormalizer
from tokenwire_core.special cimport ControlMatcher

cdef class SentencePieceEngine(Engine):
    cdef list tokens                 # by id: its spelling
    cdef ControlMatcher controls     # of all control tokens
    cdef SentencePieceNormalizer normalizer
    cdef SentencePieceTokenizer model

    cdef int encode_run(self, Scratch* s, size_t start, size_t end) noexcept nogil
