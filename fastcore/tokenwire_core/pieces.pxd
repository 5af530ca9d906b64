# Pieces of text to ids: the word cache, and what happens on a miss.
from libc.stdint cimport uint8_t

from tokenwire_core.bpe cimport MergeTables
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.vocab cimport VocabTables

# Encode k pieces of text that follow each other: the first begins at `start`, they end at s.chunk_ends[:k].
# Ids are kept if s.keep, or only counted; their places are not. False when memory ran out.
cdef bint encode_pieces(
    const VocabTables* v, const MergeTables* m, Scratch* s, const uint8_t* text, size_t start, size_t k
) noexcept nogil

# The places of the tokens from the `first` on, which follow each other from `start` byte for byte.
cdef void place_tokens(const VocabTables* v, Scratch* s, size_t first, size_t start) noexcept nogil
