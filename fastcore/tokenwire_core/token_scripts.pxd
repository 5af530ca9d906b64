# The script of a token, from its bytes or from the text.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.vocab cimport VocabTables

cdef enum:
    LOOK = 254               # the class of an entry that depends on the text

cdef unsigned LATN, HANI, HIRA, KANA     # numbers of scripts

# Marks that stand together, and the script that all of them take.
cdef struct Marks:
    size_t start
    size_t end
    unsigned script

# The class of an entry that stands for p[:n]: the number of its script, or LOOK.
cdef uint8_t class_of(const uint8_t* p, size_t n) noexcept nogil
# The script of the last character of p[:n] that is no inherited mark; TW_INHERITED where all are.
cdef uint8_t last_of(const uint8_t* p, size_t n) noexcept nogil
# The script of the token that stands at p[start:end]. `marks` are those that were met last, before it; NULL to stop
# where it would depend on what stands before: then it is TW_INHERITED.
cdef unsigned script_at(const uint8_t* p, size_t start, size_t end, Marks* marks) noexcept nogil
# The script of ids[i] of n tokens that follow each other in a text byte for byte, from its bytes and those beside it;
# TW_INHERITED where that takes more of the text.
cdef unsigned script_nearby(const VocabTables* v, const uint32_t* ids, size_t n, size_t i) noexcept nogil
# Whether there are Hiragana or Katakana.
cdef bint has_kana(const uint8_t* p, size_t n) noexcept nogil
