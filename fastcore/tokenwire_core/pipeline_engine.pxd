# A tokenizer.json: the stages one after the other.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.added cimport AddedTokens
from tokenwire_core.aligned cimport Aligned
from tokenwire_core.byte_bpe cimport ByteBpe
from tokenwire_core.engine cimport Engine
from tokenwire_core.model cimport Model
from tokenwire_core.normalizers cimport NormalizerChain
from tokenwire_core.cuts cimport Pieces
from tokenwire_core.pretokenizers cimport PreTokenizerChain
from tokenwire_core.scratch cimport Scratch

# What goes on in one text beside its scratch.
cdef struct Progress:
    const uint8_t* allowed   # for each added token whether its spelling counts
    uint64_t limit
    uint32_t n_words         # pieces so far

cdef class PipelineEngine(Engine):
    cdef tuple added_tokens
    cdef bytes none_allowed          # of `allowing`: no control token,
    cdef bytes all_allowed           # all of them
    cdef frozenset control_ids
    cdef AddedTokens added
    cdef NormalizerChain normalizer
    cdef PreTokenizerChain pre_tokenizer
    cdef Model model
    cdef ByteBpe bytes_model         # the model, where it takes bytes; else None
    cdef bint needs_places           # a stage asks where its text comes from

    cdef int cut(self, Scratch* s, const Aligned* text, int number, Progress* progress) noexcept nogil
    cdef int encode_between(
        self, Scratch* s, const Aligned* text, size_t start, size_t end, int number, Progress* progress
    ) noexcept nogil
    cdef int encode_normalized(
        self, Scratch* s, const Aligned* text, size_t start, size_t end, Progress* progress
    ) noexcept nogil
    cdef int encode_pattern(
        self, Scratch* s, const Aligned* text, size_t start, size_t end, Progress* progress
    ) noexcept nogil
    cdef int encode_pieces(self, Scratch* s, const Pieces* pieces, Progress* progress) noexcept nogil
    cdef int put_added(
        self, Scratch* s, const Aligned* text, size_t start, size_t end, uint32_t id, Progress* progress
    ) noexcept nogil
    cdef void place(
        self, Scratch* s, const Aligned* text, size_t start, size_t n, size_t first, Progress* progress
    ) noexcept nogil
