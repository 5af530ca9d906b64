# One piece through a model that takes words as `encode_words` gives them, with or without places.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.pieces cimport LONG_BYTES, LONG_IDS, WordEncoder, encode_words
from tokenwire_core.scratch cimport DONE, NO_MEMORY, Scratch, reserve_tokens

# Write a token of the piece at `out`, where the WordEncoder has room. Returns where the next one goes.
cdef inline uint32_t* put(Scratch* s, uint32_t* out, uint32_t id, size_t start, size_t end) noexcept nogil:
    out[0] = id
    if s.tracing:
        (<uint32_t*>s.starts.p)[out - s.ids] = <uint32_t>start
        (<uint32_t*>s.ends.p)[out - s.ids] = <uint32_t>end
    return out + 1

# Append the tokens of the piece p[:n], at most n. The WordEncoder writes them with `put`; where it cannot, it returns
# minus the Status. Returns the Status.
cdef inline int encode_piece(
    WordEncoder encode_word, const void* tables, Scratch* s, const uint8_t* p, size_t n
) noexcept nogil:
    cdef size_t first = s.n_ids if s.keep else 0
    cdef Py_ssize_t n_ids
    if n <= LONG_BYTES and not s.tracing:
        s.chunk_ends[0] = <uint32_t>n
        if encode_words(encode_word, tables, s, p, 0, 1):
            return DONE                  # else the same again tells why
    if not reserve_tokens(s, first + n + LONG_IDS):
        return NO_MEMORY
    n_ids = encode_word(tables, s, p, n, 0, s.ids + first)
    if n_ids < 0:
        return <int>-n_ids
    s.n_ids += n_ids
    return DONE
