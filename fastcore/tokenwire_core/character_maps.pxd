# The normalizers that look at one character at a time.
from libc.stdint cimport uint32_t

# Unicode's White_Space.
cdef bint is_blank(uint32_t c) noexcept nogil
