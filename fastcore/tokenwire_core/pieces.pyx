"""Pieces of text to ids: a word cache in front of the vocabulary and the merges.

Of the pieces of ordinary text 93% are one vocabulary entry and 99% have at most 15 bytes, and few words make most of
it. So a chunk of about 192 pieces is taken in two passes: one makes 16-byte keys and hashes and prefetches the cache
sets, so that the misses of the memory overlap; the other probes (two slots to a set, one cache line), and on a hit
stores the slot's four ids at once and advances by its count. A miss asks the vocabulary for the whole piece (which
wins before any merge, as in tiktoken), then merges, and what has at most four ids is entered into the cache. A cache
begins with the commonest words of the vocabulary, so that new text and a cold process find these there.

Words of 16 to 31 bytes, of which Russian, Hindi or Thai are full, take a whole set, with a key of 32 bytes and up to
eight ids; so do shorter words of five to eight ids. Longer pieces are kept elsewhere (`long_pieces`).

The caches belong to one running call at a time and are bounded: 4 and 2 MiB a scratch. A miss
adds one look-up in the vocabulary, or one merge.

What did not help: a third pass that prefetches the vocabulary's slots for the words that the cache lacks. It costs
every word more than it saves in English, and as much elsewhere.
"""

from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.byte_merges cimport merge_bytes
from tokenwire_core.long_pieces cimport LongPiece, keep_long_piece, long_piece_place, make_long_pieces, recall_long_piece
from tokenwire_core.scratch cimport CACHES
from tokenwire_core.vocab cimport PRESENT, TW_NO_ID, UNMARKED, find_long, find_word, mark_ids


cdef struct ByteModel:
    const VocabTables* vocab
    const ByteTables* merges


cdef Py_ssize_t encode_byte_word(
    const void* model, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil:
    cdef const VocabTables* v = (<const ByteModel*>model).vocab
    cdef const ByteTables* m = (<const ByteModel*>model).merges
    cdef LongPiece* place = NULL
    cdef Py_ssize_t n_ids
    if n > LONG_BYTES:
        place = long_piece_place(&s.long_pieces, p, n)
        n_ids = <Py_ssize_t>recall_long_piece(&s.long_pieces, place, p, n, out) if place != NULL else 0
        if n_ids:
            return n_ids
    out[0] = find_word(v, s.key_lo[j], s.key_hi[j], s.hash[j]) if n <= WORD_BYTES else find_long(v, p, n)
    n_ids = 1 if out[0] != TW_NO_ID else merge_bytes(m, &s.merge, p, n, out)
    if v.marks != NULL:
        mark_ids(v, out, n_ids)
    if place != NULL and n_ids > 0:
        keep_long_piece(&s.long_pieces, place, p, n, out, n_ids)
    return n_ids


cdef bint encode_pieces(
    const VocabTables* v, const ByteTables* m, Scratch* s, const uint8_t* text, size_t start, size_t k
) noexcept nogil:
    cdef ByteModel model
    model.vocab = v
    model.merges = m
    return encode_words(encode_byte_word, &model, s, text, start, k)


cdef void seed_cache(const VocabTables* v, Scratch* s) noexcept nogil:
    cdef WordSlot* slot
    cdef uint32_t id
    cdef size_t n
    if not CACHES:
        return
    make_long_pieces(&s.long_pieces)
    for id in range(v.vocab_size):
        n = v.starts[id + 1] - v.starts[id]
        if v.flags[id] != PRESENT or not 0 < n <= WORD_BYTES:
            continue
        word_key(v.blob + v.starts[id], n, &s.key_lo[0], &s.key_hi[0])
        s.hash[0] = word_hash(s.key_lo[0], s.key_hi[0])
        slot = set_of(s, 0)
        if slot.key_hi:
            slot += 1
        if not slot.key_hi:
            slot.key_lo = s.key_lo[0]
            slot.key_hi = s.key_hi[0]
            slot.ids[0] = id
            if v.marks != NULL:
                mark_ids(v, slot.ids, 1)
            slot.ids[0] |= <uint32_t>1 << COUNT_SHIFT


cdef void place_tokens(const VocabTables* v, Scratch* s, size_t first, size_t start) noexcept nogil:
    cdef uint32_t* starts = <uint32_t*>s.starts.p
    cdef uint32_t* ends = <uint32_t*>s.ends.p
    cdef size_t i, at = start
    cdef uint32_t id
    for i in range(first, s.n_ids):
        id = s.ids[i] & UNMARKED
        starts[i] = <uint32_t>at
        at += v.starts[id + 1] - v.starts[id]
        ends[i] = <uint32_t>at
