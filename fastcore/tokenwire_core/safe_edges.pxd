# Between which characters a text may be cut before a model has seen it.
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "bits.h" nogil:
    const uint64_t TW_K1
    const uint64_t TW_K2

# Which characters stand next to each other in some entry. A character is its bytes as a number, the first lowest.
cdef struct EdgeTables:
    uint64_t ascii[128][2]   # for each ASCII character, those of ASCII that follow it
    uint64_t* others         # a bit for each hash of two characters; some are set by chance
    unsigned shift

cdef inline uint64_t pair_hash(uint32_t left, uint32_t right) noexcept nogil:
    return ((<uint64_t>left << 32 | right) * TW_K1) ^ (right * TW_K2)

cdef inline uint32_t character_at(const uint8_t* p) noexcept nogil:
    # The character at p, four readable bytes.
    cdef uint32_t four
    memcpy(&four, p, 4)
    if p[0] < 0x80:
        return p[0]
    return four & (0xFFFFu if p[0] < 0xE0 else 0xFFFFFFu if p[0] < 0xF0 else 0xFFFFFFFFu)

# Where the entries end of which the first begins at `start` < n: the first edge behind it that no entry goes over.
cdef inline size_t next_edge(const EdgeTables* t, const uint8_t* p, size_t n, size_t start) noexcept nogil:
    cdef uint32_t left = character_at(p + start), right
    cdef uint64_t hash
    cdef size_t at = start
    while True:
        at += 1 if left < 0x80 else 2 if left < 0x10000 else 3 if left < 0x1000000 else 4
        if at >= n:
            return n
        if left < 0x80 and p[at] < 0x80:
            right = p[at]
            if not t.ascii[left][right >> 6] >> (right & 63) & 1:
                return at
        else:
            right = character_at(p + at)
            hash = pair_hash(left, right) >> t.shift
            if not t.others[hash >> 6] >> (hash & 63) & 1:
                return at
        left = right

cdef class SafeEdges:
    cdef EdgeTables tables
    cdef void enter(self, bytes entry) noexcept
    cdef int make_room(self, unsigned bits) except -1
