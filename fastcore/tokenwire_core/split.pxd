# Text to pieces: the pre-tokenizers of known patterns.
from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    PIECES_PER_CHUNK = 192
    SPLIT_SLACK = 72         # a chunk may hold this many pieces more
    TEXT_PADDING = 80        # bytes that must be readable behind a text

# Which family of patterns `pattern` belongs to, by its exact text; -1 for none that is compiled here.
cpdef int pattern_id(str pattern)

# The ends of the next pieces of the well-formed text[:n_bytes]. text[position[0]] begins a piece; position moves to
# the end of the last one. Returns how many, 0 only at the end; `ends` has room for PIECES_PER_CHUNK + SPLIT_SLACK.
cdef size_t split_chunk(
    int family, const uint8_t* text, size_t n_bytes, size_t* position, uint32_t* ends
) noexcept nogil
