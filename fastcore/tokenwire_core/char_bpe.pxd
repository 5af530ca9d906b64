# Byte-pair encoding of characters.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from tokenwire_core.bpe cimport Merges
from tokenwire_core.char_words cimport CharTables
from tokenwire_core.model cimport Model
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.vocab cimport Vocab

cdef class CharBpe(Model):
    cdef CharTables tables
    cdef readonly Merges merges
    cdef readonly uint32_t n_unreachable     # entries that no merges lead to
    cdef Vocab words
    cdef Vocab pieces
    cdef bytes prefix
    cdef bytes suffix
    cdef int fill_characters(self, dict entries, str prefix, str suffix) except -1
    cdef int list_merges(self, object model, dict entries) except -1
    cdef int find_words(self, object model, dict entries, set no_characters) except -1
    cdef int note_joins(self, set joins, dict entries) except -1
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
