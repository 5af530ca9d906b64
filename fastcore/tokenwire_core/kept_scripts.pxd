# Whether the characters of a text keep their scripts when a tokenizer normalizes it.
from libc.stdint cimport uint8_t, uint64_t

cdef enum:
    N_BLOCKS = 0x1100        # of 256 code points

cdef enum Block:
    UNKNOWN
    ALL
    SOME

cdef class KeptScripts:
    cdef object normalized   # of a list of characters: what each becomes alone; None where none changes
    cdef object joint        # characters that are never taken for kept
    cdef bint allows_blanks, takes_marks
    cdef uint8_t state[N_BLOCKS]
    cdef uint64_t* bits[N_BLOCKS]        # of SOME: one for each code point, set where it keeps its script
    cdef bint keeps_all, printable_kept
    # Of a text that is well-formed; True only if all of its characters keep their scripts.
    cdef int keep(self, const uint8_t* p, size_t n) except -1
    cdef int find_block(self, unsigned number) except -1
