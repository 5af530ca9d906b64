# Pieces of text to ids: the word cache, and what happens on a miss.
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tokenwire_core.byte_merges cimport ByteTables
from tokenwire_core.scratch cimport CACHE_BITS, CACHES, Scratch, reserve_tokens
from tokenwire_core.vocab cimport (
    COUNT_SHIFT,
    ID_MASK,
    TW_K1,
    TW_K2,
    TW_LIKELY,
    WORD_BYTES,
    WORD_IDS,
    VocabTables,
    WordSlot,
    tw_first_bytes,
    tw_fold,
    tw_load64,
    tw_prefetch,
    word_hash,
    word_key,
)

cdef enum:
    LONG_BYTES = 31          # longest word that the cache takes
    LONG_IDS = 8             # most ids of one

# Write the ids of a word, of which the cache knows nothing, to `out`, which has room for n and for LONG_IDS. Where
# n <= WORD_BYTES, its key and hash are those at j in s. Returns how many ids there are, -1 when memory ran out.
ctypedef Py_ssize_t (*WordEncoder)(
    const void* model, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil

# The two slots of a word's set.
cdef inline WordSlot* set_of(const Scratch* s, size_t j) noexcept nogil:
    return &s.cache[(s.hash[j] >> (64 - CACHE_BITS)) << 1]

# Make ids the newest entry of a set: the older of its two slots goes.
cdef inline void enter(Scratch* s, size_t j, const uint32_t* ids, size_t n) noexcept nogil:
    cdef WordSlot* slot = set_of(s, j)
    cdef size_t i
    if not CACHES:
        return
    # The halves of what took the whole set go together.
    slot[1] = slot[0]
    if slot[0].ids[0] >> COUNT_SHIFT == 0:
        slot[1].key_hi = 0
    slot.key_lo = s.key_lo[j]
    slot.key_hi = s.key_hi[j]
    slot.ids[0] = ids[0] | <uint32_t>n << COUNT_SHIFT
    for i in range(1, n):
        slot.ids[i] = ids[i]

# More of them take the whole set: the slot of the key has no count, the other has the ids.
cdef inline void enter_many(Scratch* s, size_t j, const uint32_t* ids, size_t n) noexcept nogil:
    cdef WordSlot* slot = set_of(s, j)
    if not CACHES:
        return
    slot[0].key_lo = s.key_lo[j]
    slot[0].key_hi = s.key_hi[j]
    slot[0].ids[0] = 0
    memcpy(slot + 1, ids, n * sizeof(uint32_t))
    (<uint32_t*>(slot + 1))[0] |= <uint32_t>n << COUNT_SHIFT

# A longer word takes a whole set: four numbers are its key, with the length where a short key has it, and four its ids.
# No short key is like either half: the one has a greater length, and of the other the top byte is 0, as ids are small.
cdef inline void long_key(const uint8_t* p, size_t n, uint64_t* key) noexcept nogil:
    key[0] = tw_load64(p)
    key[1] = tw_first_bytes(p + 8, 7) | <uint64_t>n << 56
    key[2] = tw_first_bytes(p + WORD_BYTES, <unsigned>min(n - WORD_BYTES, <size_t>8))
    key[3] = tw_first_bytes(p + WORD_BYTES + 8, <unsigned>(n - WORD_BYTES - 8)) if n > WORD_BYTES + 8 else 0

cdef inline uint64_t long_key_hash(const uint64_t* key) noexcept nogil:
    return tw_fold(key[0] ^ TW_K1, key[1] ^ TW_K2) + tw_fold(key[2] ^ TW_K2, key[3] ^ TW_K1) * TW_K2

cdef inline Py_ssize_t encode_long_word(
    WordEncoder encode_word, const void* model, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil:
    cdef uint64_t* line = <uint64_t*>set_of(s, j)
    cdef uint64_t key[4]
    cdef Py_ssize_t n_ids
    long_key(p, n, key)
    if line[0] == key[0] and line[1] == key[1] and line[2] == key[2] and line[3] == key[3]:
        memcpy(out, line + 4, LONG_IDS * sizeof(uint32_t))
        n_ids = out[0] >> COUNT_SHIFT
        out[0] &= ID_MASK
        return n_ids
    n_ids = encode_word(model, s, p, n, j, out)
    if CACHES and 0 < n_ids <= LONG_IDS:
        memcpy(line, key, sizeof(key))
        memcpy(line + 4, out, n_ids * sizeof(uint32_t))
        (<uint32_t*>(line + 4))[0] |= <uint32_t>n_ids << COUNT_SHIFT
        if n_ids <= 3:
            (<uint32_t*>(line + 4))[3] = 0
    return n_ids

# Encode k words of text that follow each other: the first begins at `start`, they end at s.chunk_ends[:k]. Ids are
# kept if s.keep, or only counted; their places are not. False when memory ran out.
cdef inline bint encode_words(
    WordEncoder encode_word, const void* model, Scratch* s, const uint8_t* text, size_t start, size_t k
) noexcept nogil:
    cdef size_t j, n, at = start
    cdef Py_ssize_t n_ids
    cdef uint64_t key[4]
    cdef WordSlot* slot
    cdef uint32_t* out
    for j in range(k):
        n = s.chunk_ends[j] - at
        if TW_LIKELY(n <= WORD_BYTES):
            word_key(text + at, n, &s.key_lo[j], &s.key_hi[j])
            s.hash[j] = word_hash(s.key_lo[j], s.key_hi[j])
            tw_prefetch(set_of(s, j))
        elif n <= LONG_BYTES:
            long_key(text + at, n, key)
            s.hash[j] = long_key_hash(key)
            tw_prefetch(set_of(s, j))
        at = s.chunk_ends[j]
    # At most one id a byte, and LONG_IDS are stored at once. Counting writes every word to the same place.
    if not reserve_tokens(s, (s.n_ids if s.keep else 0) + at - start + LONG_IDS):
        return False
    out = s.ids + s.n_ids if s.keep else s.ids
    at = start
    for j in range(k):
        n = s.chunk_ends[j] - at
        if TW_LIKELY(n <= WORD_BYTES):
            slot = set_of(s, j)
            if slot.key_lo != s.key_lo[j] or slot.key_hi != s.key_hi[j]:
                slot += 1
            if TW_LIKELY(slot.key_lo == s.key_lo[j] and slot.key_hi == s.key_hi[j]):
                n_ids = slot.ids[0] >> COUNT_SHIFT
                memcpy(out, slot.ids, sizeof(slot.ids))
                if not TW_LIKELY(n_ids):
                    memcpy(out, slot + 1, LONG_IDS * sizeof(uint32_t))
                    n_ids = out[0] >> COUNT_SHIFT
                out[0] &= ID_MASK
            else:
                n_ids = encode_word(model, s, text + at, n, j, out)
                if 0 < n_ids <= WORD_IDS:
                    enter(s, j, out, n_ids)
                elif WORD_IDS < n_ids <= LONG_IDS:
                    enter_many(s, j, out, n_ids)
        elif n <= LONG_BYTES:
            n_ids = encode_long_word(encode_word, model, s, text + at, n, j, out)
        else:
            n_ids = encode_word(model, s, text + at, n, j, out)
        if n_ids < 0:
            return False
        at = s.chunk_ends[j]
        s.n_ids += n_ids
        if s.keep:
            out += n_ids
    return True

# encode_words with merges of bytes, where whole words that are in the vocabulary come first.
cdef bint encode_pieces(
    const VocabTables* v, const ByteTables* m, Scratch* s, const uint8_t* text, size_t start, size_t k
) noexcept nogil

# Prepare the caches of a new scratch for encode_pieces: words of the vocabulary are in them, the lowest ids first.
cdef void seed_cache(const VocabTables* v, Scratch* s) noexcept nogil

# The places of the tokens from the `first` on, which follow each other from `start` byte for byte.
cdef void place_tokens(const VocabTables* v, Scratch* s, size_t first, size_t start) noexcept nogil
