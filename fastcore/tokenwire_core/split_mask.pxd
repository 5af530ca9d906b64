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

# The starts that are certain among the 64 bytes at p[at], where a piece begins; bit 0, that piece's own, is left out.
# n is the end of the text, which counts as a start where it is within reach; p is readable for 4 bytes past the window.
cdef uint64_t window_starts(
    int family, tw_classifier classify, const uint8_t* p, size_t at, size_t n
) noexcept nogil

# The i lowest bits, i <= 64.
cdef inline uint64_t below(size_t i) noexcept nogil:
    return (<uint64_t>1 << i) - 1 if i < 64 else <uint64_t>0 - 1

# The masks of the 64 bytes at p; those from the i-th on are of no class.
cdef inline void classify_first(tw_classifier classify, const uint8_t* p, size_t i, tw_masks* m) noexcept nogil:
    cdef uint64_t inside
    classify(p, m)
    if i < 64:
        inside = below(i)
        m.letter &= inside
        m.upper &= inside
        m.digit &= inside
        m.space &= inside
        m.blank &= inside
        m.newline &= inside
        m.high &= inside
        m.apostrophe &= inside
        m.slash &= inside

# Of the starts in a window those that are certain, where nothing is from the lowest bit of `doubt` on, and the text ends
# at its n-th byte or behind the window.
cdef inline uint64_t certain(uint64_t starts, uint64_t run, uint64_t doubt, size_t n) noexcept nogil:
    cdef uint64_t trusted = below(n), rest
    cdef bint ends = n < 64
    if doubt & trusted:
        trusted = below(tw_lowest(doubt))
        ends = False
    # A run of blanks at the edge of what is trusted may go on behind it: only its first byte is certain.
    if run & trusted & ~(trusted >> 1):
        rest = ~run & trusted
        trusted = below(tw_highest(rest) + 2 if rest else 1)
        ends = False
    starts &= trusted & ~<uint64_t>1
    return starts | <uint64_t>1 << n if ends else starts

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
