# Byte-pair merging of a piece of bytes.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.bpe cimport MergeScratch, MergeTables
from tokenwire_core.vocab cimport TW_K1

cdef enum:
    N_CHARS = 1 << 17        # characters below may begin as something else than their bytes

# What a character begins as: an entry of `chars` is the id of some of its bytes, how many are before these, their
# number, and flags. All other bytes are symbols of their own.
cdef enum:
    SINGLE = 0               # each byte is
    BEFORE_SHIFT = 21        # two bits
    JOINED_SHIFT = 23        # three bits
    HAS_LEFT_EDGES = 1 << 26
    HAS_RIGHT_EDGES = 1 << 27
    HAS_END_EDGES = 1 << 28  # left edges, with whatever ends with some bytes

cdef struct ByteTables:
    const MergeTables* merges
    uint32_t byte_ids[256]
    uint32_t* byte_pairs     # 65,536 entries: the merge of each two bytes, or TW_NO_ID
    # See char_starts, which makes them. NULL: every character begins as its bytes.
    uint32_t* chars          # N_CHARS entries
    uint64_t* edges          # a bit for each edge, by hash
    unsigned edges_shift
    const uint32_t* starts   # of a vocabulary: an id has starts[id + 1] - starts[id] bytes

# Two characters that follow each other, of which the right one, or else the left one, has to begin as its bytes. Instead
# of the left one an edge may be with its last n bytes: n << END_SHIFT | what they say.
cdef enum:
    END_SHIFT = 24

cdef inline uint64_t edge_hash(const ByteTables* t, uint32_t left, uint32_t right, bint is_right) noexcept nogil:
    return (((<uint64_t>left << 22 | right << 1 | is_right) + 1) * TW_K1) >> t.edges_shift

cdef inline bint has_edge(const ByteTables* t, uint32_t left, uint32_t right, bint is_right) noexcept nogil:
    cdef uint64_t i = edge_hash(t, left, right, is_right)
    return t.edges[i >> 6] >> (i & 63) & 1

cdef inline bint has_end_edge(const ByteTables* t, uint32_t left, uint32_t right) noexcept nogil:
    if left < 0x80:
        return False
    return (
        has_edge(t, 1 << END_SHIFT | (left & 0x3F), right, True)
        or (left >= 0x800 and has_edge(t, 2 << END_SHIFT | (left & 0xFFF), right, True))
        or (left >= 0x10000 and has_edge(t, 3 << END_SHIFT | (left & 0x3FFFF), right, True))
    )

# Merge the n >= 1 bytes at p, n below 2**32; out has room for n ids. Returns how many there are, -1 when memory ran out.
cdef Py_ssize_t merge_bytes(
    const ByteTables* t, MergeScratch* scratch, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil
