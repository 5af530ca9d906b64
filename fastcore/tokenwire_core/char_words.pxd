# Words of characters: their symbols, their tokens, and where they end.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from tokenwire_core.bpe cimport MergeScratch, MergeTables
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.vocab cimport TW_K1, TW_NO_ID, VocabTables

cdef enum:
    N_BLOCKS = 0x1100        # of 256 code points
    INSIDE = 1               # forms of a character: behind others, so with the prefix
    LAST = 2                 # with the suffix
    BLANK = 0x2581           # ▁
    N_COMMON = 129           # ASCII and BLANK

# The id of each character in one form, or TW_NO_ID.
cdef struct Characters:
    uint16_t* block_of       # by code point >> 8
    uint32_t* ids            # blocks of 256; the first has none

# Immutable once built.
cdef struct CharTables:
    Characters forms[4]      # by INSIDE | LAST; one and the same where there is neither prefix nor suffix
    const MergeTables* merges
    const VocabTables* words     # what merges make of text; NULL where they may also join what is no character's token
    const VocabTables* pieces    # what is looked up before all else; NULL without ignore_merges
    uint32_t byte_ids[256]   # or TW_NO_ID
    uint32_t unk             # or TW_NO_ID
    bint fuse_unk
    bint byte_fallback
    const uint8_t* prefix
    const uint8_t* suffix
    size_t n_prefix
    size_t n_suffix
    # Where a text may be cut without a change of its tokens.
    bint splits              # anywhere at all
    bint splits_at_unknown   # between a character that has a token and one that has none
    bint splits_unknown      # between two that have none
    uint64_t common_joins[N_COMMON][3]   # the bit of each two common characters that must stay together
    uint64_t* joins          # the same for any two, by a hash: a few that need not stay together have a bit too
    unsigned joins_shift

# The id of a character in one form, or TW_NO_ID.
cdef inline uint32_t character_id(const Characters* form, uint32_t c) noexcept nogil:
    return form.ids[<uint32_t>form.block_of[c >> 8] << 8 | (c & 0xFF)]

# Whether all bytes have tokens.
cdef inline bint are_tokens(const CharTables* t, const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        if t.byte_ids[p[i]] == TW_NO_ID:
            return False
    return True

# The number of a common character, ASCII and the blank of such models; N_COMMON for others.
cdef inline uint32_t common(uint32_t c) noexcept nogil:
    return c if c < 0x80 else 0x80 if c == BLANK else N_COMMON

# Where the bit of two characters is among the joins.
cdef inline uint64_t join_hash(uint32_t x, uint32_t y, unsigned shift) noexcept nogil:
    return ((<uint64_t>x << 21 | y) * TW_K1) >> shift

# Put the symbols of a piece into scratch. Returns how many there are, or a Status below 0, as -NO_MEMORY.
cdef Py_ssize_t symbols_of(const CharTables* t, MergeScratch* scratch, const uint8_t* p, size_t n) noexcept nogil
# A WordEncoder for CharTables.
cdef Py_ssize_t encode_char_word(
    const void* model, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil
# Append the tokens of a word, the first at `place`, which moves behind the last. Returns a Status.
cdef int append_word(const CharTables* t, Scratch* s, const uint8_t* p, size_t n, size_t* place) noexcept nogil

# Whether a text must not be cut between two characters; `joins` is filled.
cdef bint stay_together(const CharTables* t, uint32_t x, uint32_t y) noexcept nogil
# The ends of the next words of p[:n], which begin at `position`; it moves to the end of the last. `ends` has room for
# PIECES_PER_CHUNK.
cdef size_t cut_words(
    const CharTables* t, const uint8_t* p, size_t n, size_t* position, uint32_t* ends
) noexcept nogil
