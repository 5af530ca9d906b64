# What SentencePiece's models give out: pieces, and what text without one becomes.
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy, memmove

from tokenwire_core.aligned cimport TRACE_REFERENCE
from tokenwire_core.one_piece cimport put
from tokenwire_core.pieces cimport enter, set_of
from tokenwire_core.scratch cimport Scratch, reserve_tokens
from tokenwire_core.sentencepiece_normalizer cimport character_bytes
from tokenwire_core.trie cimport NO_VALUE
from tokenwire_core.vocab cimport COUNT_SHIFT, ID_MASK, WORD_BYTES, WORD_IDS, WordSlot, word_hash, word_key

# What text without a piece becomes.
cdef struct Fallback:
    uint32_t unk             # or NO_VALUE: the pieces of its bytes
    uint32_t byte_ids[256]

# The tokens of a text, on their way to a scratch.
cdef struct Output:
    Scratch* s
    const Fallback* fallback
    const uint8_t* p         # the text
    uint32_t* first          # since the last `open_output`
    uint32_t* next
    size_t n_before          # tokens there were then
    bint after_unknown       # the last one is the unknown piece, and takes unknown text that follows

cdef inline void begin_output(Output* o, Scratch* s, const Fallback* fallback, const uint8_t* p) noexcept nogil:
    o.s = s
    o.fallback = fallback
    o.p = p
    o.after_unknown = False

# Where the next n ids go, and room for WORD_IDS behind them. Where ids are only counted that is always the same place.
# NULL when memory ran out. The ids are there once they are added to s.n_ids.
cdef inline uint32_t* next_ids(Scratch* s, size_t n) noexcept nogil:
    cdef size_t first = s.n_ids if s.keep else 0
    # Places have room of their own, perhaps less.
    if (first + n + WORD_IDS > s.ids_capacity or s.tracing) and not reserve_tokens(s, first + n + WORD_IDS):
        return NULL
    return s.ids + first

# Make room for the tokens of n bytes. False when memory ran out.
cdef inline bint open_output(Output* o, size_t n) noexcept nogil:
    o.n_before = o.s.n_ids
    o.first = o.next = next_ids(o.s, n)
    return o.first != NULL

# Count what was put since then.
cdef inline void close_output(Output* o) noexcept nogil:
    o.s.n_ids += o.next - o.first

# Append the ids of the piece p[:n] if it is a word that the cache knows. `ids` is from next_ids(s, 1). It knows no
# places, so where they are asked for it says nothing.
cdef inline bint recall(Scratch* s, const uint8_t* p, size_t n, uint32_t* ids) noexcept nogil:
    cdef const WordSlot* slot
    if n > WORD_BYTES or s.tracing:
        return False
    word_key(p, n, &s.key_lo[0], &s.key_hi[0])
    s.hash[0] = word_hash(s.key_lo[0], s.key_hi[0])
    slot = set_of(s, 0)
    if slot.key_lo != s.key_lo[0] or slot.key_hi != s.key_hi[0]:
        slot += 1
        if slot.key_lo != s.key_lo[0] or slot.key_hi != s.key_hi[0]:
            return False
    memcpy(ids, slot.ids, sizeof(slot.ids))
    ids[0] &= ID_MASK
    s.n_ids += slot.ids[0] >> COUNT_SHIFT
    return True

# Take the ids at o.first, which were recalled since then and are counted.
cdef inline void take_recalled(Output* o) noexcept nogil:
    cdef size_t n = o.s.n_ids - o.n_before
    cdef uint32_t unk = o.fallback.unk, last
    if unk == NO_VALUE:
        return
    last = o.first[n - 1]
    if o.after_unknown and o.first[0] == unk:
        o.s.n_ids -= 1
        memmove(o.first, o.first + 1, (n - 1) * sizeof(uint32_t))
    o.after_unknown = last == unk

# Whether the word cache takes what was put since then, for a part of n bytes that `recall` has just not found.
cdef inline bint may_remember(const Output* o, size_t n) noexcept nogil:
    return n <= WORD_BYTES and o.next - o.first <= WORD_IDS and not o.s.tracing

# Give it to the cache if so.
cdef inline void remember(Output* o, size_t n) noexcept nogil:
    if may_remember(o, n):
        enter(o.s, 0, o.first, o.next - o.first)

# Put the piece `id` for p[start:end].
cdef inline void put_piece(Output* o, size_t start, size_t end, uint32_t id) noexcept nogil:
    o.next = put(o.s, o.next, id, start, end)
    o.after_unknown = False

# Put what stands for p[start:end], which is no piece.
cdef void put_unknown(Output* o, size_t start, size_t end) noexcept nogil

cdef inline void put_cut(Output* o, size_t start, size_t end, uint32_t id) noexcept nogil:
    if id != NO_VALUE:
        put_piece(o, start, end, id)
    else:
        put_unknown(o, start, end)

cdef class FallbackTable:
    cdef Fallback fallback
