# A SentencePiece model: control tokens, normalizer, model.
from tokenwire_core.engine cimport Engine
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.sentencepiece_models cimport SentencePieceTokenizer
from tokenwire_core.sentencepiece_normalizer cimport SentencePieceNormalizer

cdef class SentencePieceEngine(Engine):
    cdef SentencePieceNormalizer normalizer
    cdef SentencePieceTokenizer model

    cdef int encode_text(self, Scratch* s, size_t start, size_t end) noexcept nogil
