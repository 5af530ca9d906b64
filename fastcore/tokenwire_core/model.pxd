# What every model can do: a piece to tokens.
from libc.stdint cimport uint8_t

from tokenwire_core.scratch cimport Scratch

cdef class Model:
    # Append the tokens of the piece p[:n] (n >= 1, well-formed UTF-8, TEXT_PADDING bytes readable behind it) to s, with
    # their places in it. Returns a Status. Changes nothing but s, so any number of threads may run one model.
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
