# The words of a normalized text, a chunk at a time, and what the word cache knows of them.
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tokenwire_core.pieces cimport enter, set_of
from tokenwire_core.safe_edges cimport EdgeTables
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.sentencepiece_output cimport Output
from tokenwire_core.trie cimport NO_VALUE
from tokenwire_core.vocab cimport COUNT_SHIFT, ID_MASK, WORD_IDS, WordSlot

# Find the words that begin at `start` < n, at most PIECES_PER_CHUNK, and ask the memory for what is known of them.
# They end at s.chunk_ends; s.key_hi is 0 where the cache takes none. Returns how many.
cdef size_t next_words(const EdgeTables* t, Scratch* s, const uint8_t* p, size_t n, size_t start) noexcept nogil

# What is known of word number j, or NULL.
cdef inline const WordSlot* known_word(const Scratch* s, size_t j) noexcept nogil:
    cdef const WordSlot* slot
    if s.key_hi[j] == 0:
        return NULL
    slot = set_of(s, j)
    if slot.key_lo != s.key_lo[j] or slot.key_hi != s.key_hi[j]:
        slot += 1
        if slot.key_lo != s.key_lo[j] or slot.key_hi != s.key_hi[j]:
            return NULL
    return slot

# Put the ids of a word that is known. Returns how many it has.
cdef inline size_t put_word(Output* o, const WordSlot* slot) noexcept nogil:
    cdef size_t n = slot.ids[0] >> COUNT_SHIFT, i
    cdef uint32_t unk = o.fallback.unk, first = slot.ids[0] & ID_MASK
    if unk != NO_VALUE and o.after_unknown and first == unk:
        for i in range(1, n):
            o.next[i - 1] = slot.ids[i]
        o.next += n - 1
    else:
        memcpy(o.next, slot.ids, WORD_IDS * sizeof(uint32_t))
        o.next[0] = first
        o.next += n
    if unk != NO_VALUE:
        o.after_unknown = (slot.ids[n - 1] if n > 1 else first) == unk
    return n

# Whether the cache would take n ids of word number j.
cdef inline bint may_learn(const Scratch* s, size_t j, size_t n) noexcept nogil:
    return s.key_hi[j] != 0 and n <= WORD_IDS

# Give them to it if so.
cdef inline void learn_word(Scratch* s, size_t j, const uint32_t* ids, size_t n) noexcept nogil:
    if may_learn(s, j, n):
        enter(s, j, ids, n)
