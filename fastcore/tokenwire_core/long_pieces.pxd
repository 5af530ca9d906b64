# The ids of pieces that are too long for the cache of words.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    LONG_PIECE_BYTES = 1024  # longest piece that is kept

# A piece that was written to the ring as its bytes and then its ids, when so many bytes had been written before.
cdef struct LongPiece:
    uint64_t at
    uint32_t n_bytes         # 0: none
    uint32_t n_ids

cdef struct LongPieces:
    LongPiece* places        # by hash; NULL: nothing is kept
    uint8_t* ring
    uint64_t n_written       # to the ring in all

# Room for some; without memory, nothing is kept.
cdef void make_long_pieces(LongPieces* kept) noexcept nogil
cdef void free_long_pieces(LongPieces* kept) noexcept nogil

# Where the n >= 8 bytes of a piece are kept, if they are. NULL where pieces of such a length never are.
cdef LongPiece* long_piece_place(const LongPieces* kept, const uint8_t* p, size_t n) noexcept nogil
# Write the ids of a piece to out. Returns how many, 0 where they are not kept.
cdef size_t recall_long_piece(
    const LongPieces* kept, const LongPiece* place, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil
# Keep the ids of a piece, unless they are more than there is room for.
cdef void keep_long_piece(
    LongPieces* kept, LongPiece* place, const uint8_t* p, size_t n, const uint32_t* ids, size_t n_ids
) noexcept nogil
