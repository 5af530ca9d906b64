"""Pieces of text to ids: a word cache in front of the vocabulary and the merges.

Of the pieces of ordinary text 93% are one vocabulary entry and 99% have at most 15 bytes, and few words make most of
it. So a chunk of about 192 pieces is taken in two passes: one makes 16-byte keys and hashes and prefetches the cache
sets, so that the misses of the memory overlap; the other probes (two slots to a set, one cache line), and on a hit
stores the slot's four ids at once and advances by its count. A miss asks the vocabulary for the whole piece (which
wins before any merge, as in tiktoken), then merges, and what has at most four ids is entered into the cache.

The cache belongs to one running call at a time and is bounded: 1 MiB a scratch. Cost on repeated English: about
20 ns a piece beyond splitting; a miss adds one look-up in the vocabulary, or one merge.
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from tokenwire_core.bpe cimport SHORT_BYTES, free_merge_scratch, merge_long, merge_short
from tokenwire_core.split cimport TEXT_PADDING
from tokenwire_core.vocab cimport (
    COUNT_SHIFT,
    ID_MASK,
    TW_LIKELY,
    TW_NO_ID,
    WORD_BYTES,
    WORD_IDS,
    find_long,
    find_word,
    tw_prefetch,
    word_hash,
    word_key,
)


cdef Scratch* new_scratch() noexcept nogil:
    cdef Scratch* s = <Scratch*>calloc(1, sizeof(Scratch))
    if s == NULL:
        return NULL
    s.cache = <WordSlot*>calloc(<size_t>2 << CACHE_BITS, sizeof(WordSlot))
    if s.cache == NULL:
        free(s)
        return NULL
    return s


cdef void free_scratch(Scratch* s) noexcept nogil:
    free(s.cache)
    free(s.text)
    free(s.ids)
    free_merge_scratch(&s.merge)
    free(s)


cdef void trim_scratch(Scratch* s) noexcept nogil:
    """Free what a large text has left behind, so that an idle scratch holds a few MiB at most."""
    if s.text_capacity > KEEP_BYTES:
        free(s.text)
        s.text = NULL
        s.text_capacity = 0
    if s.ids_capacity * sizeof(uint32_t) > KEEP_BYTES:
        free(s.ids)
        s.ids = NULL
        s.ids_capacity = 0
    if s.merge.heap_capacity * sizeof(uint64_t) > KEEP_BYTES:
        free_merge_scratch(&s.merge)


cdef bint hold_text(Scratch* s, const uint8_t* text, size_t n) noexcept nogil:
    cdef size_t capacity = n + TEXT_PADDING
    if s.text_capacity < capacity:
        capacity += capacity >> 2
        free(s.text)
        s.text = <uint8_t*>malloc(capacity)
        s.text_capacity = capacity if s.text != NULL else 0
        if s.text == NULL:
            return False
    memcpy(s.text, text, n)
    memset(s.text + n, 0, TEXT_PADDING)
    return True


cdef bint reserve_ids(Scratch* s, size_t capacity) noexcept nogil:
    cdef void* grown
    if s.ids_capacity >= capacity:
        return True
    capacity += capacity >> 1
    grown = realloc(s.ids, capacity * sizeof(uint32_t))
    if grown == NULL:
        return False
    s.ids = <uint32_t*>grown
    s.ids_capacity = capacity
    return True


cdef bint append_id(Scratch* s, uint32_t id, bint keep) noexcept nogil:
    if keep:
        if not reserve_ids(s, s.n_ids + 1):
            return False
        s.ids[s.n_ids] = id
    s.n_ids += 1
    return True


cdef inline void enter(WordSlot* slot, uint64_t lo, uint64_t hi, const uint32_t* ids, size_t n) noexcept nogil:
    """Make ids the newest entry of a set: the older of its two slots goes."""
    cdef size_t i
    slot[1] = slot[0]
    slot.key_lo = lo
    slot.key_hi = hi
    slot.ids[0] = ids[0] | <uint32_t>n << COUNT_SHIFT
    for i in range(1, n):
        slot.ids[i] = ids[i]


cdef size_t encode_word(
    const VocabTables* v, const MergeTables* m, Scratch* s, WordSlot* slot,
    const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil:
    """Encode the word of n <= WORD_BYTES bytes that the cache lacks, and enter it. Returns its number of ids."""
    cdef size_t n_ids = 1
    out[0] = find_word(v, s.key_lo[j], s.key_hi[j], s.hash[j])
    if out[0] == TW_NO_ID:
        n_ids = merge_short(m, p, n, out)
    if n_ids <= WORD_IDS:
        enter(slot, s.key_lo[j], s.key_hi[j], out, n_ids)
    return n_ids


cdef Py_ssize_t encode_long(
    const VocabTables* v, const MergeTables* m, Scratch* s, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil:
    out[0] = find_long(v, p, n)
    if out[0] != TW_NO_ID:
        return 1
    if n <= SHORT_BYTES:
        return <Py_ssize_t>merge_short(m, p, n, out)
    return merge_long(m, &s.merge, p, n, out)


cdef bint encode_pieces(
    const VocabTables* v, const MergeTables* m, Scratch* s, size_t start, size_t k, bint keep
) noexcept nogil:
    cdef const uint8_t* text = s.text
    cdef size_t j, n, at = start
    cdef Py_ssize_t n_ids
    cdef WordSlot* slot
    cdef uint32_t* out
    for j in range(k):
        n = s.ends[j] - at
        if TW_LIKELY(n <= WORD_BYTES):
            word_key(text + at, n, &s.key_lo[j], &s.key_hi[j])
            s.hash[j] = word_hash(s.key_lo[j], s.key_hi[j])
            tw_prefetch(&s.cache[(s.hash[j] >> (64 - CACHE_BITS)) << 1])
        at = s.ends[j]
    # At most one id a byte, and WORD_IDS are stored at once. Counting writes every piece to the same place.
    if not reserve_ids(s, (s.n_ids if keep else 0) + at - start + WORD_IDS):
        return False
    out = s.ids + s.n_ids if keep else s.ids
    at = start
    for j in range(k):
        n = s.ends[j] - at
        if TW_LIKELY(n <= WORD_BYTES):
            slot = &s.cache[(s.hash[j] >> (64 - CACHE_BITS)) << 1]
            if slot.key_lo != s.key_lo[j] or slot.key_hi != s.key_hi[j]:
                slot += 1
            if TW_LIKELY(slot.key_lo == s.key_lo[j] and slot.key_hi == s.key_hi[j]):
                n_ids = slot.ids[0] >> COUNT_SHIFT
                memcpy(out, slot.ids, sizeof(slot.ids))
                out[0] &= ID_MASK
            else:
                slot = &s.cache[(s.hash[j] >> (64 - CACHE_BITS)) << 1]
                n_ids = <Py_ssize_t>encode_word(v, m, s, slot, text + at, n, j, out)
        else:
            n_ids = encode_long(v, m, s, text + at, n, out)
            if n_ids < 0:
                return False
        at = s.ends[j]
        s.n_ids += n_ids
        if keep:
            out += n_ids
    return True
