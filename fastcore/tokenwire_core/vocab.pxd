# The vocabulary as flat tables: bytes of each id, and the id of some bytes. Immutable once built.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from "bits.h" nogil:
    bint TW_LIKELY(bint)
    uint64_t tw_load64(const uint8_t*)
    uint64_t tw_first_bytes(const uint8_t*, unsigned)
    uint64_t tw_fold(uint64_t, uint64_t)
    void tw_prefetch(const void*)
    const uint64_t TW_K1
    const uint64_t TW_K2
    const uint32_t TW_NO_ID

cdef extern from "tables.h" nogil:
    void* tw_new_table(size_t n_bytes)

cdef enum:
    WORD_BYTES = 15          # longest byte string that fits a word key
    WORD_IDS = 4             # most ids a word slot holds
    ID_BITS = 21             # ids are below 2**21
    COUNT_SHIFT = 28         # a word slot's first id carries its count from this bit on
    ID_MASK = 0x0FFFFFFF
    UNMARKED = (1 << ID_BITS) - 1
    FILTER_BITS = 3          # filters have 2**FILTER_BITS bits a slot
    PRESENT = 1              # flags: the id has bytes
    CONTROL = 2              # flags: the id is a control token
    HIDDEN = 4               # flags: no text finds the id by its bytes


# 32 bytes, two to a cache line. key_hi == 0 marks an empty slot.
cdef struct WordSlot:
    uint64_t key_lo
    uint64_t key_hi
    uint32_t ids[WORD_IDS]

cdef struct VocabTables:
    uint32_t vocab_size      # highest id + 1
    uint32_t max_token_bytes # longest ordinary token
    const uint8_t* blob      # bytes of all tokens, readable 16 bytes past the end
    const uint32_t* starts   # vocab_size + 1 positions in blob
    # Two bits an id, in a word for 32 of them, which the ids that are made of text then have above their own: see
    # `Vocab.mark`. NULL where nobody asks.
    const uint64_t* marks
    const uint8_t* flags     # PRESENT | CONTROL | HIDDEN, per id
    WordSlot* words          # ordinary tokens of at most WORD_BYTES bytes, open addressing
    uint32_t words_mask
    unsigned words_shift
    uint32_t* longs          # id + 1 of longer ordinary tokens, open addressing
    uint32_t longs_mask
    unsigned longs_shift
    uint64_t* words_filter   # a bit for each word, by the hash that finds its slot: most of what is asked for has none

# The key of 1 to WORD_BYTES bytes; p is readable 16 bytes from its start.
cdef inline void word_key(const uint8_t* p, size_t n, uint64_t* lo, uint64_t* hi) noexcept nogil:
    if n <= 8:
        lo[0] = tw_first_bytes(p, <unsigned>n)
        hi[0] = <uint64_t>n << 56
    else:
        lo[0] = tw_load64(p)
        hi[0] = tw_first_bytes(p + 8, <unsigned>(n - 8)) | (<uint64_t>n << 56)

cdef inline uint64_t word_hash(uint64_t lo, uint64_t hi) noexcept nogil:
    return tw_fold(lo ^ TW_K1, hi ^ TW_K2)

cdef inline uint32_t find_word(const VocabTables* v, uint64_t lo, uint64_t hi, uint64_t hash) noexcept nogil:
    cdef size_t i = <size_t>(hash >> (v.words_shift - FILTER_BITS))
    cdef const WordSlot* slot
    if not v.words_filter[i >> 6] >> (i & 63) & 1:
        return TW_NO_ID
    i >>= FILTER_BITS
    while True:
        slot = &v.words[i]
        if slot.key_lo == lo and slot.key_hi == hi:
            return slot.ids[0] & ID_MASK
        if slot.key_hi == 0:
            return TW_NO_ID
        i = (i + 1) & v.words_mask

# How many ids have each mark.
cdef struct Marked:
    uint32_t n_first
    uint32_t n_second

cdef inline void mark_ids(const VocabTables* v, uint32_t* ids, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        ids[i] |= <uint32_t>(v.marks[ids[i] >> 5] >> (2 * ids[i] & 63) & 3) << ID_BITS

# Take the marks off, and add them up.
cdef inline void unmark_ids(uint32_t* ids, size_t n, Marked* marked) noexcept nogil:
    cdef size_t i
    cdef uint32_t n_first = 0, n_second = 0
    for i in range(n):
        n_first += ids[i] >> ID_BITS & 1
        n_second += ids[i] >> (ID_BITS + 1) & 1
        ids[i] &= UNMARKED
    marked.n_first += n_first
    marked.n_second += n_second

cdef uint32_t find_long(const VocabTables* v, const uint8_t* p, size_t n) noexcept nogil

cdef class Vocab:
    cdef VocabTables tables
    cdef list integers           # the ids as Python ints, so that a list of ids makes none
    # From now on mark ids by their class, a byte for each: the one, the other, or no mark.
    cdef int mark(self, const uint8_t* classes, uint8_t first, uint8_t second) except -1
    cdef int lay_out(self, list entries, bytes flags) except -1
    # Make the hash tables, of ids whose flags are PRESENT alone.
    cdef int index(self) except -1
    cdef void fill(self) noexcept
