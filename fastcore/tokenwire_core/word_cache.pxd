# The word cache for models that take one piece at a time. It is the scratch's, and knows the words of one model.
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tokenwire_core.scratch cimport CACHE_BITS, Scratch, reserve_tokens
from tokenwire_core.vocab cimport COUNT_SHIFT, ID_MASK, TW_LIKELY, WORD_BYTES, WORD_IDS, WordSlot, word_hash, word_key

# A word that the cache has no ids of.
cdef struct Word:
    uint64_t lo
    uint64_t hi
    WordSlot* set            # NULL: it is none that the cache takes

# Where the next n ids go, of which WORD_IDS may be written more. Where ids are only counted that is always the same
# place. NULL when memory ran out. What is written counts from `s.n_ids += n` on.
cdef inline uint32_t* next_ids(Scratch* s, size_t n) noexcept nogil:
    cdef size_t first = s.n_ids if s.keep else 0
    # Places have room of their own, perhaps less.
    if (first + n + WORD_IDS > s.ids_capacity or s.tracing) and not reserve_tokens(s, first + n + WORD_IDS):
        return NULL
    return s.ids + first

# Write a token of the piece at `out`, which is in what next_ids has given. Returns where the next one goes.
cdef inline uint32_t* put(Scratch* s, uint32_t* out, uint32_t id, size_t start, size_t end) noexcept nogil:
    out[0] = id
    if s.tracing:
        (<uint32_t*>s.starts.p)[out - s.ids] = <uint32_t>start
        (<uint32_t*>s.ends.p)[out - s.ids] = <uint32_t>end
    return out + 1

# Append the ids of the piece p[:n] if it is a word that the cache knows. `ids` is from next_ids(s, 1); no places are
# asked for, else nothing is known. False: encode it, and tell `remember`.
cdef inline bint recall(Scratch* s, Word* word, const uint8_t* p, size_t n, uint32_t* ids) noexcept nogil:
    cdef const WordSlot* slot
    word.set = NULL
    if n > WORD_BYTES or s.tracing:
        return False
    word_key(p, n, &word.lo, &word.hi)
    word.set = &s.cache[(word_hash(word.lo, word.hi) >> (64 - CACHE_BITS)) << 1]
    slot = word.set
    if slot.key_lo != word.lo or slot.key_hi != word.hi:
        slot += 1
        if slot.key_lo != word.lo or slot.key_hi != word.hi:
            return False
    memcpy(ids, slot.ids, sizeof(slot.ids))
    ids[0] &= ID_MASK
    s.n_ids += slot.ids[0] >> COUNT_SHIFT
    return True

# Make n ids those of the word, if they are few enough: the older of the two words of its set goes.
cdef inline void remember(const Word* word, const uint32_t* ids, size_t n) noexcept nogil:
    if word.set == NULL or n > WORD_IDS or n == 0:
        return
    word.set[1] = word.set[0]
    word.set.key_lo = word.lo
    word.set.key_hi = word.hi
    memcpy(word.set.ids, ids, n * sizeof(uint32_t))
    word.set.ids[0] |= <uint32_t>n << COUNT_SHIFT
