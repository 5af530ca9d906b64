# Pieces of text to ids: the word cache, and what happens on a miss.
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from tokenwire_core.bpe cimport MergeTables
from tokenwire_core.scratch cimport CACHE_BITS, Scratch, reserve_tokens
from tokenwire_core.vocab cimport (
    COUNT_SHIFT,
    ID_MASK,
    TW_LIKELY,
    WORD_BYTES,
    WORD_IDS,
    VocabTables,
    WordSlot,
    tw_prefetch,
    word_hash,
    word_key,
)

# Write the ids of a word, of which the cache knows nothing, to `out`, which has room for n and for WORD_IDS. Where
# n <= WORD_BYTES, its key and hash are those at j in s. Returns how many ids there are, -1 when memory ran out.
ctypedef Py_ssize_t (*WordEncoder)(
    const void* model, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil

# Make ids the newest entry of a set: the older of its two slots goes.
cdef inline void enter(WordSlot* slot, const Scratch* s, size_t j, const uint32_t* ids, size_t n) noexcept nogil:
    cdef size_t i
    slot[1] = slot[0]
    slot.key_lo = s.key_lo[j]
    slot.key_hi = s.key_hi[j]
    slot.ids[0] = ids[0] | <uint32_t>n << COUNT_SHIFT
    for i in range(1, n):
        slot.ids[i] = ids[i]

# Encode k words of text that follow each other: the first begins at `start`, they end at s.chunk_ends[:k]. Ids are
# kept if s.keep, or only counted; their places are not. False when memory ran out.
cdef inline bint encode_words(
    WordEncoder encode_word, const void* model, Scratch* s, const uint8_t* text, size_t start, size_t k
) noexcept nogil:
    cdef size_t j, n, at = start
    cdef Py_ssize_t n_ids
    cdef WordSlot* slot
    cdef uint32_t* out
    for j in range(k):
        n = s.chunk_ends[j] - at
        if TW_LIKELY(n <= WORD_BYTES):
            word_key(text + at, n, &s.key_lo[j], &s.key_hi[j])
            s.hash[j] = word_hash(s.key_lo[j], s.key_hi[j])
            tw_prefetch(&s.cache[(s.hash[j] >> (64 - CACHE_BITS)) << 1])
        at = s.chunk_ends[j]
    # At most one id a byte, and WORD_IDS are stored at once. Counting writes every word to the same place.
    if not reserve_tokens(s, (s.n_ids if s.keep else 0) + at - start + WORD_IDS):
        return False
    out = s.ids + s.n_ids if s.keep else s.ids
    at = start
    for j in range(k):
        n = s.chunk_ends[j] - at
        if TW_LIKELY(n <= WORD_BYTES):
            slot = &s.cache[(s.hash[j] >> (64 - CACHE_BITS)) << 1]
            if slot.key_lo != s.key_lo[j] or slot.key_hi != s.key_hi[j]:
                slot += 1
            if TW_LIKELY(slot.key_lo == s.key_lo[j] and slot.key_hi == s.key_hi[j]):
                n_ids = slot.ids[0] >> COUNT_SHIFT
                memcpy(out, slot.ids, sizeof(slot.ids))
                out[0] &= ID_MASK
            else:
                n_ids = encode_word(model, s, text + at, n, j, out)
                if 0 < n_ids <= WORD_IDS:
                    enter(&s.cache[(s.hash[j] >> (64 - CACHE_BITS)) << 1], s, j, out, n_ids)
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
    const VocabTables* v, const MergeTables* m, Scratch* s, const uint8_t* text, size_t start, size_t k
) noexcept nogil

# The places of the tokens from the `first` on, which follow each other from `start` byte for byte.
cdef void place_tokens(const VocabTables* v, Scratch* s, size_t first, size_t start) noexcept nogil
