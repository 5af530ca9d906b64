# Byte-pair encoding of characters.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from tokenwire_core.bpe cimport Merges, MergeScratch, MergeTables
from tokenwire_core.model cimport Model
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.vocab cimport Vocab, VocabTables

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

cdef class CharBpe(Model):
    cdef CharTables tables
    cdef readonly Merges merges
    cdef readonly uint32_t n_unreachable     # entries that no merges lead to
    cdef Vocab words
    cdef Vocab pieces
    cdef bytes prefix
    cdef bytes suffix
    cdef int fill_characters(self, dict entries, str prefix, str suffix) except -1
    cdef int list_merges(self, object model, dict entries) except -1
    cdef int find_words(self, object model, dict entries, set no_characters) except -1
    cdef int note_joins(self, set joins, dict entries) except -1
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
