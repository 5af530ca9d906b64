# Byte-pair merging of one piece: the merge table, and two algorithms with one result.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from tokenwire_core.vocab cimport FILTER_BITS, ID_BITS, TW_K1, TW_NO_ID, tw_prefetch

cdef extern from "bits.h" nogil:
    int32_t tw_least(const int32_t*, size_t)

cdef enum:
    POSITION_BITS = 6
    SHORT_SYMBOLS = 1 << POSITION_BITS    # pieces up to here are merged by scanning, longer ones by a tree
    LONG_SYMBOLS = 2048                   # above, by windows
    ID_LIMIT = 1 << ID_BITS  # ids and the numbers of merges are below

# Which two adjacent tokens are joined by which merge. A slot is OCCUPIED | left << 42 | right << 21 | merge. The number
# of a merge is its rank and the id it makes, unless there is an array that says otherwise; of equal ranks the leftmost
# goes first.
cdef struct MergeTables:
    uint64_t* slots
    uint64_t mask
    unsigned shift
    uint64_t* filter         # a bit for each merge, by the hash that finds its slot: most pairs have none
    uint32_t* results        # the id that each merge makes; NULL: its number
    uint32_t* ranks          # the rank of each merge; NULL: its number

# One live token of a piece. Ids of ID_LIMIT and more join with nothing, and come out as they went in.
cdef struct Symbol:
    uint32_t id
    uint32_t n_bytes         # as the caller counts; those of two that are joined are added
    uint32_t merge           # with its right neighbour, or TW_NO_ID
    uint32_t prev
    uint32_t next

cdef struct MergeScratch:
    Symbol* symbols
    size_t symbols_capacity
    uint64_t* tree
    size_t tree_capacity

# What a slot holds above the merge.
cdef inline uint64_t pair_key(uint32_t left, uint32_t right) noexcept nogil:
    return (<uint64_t>1 << 2 * ID_BITS) | (<uint64_t>left << ID_BITS) | right

# The place of a pair in the filter; without FILTER_BITS, the slot where it is first looked for.
cdef inline uint64_t filter_place(const MergeTables* m, uint64_t key) noexcept nogil:
    return (key * TW_K1) >> (m.shift - FILTER_BITS)

# The merge of two ids below ID_LIMIT, or TW_NO_ID.
cdef inline uint32_t merged(const MergeTables* m, uint32_t left, uint32_t right) noexcept nogil:
    cdef uint64_t key = pair_key(left, right)
    tw_prefetch(&m.slots[filter_place(m, key) >> FILTER_BITS])   # it need not wait for the filter
    return merge_of_key(m, key)

# The same where many are looked up whose answers nothing waits for.
cdef inline uint32_t merge_of_key(const MergeTables* m, uint64_t key) noexcept nogil:
    cdef uint64_t i = filter_place(m, key)
    cdef uint64_t slot
    if not m.filter[i >> 6] >> (i & 63) & 1:
        return TW_NO_ID
    i >>= FILTER_BITS
    while True:
        slot = m.slots[i]
        if slot >> ID_BITS == key:
            return <uint32_t>(slot & (ID_LIMIT - 1))
        if slot == 0:
            return TW_NO_ID
        i = (i + 1) & m.mask

# Ask the memory for what `merged` will look at.
cdef inline void prefetch_merge(const MergeTables* m, uint32_t left, uint32_t right) noexcept nogil:
    cdef uint64_t i = filter_place(m, pair_key(left, right))
    tw_prefetch(&m.filter[i >> 6])
    tw_prefetch(&m.slots[i >> FILTER_BITS])

# The id that a merge makes.
cdef inline uint32_t result_of(const MergeTables* m, uint32_t merge) noexcept nogil:
    return merge if m.results == NULL else m.results[merge]

# What orders the merge of the symbol at a position below SHORT_SYMBOLS: its number, then the position. For TW_NO_ID it
# is NO_KEY or more.
cdef enum:
    NO_KEY = 0x7FFFFFFF >> POSITION_BITS << POSITION_BITS

cdef inline int32_t key_of_merge(uint32_t merge, size_t at) noexcept nogil:
    return <int32_t>((merge & (NO_KEY >> POSITION_BITS)) << POSITION_BITS | at)

# Merge 1 <= n <= SHORT_SYMBOLS ids below ID_LIMIT in place, where a merge's number is its rank. Returns how many are
# left. keys[i] is that of the merge of i with the next; it has room for SHORT_SYMBOLS.
cdef size_t merge_by_keys(const MergeTables* m, uint32_t* ids, int32_t* keys, size_t n) noexcept nogil
# The same without the keys.
cdef size_t merge_ids(const MergeTables* m, uint32_t* ids, size_t n) noexcept nogil

# Room for n symbols; False when memory ran out.
cdef bint reserve_symbols(MergeScratch* scratch, size_t n) noexcept nogil
# Merge scratch.symbols[:n], of which `id` and `n_bytes` are set, and for which there is room. Those that are left are
# the first one and what follows it by `next`, until that is n.
cdef void merge_symbols(const MergeTables* m, MergeScratch* scratch, size_t n) noexcept nogil
# The same for n > LONG_SYMBOLS, below 2**32, in little memory. -1 when that ran out; 0, with the ids destroyed, where it
# cannot be done so: then take merge_many_ids.
cdef Py_ssize_t merge_long_ids(const MergeTables* m, MergeScratch* scratch, uint32_t* ids, size_t n) noexcept nogil
# The same for any n below 2**32. Returns how many are left, -1 when memory ran out.
cdef Py_ssize_t merge_many_ids(const MergeTables* m, MergeScratch* scratch, uint32_t* ids, size_t n) noexcept nogil

cdef void free_merge_scratch(MergeScratch* scratch) noexcept nogil

# A table to be filled. Whoever fills it allocates `results` and `ranks` by malloc, if there are any; it frees them.
cdef class Merges:
    cdef MergeTables tables
    cdef int make_room(self, size_t n_merges) except -1
    # Enter a merge for which there is room. Of two for the same pair the later one counts.
    cdef void insert(self, uint32_t left, uint32_t right, uint32_t merge) noexcept nogil
    # Where there are no ranks: if the results of n_merges (TW_NO_ID for those that were not entered) rise as their
    # numbers do, let results be the numbers, so that nothing is to be looked up.
    cdef void number_by_id(self, size_t n_merges) noexcept nogil
