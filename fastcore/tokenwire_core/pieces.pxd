# Pieces of text to ids: the word cache, and what happens on a miss.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.bpe cimport MergeScratch, MergeTables
from tokenwire_core.split cimport PIECES_PER_CHUNK, SPLIT_SLACK
from tokenwire_core.vocab cimport VocabTables, WordSlot

cdef enum:
    CHUNK_CAPACITY = PIECES_PER_CHUNK + SPLIT_SLACK + 8
    CACHE_BITS = 14          # sets of two slots: 1 MiB
    KEEP_BYTES = 1 << 20     # buffers above this are freed when a scratch goes back

# What one running call writes to. Never shared while in use.
cdef struct Scratch:
    WordSlot* cache
    uint8_t* text            # a copy of the text with readable padding behind it
    size_t text_capacity
    uint32_t* ids
    size_t ids_capacity
    size_t n_ids             # how many so far; also counts where ids are not kept
    MergeScratch merge
    uint32_t ends[CHUNK_CAPACITY]
    uint64_t key_lo[CHUNK_CAPACITY]
    uint64_t key_hi[CHUNK_CAPACITY]
    uint64_t hash[CHUNK_CAPACITY]

cdef Scratch* new_scratch() noexcept nogil
cdef void free_scratch(Scratch* s) noexcept nogil
cdef void trim_scratch(Scratch* s) noexcept nogil
# Copy n bytes to s.text, zero padding behind; False when memory ran out.
cdef bint hold_text(Scratch* s, const uint8_t* text, size_t n) noexcept nogil
cdef bint append_id(Scratch* s, uint32_t id, bint keep) noexcept nogil
# Encode k pieces of s.text that follow each other: the first begins at `start`, they end at s.ends[:k].
# Ids are kept, or only counted; False when memory ran out.
cdef bint encode_pieces(
    const VocabTables* v, const MergeTables* m, Scratch* s, size_t start, size_t k, bint keep
) noexcept nogil
