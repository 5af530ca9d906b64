# What every normalizer can do: a text to another text, of which most is often the same.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.aligned cimport Aligned
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.vocab cimport tw_load64

cdef extern from *:
    int __builtin_ctzll(unsigned long long) nogil

# One text being rewritten from left to right. What a stage does not replace stays as it is, and where it replaces
# nothing, nothing is written.
cdef struct Rewrite:
    const Aligned* old
    Aligned* out
    size_t kept              # old.text[:kept] is dealt with
    size_t max_bytes         # `out` may be no longer
    uint32_t nowhere         # the place before everything in the source
    bint has_changed         # `out` is in use

cdef class Normalizer:
    # Replace what is to be replaced. Returns a Status; the rest of the text is `end_rewrite`'s. Changes nothing but s
    # and r, so any number of threads may run one normalizer.
    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil

# `out` has what `old` has up to `at`, which is not before what is dealt with.
cdef void keep_to(Rewrite* r, size_t at) noexcept nogil
# n bytes in place of old.text[start:end], for which they stand as a whole. False where the text is too long then.
cdef bint replace(Rewrite* r, size_t start, size_t end, const uint8_t* p, size_t n) noexcept nogil
# As many bytes in place of old.text[start:start + n], whose characters begin at the same places.
cdef void replace_alike(Rewrite* r, size_t start, const uint8_t* p, size_t n) noexcept nogil
# The rest of the text; a Status.
cdef int end_rewrite(Rewrite* r) noexcept nogil

# A character as the reference places it: for a `change` above 0 it is added, and shares the place of the one before
# old.text[at]; else it takes that one's place, and at moves behind that and -change more.
cdef void put_change(Rewrite* r, size_t* at, const uint8_t* p, size_t n, int change) noexcept nogil

cdef inline size_t char_before(const uint8_t* p, size_t i) noexcept nogil:
    """The first byte of the character before p[i], of which there is one."""
    i -= 1
    while (p[i] & 0xC0) == 0x80:
        i -= 1
    return i

cdef inline size_t after_ascii(const uint8_t* p, size_t n, size_t i) noexcept nogil:
    """The first byte from p[i] on that is not ASCII, or n. There is padding behind p[n]."""
    cdef uint64_t high
    while i < n:
        high = tw_load64(p + i) & <uint64_t>0x8080808080808080
        if high:
            return min(i + (__builtin_ctzll(high) >> 3), n)
        i += 8
    return n

cdef inline size_t after_printable(const uint8_t* p, size_t n, size_t i) noexcept nogil:
    """The first byte from p[i] on that is not U+0020 to U+007E, or n. There is padding behind p[n]."""
    cdef uint64_t x
    while i < n:
        x = tw_load64(p + i)
        # The top bit of a byte is set where it is above U+007E, or below U+0020, or where one before it in p was.
        x |= (x + <uint64_t>0x0101010101010101) | (x - <uint64_t>0x2020202020202020)
        x &= <uint64_t>0x8080808080808080
        if x:
            return min(i + (__builtin_ctzll(x) >> 3), n)
        i += 8
    return n
