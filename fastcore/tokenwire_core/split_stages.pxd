# Splitting by a pattern: the four ways to find its matches.
from libc.stdint cimport uint8_t

from tokenwire_core.cuts cimport Cutting, PreTokenizer
from tokenwire_core.pattern_matches cimport TableMatcher

# A family of `split`, whose pieces are the whole text.
cdef class FamilySplit(PreTokenizer):
    cdef int family
    cdef Cutting how
    cdef bint plain          # the matches are the pieces

# A pattern with a table (see pattern_table).
cdef class TableSplit(PreTokenizer):
    cdef TableMatcher table
    cdef Cutting how

# Literal text.
cdef class LiteralSplit(PreTokenizer):
    cdef bytes literal
    cdef const uint8_t* p
    cdef size_t n
    cdef Cutting how

# Any other pattern, on the `regex` module.
cdef class RegexSplit(PreTokenizer):
    cdef object pattern
    cdef object alphabet
    cdef Cutting how

cdef FamilySplit family_split(int family, Cutting how)
