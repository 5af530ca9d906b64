# Well-formedness and counts of UTF-8.
from libc.stdint cimport uint8_t, uint32_t

# The position of the first ill-formed byte at or after `start`, or n. Unicode 16, table 3-7.
cdef size_t first_ill_formed(const uint8_t* p, size_t n, size_t start) noexcept nogil
# How many bytes the maximal ill-formed part at p[at] has (1 to 3).
cdef size_t ill_formed_length(const uint8_t* p, size_t n, size_t at) noexcept nogil
cdef size_t n_codepoints(const uint8_t* p, size_t n) noexcept nogil

# Turn n ascending positions in a repaired text into positions in the bytes as sent.
cdef void to_sent(bytes replaced, uint32_t* edges, Py_ssize_t n) noexcept
# `replaced` of a text that stands `by` bytes further on.
cdef bytes moved(bytes replaced, uint32_t by)
