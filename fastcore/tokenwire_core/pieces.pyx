"""Pieces of text to ids: a word cache in front of the vocabulary and the merges.

Of the pieces of ordinary text 93% are one vocabulary entry and 99% have at most 15 bytes, and few words make most of
it. So a chunk of about 192 pieces is taken in two passes: one makes 16-byte keys and hashes and prefetches the cache
sets, so that the misses of the memory overlap; the other probes (two slots to a set, one cache line), and on a hit
stores the slot's four ids at once and advances by its count. A miss asks the vocabulary for the whole piece (which
wins before any merge, as in tiktoken), then merges, and what has at most four ids is entered into the cache.

The cache belongs to one running call at a time and is bounded: 1 MiB a scratch. Cost on repeated English: about
20 ns a piece beyond splitting; a miss adds one look-up in the vocabulary, or one merge.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tokenwire_core.bpe cimport SHORT_SYMBOLS, merge_long, merge_short
from tokenwire_core.scratch cimport CACHE_BITS, reserve_tokens
from tokenwire_core.vocab cimport (
    COUNT_SHIFT,
    ID_MASK,
    TW_LIKELY,
    TW_NO_ID,
    WORD_BYTES,
    WORD_IDS,
    WordSlot,
    find_long,
    find_word,
    tw_prefetch,
    word_hash,
    word_key,
)


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
    if n <= SHORT_SYMBOLS:
        return <Py_ssize_t>merge_short(m, p, n, out)
    return merge_long(m, &s.merge, p, n, out)


cdef bint encode_pieces(
    const VocabTables* v, const MergeTables* m, Scratch* s, const uint8_t* text, size_t start, size_t k
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
    # At most one id a byte, and WORD_IDS are stored at once. Counting writes every piece to the same place.
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
                slot = &s.cache[(s.hash[j] >> (64 - CACHE_BITS)) << 1]
                n_ids = <Py_ssize_t>encode_word(v, m, s, slot, text + at, n, j, out)
        else:
            n_ids = encode_long(v, m, s, text + at, n, out)
            if n_ids < 0:
                return False
        at = s.chunk_ends[j]
        s.n_ids += n_ids
        if s.keep:
            out += n_ids
    return True


cdef void place_tokens(const VocabTables* v, Scratch* s, size_t first, size_t start) noexcept nogil:
    cdef uint32_t* starts = <uint32_t*>s.starts.p
    cdef uint32_t* ends = <uint32_t*>s.ends.p
    cdef size_t i, at = start
    for i in range(first, s.n_ids):
        starts[i] = <uint32_t>at
        at += v.starts[s.ids[i] + 1] - v.starts[s.ids[i]]
        ends[i] = <uint32_t>at
