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

cdef inline size_t put_utf8(uint8_t* p, uint32_t c) noexcept nogil:
    """Write a code point, 1 to 4 bytes; how many."""
    if c < 0x80:
        p[0] = <uint8_t>c
        return 1
    if c < 0x800:
        p[0] = <uint8_t>(0xC0 | c >> 6)
        p[1] = <uint8_t>(0x80 | (c & 0x3F))
        return 2
    if c < 0x10000:
        p[0] = <uint8_t>(0xE0 | c >> 12)
        p[1] = <uint8_t>(0x80 | (c >> 6 & 0x3F))
        p[2] = <uint8_t>(0x80 | (c & 0x3F))
        return 3
    p[0] = <uint8_t>(0xF0 | c >> 18)
    p[1] = <uint8_t>(0x80 | (c >> 12 & 0x3F))
    p[2] = <uint8_t>(0x80 | (c >> 6 & 0x3F))
    p[3] = <uint8_t>(0x80 | (c & 0x3F))
    return 4

cdef inline size_t char_bytes(uint8_t lead) noexcept nogil:
    """How many bytes the character has that begins with this one."""
    return 1 if lead < 0x80 else (2 if lead < 0xE0 else (3 if lead < 0xF0 else 4))
