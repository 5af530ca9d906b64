"""The words of a normalized text, a chunk at a time, and what the word cache knows of them.

A word is what is between two safe edges (`safe_edges`). As in `pieces`, the keys of many are made before the first is
looked up, so that the misses of the memory overlap.

Most words begin with `▁`, in code with a run of it. Its three bytes are not in the key: the key is of at most 15 bytes
behind the run, and the run's length stands beside theirs. With tracing no word is known.
"""

from tokenwire_core.safe_edges cimport next_edge
from tokenwire_core.split cimport PIECES_PER_CHUNK
from tokenwire_core.vocab cimport WORD_BYTES, tw_prefetch, word_hash, word_key

cdef enum:
    MAX_SPACES = 15
    SPACE_BYTES = 3
    SPACES_SHIFT = 60        # the length of the run, above that of what follows


cdef size_t next_words(const EdgeTables* t, Scratch* s, const uint8_t* p, size_t n, size_t start) noexcept nogil:
    cdef size_t k = 0, core, end, n_spaces
    while k < PIECES_PER_CHUNK and start < n:
        end = next_edge(t, p, n, start, &core)
        n_spaces = (core - start) // SPACE_BYTES
        s.chunk_ends[k] = <uint32_t>end
        s.key_hi[k] = 0
        if end - core <= WORD_BYTES and n_spaces <= MAX_SPACES and not s.tracing:
            word_key(p + core, end - core, &s.key_lo[k], &s.key_hi[k])
            s.key_hi[k] |= <uint64_t>n_spaces << SPACES_SHIFT
            s.hash[k] = word_hash(s.key_lo[k], s.key_hi[k])
            tw_prefetch(set_of(s, k))
        start = end
        k += 1
    return k
