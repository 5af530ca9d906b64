# The pieces of DeepSeek's three patterns.
from libc.stdint cimport uint8_t, uint64_t

from tokenwire_core.split_mask cimport tw_classifier

# As split_scalar.next_piece, and as split_mask.window_starts.
cdef size_t next_deepseek(const uint8_t* p, size_t i, size_t n) noexcept nogil
cdef uint64_t deepseek_starts(tw_classifier classify, const uint8_t* p, size_t at, size_t n) noexcept nogil
