# What a model that takes one piece at a time writes its ids with, and its use of the word cache of `pieces`.
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from tokenwire_core.pieces cimport enter
from tokenwire_core.scratch cimport CACHE_BITS, Scratch, reserve_tokens
from tokenwire_core.vocab cimport COUNT_SHIFT, ID_MASK, WORD_BYTES, WORD_IDS, WordSlot, word_hash, word_key

# Where the next n ids go, and room for WORD_IDS behind them. Where ids are only counted that is always the same place.
# NULL when memory ran out. The ids are there once they are added to s.n_ids.
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

cdef inline WordSlot* set_of(const Scratch* s) noexcept nogil:
    return &s.cache[(s.hash[0] >> (64 - CACHE_BITS)) << 1]

# Append the ids of the piece p[:n] if it is a word that the cache knows. `ids` is from next_ids(s, 1). It knows no
# places, so where they are asked for it says nothing.
cdef inline bint recall(Scratch* s, const uint8_t* p, size_t n, uint32_t* ids) noexcept nogil:
    cdef const WordSlot* slot
    if n > WORD_BYTES or s.tracing:
        return False
    word_key(p, n, &s.key_lo[0], &s.key_hi[0])
    s.hash[0] = word_hash(s.key_lo[0], s.key_hi[0])
    slot = set_of(s)
    if slot.key_lo != s.key_lo[0] or slot.key_hi != s.key_hi[0]:
        slot += 1
        if slot.key_lo != s.key_lo[0] or slot.key_hi != s.key_hi[0]:
            return False
    memcpy(ids, slot.ids, sizeof(slot.ids))
    ids[0] &= ID_MASK
    s.n_ids += slot.ids[0] >> COUNT_SHIFT
    return True

# Append the ids[:n_ids] of the piece of n bytes, which recall has just not found: at next_ids, and in the cache.
cdef inline void append(Scratch* s, size_t n, const uint32_t* ids, size_t n_ids) noexcept nogil:
    s.n_ids += n_ids
    if n <= WORD_BYTES and n_ids <= WORD_IDS and not s.tracing:
        enter(s, 0, ids, n_ids)
