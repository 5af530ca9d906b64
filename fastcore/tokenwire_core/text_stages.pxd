# Pre-tokenizers' changes of the text: every piece is written anew.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.aligned cimport Aligned
from tokenwire_core.cuts cimport Pieces, PreTokenizer
from tokenwire_core.scratch cimport Scratch

# A blank before each piece that begins with none.
cdef class PrefixBlank(PreTokenizer):
    pass

# Each byte as its character of the byte alphabet.
cdef class ByteAlphabet(PreTokenizer):
    pass

# Blanks as `replacement`, and that before each piece that does not begin with it, or before the first of the source;
# with `splits` a piece begins wherever it stands.
cdef class MetaspaceStage(PreTokenizer):
    cdef bytes replacement
    cdef const uint8_t* p
    cdef size_t n
    cdef bint splits
    cdef bint puts_first
    cdef bint only_at_source_start

# The pieces without what lies between them.
cdef int close_gaps(Scratch* s, Pieces* pieces) noexcept nogil
# From pieces of a text in the byte alphabet to those of the bytes that it spells, which are all of the text `spelled`.
# A byte may be a piece, whatever character it is of.
cdef void to_bytes(Pieces* pieces, const Aligned* spelled) noexcept nogil
