# Ids as they come from Python, checked against a vocabulary.
from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    N_SMALL = 32

cdef struct Ids:
    uint32_t* p              # NULL before take_ids
    Py_ssize_t n
    uint32_t small[N_SMALL]  # where few of them are

# Take `ids`, an iterable or a buffer of integers. One is valid below vocab_size if the bit 1 of its flags is set.
# Free with drop_ids, also after an error.
cdef int take_ids(Ids* taken, object ids, const uint8_t* flags, uint32_t vocab_size) except -1
cdef void drop_ids(Ids* taken) noexcept
