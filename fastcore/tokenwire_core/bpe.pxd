# Byte-pair merging of one piece: the merge table, and two algorithms with one result.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.vocab cimport ID_BITS, TW_K1, TW_NO_ID, Vocab, VocabTables

cdef enum:
    SHORT_BYTES = 32         # pieces up to here are merged by scanning, longer ones by a heap

# Which two adjacent tokens become which token. A slot is OCCUPIED | left << 42 | right << 21 | merged.
cdef struct MergeTables:
    uint64_t* slots
    uint64_t mask
    unsigned shift
    uint32_t byte_ids[256]
    uint32_t* byte_pairs     # 65,536 entries: the id of each two-byte token, or TW_NO_ID

# One live token of a long piece; `rank` is what it would become with its right neighbour.
cdef struct Symbol:
    uint32_t id
    uint32_t rank
    uint32_t prev
    uint32_t next

cdef struct MergeScratch:
    Symbol* symbols
    size_t symbols_capacity
    uint64_t* heap
    size_t heap_capacity

cdef inline uint32_t merged(const MergeTables* m, uint32_t left, uint32_t right) noexcept nogil:
    # The token that left and right merge into, which is also the rank of that merge; or TW_NO_ID.
    cdef uint64_t key = (<uint64_t>1 << 2 * ID_BITS) | (<uint64_t>left << ID_BITS) | right
    cdef uint64_t i = (key * TW_K1) >> m.shift
    cdef uint64_t slot
    while True:
        slot = m.slots[i]
        if slot >> ID_BITS == key:
            return <uint32_t>(slot & ((<uint64_t>1 << ID_BITS) - 1))
        if slot == 0:
            return TW_NO_ID
        i = (i + 1) & m.mask

# Merge the n >= 1 bytes at p; out has room for n ids. Returns how many there are.
cdef size_t merge_short(const MergeTables* m, const uint8_t* p, size_t n, uint32_t* out) noexcept nogil
# As merge_short for any n below 2**32; -1 when memory ran out.
cdef Py_ssize_t merge_long(
    const MergeTables* m, MergeScratch* scratch, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil

cdef void free_merge_scratch(MergeScratch* scratch) noexcept nogil

cdef class MergeTable:
    cdef MergeTables tables
    cdef readonly uint32_t n_unreachable
    cdef int build(self, const VocabTables* v) except -1
    cdef void insert(self, uint32_t left, uint32_t right, uint32_t id) noexcept nogil
