# The next piece, one character at a time.
from libc.stdint cimport uint8_t

from tokenwire_core.unicode_class cimport NUMBER, class_at

cdef enum Family:
    GPT2
    GPT2_DIGITS              # GPT2 on what lies between numbers, each of which is a piece
    CL100K
    LLAMA3
    QWEN2
    QWEN3_5
    O200K
    TEKKEN
    DEEPSEEK                 # see split_deepseek

# The end of the piece that begins at p[i], i < n; of all families but the last.
cdef size_t next_piece(int family, const uint8_t* p, size_t i, size_t n) noexcept nogil
# The end of the contraction at the apostrophe p[i], or i where there is none.
cdef size_t contraction(const uint8_t* p, size_t i, size_t n, bint fold_case) noexcept nogil

# The end of the run of such characters from p[i] on.
cdef inline size_t run_of(unsigned classes, const uint8_t* p, size_t i, size_t n) noexcept nogil:
    cdef size_t after
    while i < n and class_at(p, i, &after) & classes:
        i = after
    return i

# The end of `\p{N}{1,3}` whose first character ends at `after`.
cdef inline size_t digits(const uint8_t* p, size_t after, size_t n) noexcept nogil:
    cdef size_t second
    if after < n and class_at(p, after, &second) & NUMBER:
        after = second
        if after < n and class_at(p, after, &second) & NUMBER:
            after = second
    return after
