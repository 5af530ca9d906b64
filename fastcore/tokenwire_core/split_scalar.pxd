# The next piece, one character at a time.
from libc.stdint cimport uint8_t

cdef enum Family:
    GPT2
    CL100K
    LLAMA3
    QWEN2
    QWEN3_5
    O200K
    N_FAMILIES

# The end of the piece that begins at p[i], i < n.
cdef size_t next_piece(int family, const uint8_t* p, size_t i, size_t n) noexcept nogil
# The end of the contraction at the apostrophe p[i], or i where there is none.
cdef size_t contraction(const uint8_t* p, size_t i, size_t n, bint fold_case) noexcept nogil
