"""The ids of pieces that are too long for the cache of words, as Chinese, Japanese or Thai have them.

Their bytes and ids are written to a ring, one piece behind the other, over the oldest of them; a table by hash says
where. What has been overwritten since is known by how much has been written, so nothing is ever removed, and a piece
takes no more room than it needs. The bytes are compared, so no answer is a guess.

Cost: a hash and a comparison of the piece; 2 MiB and 128 KiB.
"""

from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from tokenwire_core.vocab cimport TW_K1, TW_K2, tw_fold, tw_load64, tw_new_table

cdef extern from "caches.h" nogil:
    enum:
        PLACE_BITS "TW_LONG_PIECES_BITS"
        RING_BYTES "TW_LONG_PIECES_BYTES"        # a power of two


cdef void make_long_pieces(LongPieces* kept) noexcept nogil:
    kept.places = <LongPiece*>tw_new_table((sizeof(LongPiece) << PLACE_BITS) + RING_BYTES)
    kept.ring = <uint8_t*>(kept.places + (<size_t>1 << PLACE_BITS))
    kept.n_written = 0


cdef void free_long_pieces(LongPieces* kept) noexcept nogil:
    free(kept.places)


cdef LongPiece* long_piece_place(const LongPieces* kept, const uint8_t* p, size_t n) noexcept nogil:
    cdef uint64_t hash = n * TW_K2
    cdef size_t i
    if n > LONG_PIECE_BYTES or kept.places == NULL:
        return NULL
    for i in range(0, n - 7, 8):
        hash = tw_fold(hash ^ tw_load64(p + i), TW_K1)
    hash = tw_fold(hash ^ tw_load64(p + n - 8), TW_K1)
    return &kept.places[(hash * TW_K2) >> (64 - PLACE_BITS)]


cdef size_t recall_long_piece(
    const LongPieces* kept, const LongPiece* place, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil:
    cdef const uint8_t* written = kept.ring + (place.at & (RING_BYTES - 1))
    if place.n_bytes != n or kept.n_written - place.at > RING_BYTES or memcmp(written, p, n) != 0:
        return 0
    memcpy(out, written + n, place.n_ids * sizeof(uint32_t))
    return place.n_ids


cdef void keep_long_piece(
    LongPieces* kept, LongPiece* place, const uint8_t* p, size_t n, const uint32_t* ids, size_t n_ids
) noexcept nogil:
    cdef size_t size = n + n_ids * sizeof(uint32_t), at = kept.n_written & (RING_BYTES - 1)
    if size > RING_BYTES:
        return
    if at + size > RING_BYTES:           # it is to be in one part
        kept.n_written += RING_BYTES - at
        at = 0
    place.at = kept.n_written
    place.n_bytes = <uint32_t>n
    place.n_ids = <uint32_t>n_ids
    memcpy(kept.ring + at, p, n)
    memcpy(kept.ring + at + n, ids, n_ids * sizeof(uint32_t))
    kept.n_written += size
