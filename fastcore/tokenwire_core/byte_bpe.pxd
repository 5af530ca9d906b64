# Byte-pair encoding of bytes, whose merges a tokenizer.json lists.
from libc.stdint cimport uint8_t

from tokenwire_core.merge_table cimport MergeTable
from tokenwire_core.model cimport Model
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.vocab cimport Vocab

cdef class ByteBpe(Model):
    # For encode_pieces: it takes many pieces at once, as split_chunk cuts them.
    cdef readonly Vocab vocab
    cdef readonly MergeTable merges
    cdef int hide_unreachable(self) except -1
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
