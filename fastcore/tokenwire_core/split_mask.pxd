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
    uint64_t tw_controls(const uint8_t*)
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

# The i lowest bits, i <= 64.
cdef inline uint64_t below(size_t i) noexcept nogil:
    return (<uint64_t>1 << i) - 1 if i < 64 else <uint64_t>0 - 1

# The first and each third further bit of every run.
cdef inline uint64_t every_third(uint64_t digits) noexcept nogil:
    cdef uint64_t starts = digits & ~(digits << 1)
    cdef uint64_t fourth = digits & (digits << 1) & (digits << 2) & (digits << 3)
    cdef uint64_t step = starts
    while fourth:
        step = (step << 3) & fourth
        if not step:
            break
        starts |= step
    return starts

# For each run of blanks that has newlines and does not end in one: the bit behind its last newline.
cdef inline uint64_t after_last_newline(uint64_t run, uint64_t newline) noexcept nogil:
    cdef uint64_t found = 0
    cdef uint64_t rest = run & ~newline
    cdef uint64_t candidates = (newline & run) << 1 & rest
    cdef uint64_t candidate, beyond
    while candidates:
        candidate = candidates & (0 - candidates)
        candidates ^= candidate
        # The carry runs through the blanks from the candidate; it stops at a newline only if that is not the last.
        beyond = (rest + candidate) & ~rest
        beyond &= 0 - candidate
        beyond &= 0 - beyond
        if not beyond & newline & run:
            found |= candidate
    return found
