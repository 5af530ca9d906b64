# All piece starts of 64 bytes at once, as bits.
from libc.stdint cimport uint8_t, uint64_t

cdef extern from "simd.h" nogil:
    ctypedef struct tw_masks:
        uint64_t letter
        uint64_t upper
        uint64_t digit
        uint64_t space
        uint64_t blank
        uint64_t newline
        uint64_t high
        uint64_t apostrophe
        uint64_t slash
    ctypedef void (*tw_classifier)(const uint8_t*, tw_masks*) noexcept nogil
    tw_classifier tw_best_classifier()
    void tw_classify_plain(const uint8_t*, tw_masks*)
    void tw_classify_sse2(const uint8_t*, tw_masks*)
    unsigned tw_lowest(uint64_t)
    unsigned tw_highest(uint64_t)
    unsigned tw_positions(uint64_t, unsigned, unsigned*)

cdef enum:
    WINDOW_BYTES = 64
    WINDOW_MARGIN = 4        # a contraction is looked up to this far past the window

# The starts that are certain among the 64 bytes at p[at], where a piece begins; bit 0, that piece's own, is left out.
# The text goes on for WINDOW_MARGIN bytes behind the window; n is its end.
cdef uint64_t window_starts(
    int family, tw_classifier classify, const uint8_t* p, size_t at, size_t n
) noexcept nogil
