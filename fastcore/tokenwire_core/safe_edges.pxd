# Between which characters a text may be cut before a model has seen it.
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "bits.h" nogil:
    const uint64_t TW_K1
    const uint64_t TW_K2

cdef enum:
    SPACE = 0x8196E2         # `▁`

# Which characters stand next to each other in some entry. A character is its bytes as a number, the first lowest.
cdef struct EdgeTables:
    uint64_t ascii[128][2]   # for each ASCII character, those of ASCII that follow it
    uint64_t before_space[2] # ASCII characters that a `▁` follows
    uint64_t after_space[2]  # those that follow one
    bint within_spaces       # whether one follows another
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

cdef inline size_t size_of(uint32_t character) noexcept nogil:
    return 1 if character < 0x80 else 2 if character < 0x10000 else 3 if character < 0x1000000 else 4

cdef inline bint is_space(const uint8_t* p) noexcept nogil:
    return p[0] == 0xE2 and p[1] == 0x96 and p[2] == 0x81

cdef inline bint has(const uint64_t* bits, uint64_t i) noexcept nogil:
    return bits[i >> 6] >> (i & 63) & 1

# The end of the part that begins at `start` < n: the first edge behind it that no entry goes over. Behind p[:n] there
# is padding. `core` is the end of the `▁` that it begins with.
cdef inline size_t next_edge(const EdgeTables* t, const uint8_t* p, size_t n, size_t start, size_t* core) noexcept nogil:
    cdef size_t at = start
    cdef uint32_t left, right
    core[0] = start
    if is_space(p + at):
        at += 3
        while at < n and t.within_spaces and is_space(p + at):
            at += 3
        core[0] = at
        if at >= n:
            return n
        if p[at] < 0x80:
            if not has(t.after_space, p[at]):
                return at
        elif is_space(p + at) or not has(t.others, pair_hash(SPACE, character_at(p + at)) >> t.shift):
            return at
    left = character_at(p + at)
    while True:
        at += size_of(left)
        if at >= n:
            return n
        if left < 0x80 and p[at] < 0x80:
            right = p[at]
            if not has(t.ascii[left], right):
                return at
        elif left < 0x80 and is_space(p + at):
            if not has(t.before_space, left):
                return at
            right = SPACE
        else:
            right = character_at(p + at)
            if not has(t.others, pair_hash(left, right) >> t.shift):
                return at
        left = right

cdef class SafeEdges:
    cdef EdgeTables tables
    cdef void enter(self, bytes entry) noexcept
    cdef int make_room(self, unsigned bits) except -1
