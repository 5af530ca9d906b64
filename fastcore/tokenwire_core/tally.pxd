# How many tokens of a text belong to each script, and how many stand for text that the vocabulary lacks.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.engine cimport Engine
from tokenwire_core.kept_scripts cimport KeptScripts
from tokenwire_core.text_input cimport TextInput
from tokenwire_core.vocab cimport Marked, Vocab

# What an id is: the number of its script, LOOK, or one of these.
cdef enum:
    N_CLASSES = 256
    PLACE = 249              # an added token whose script only the text tells
    UNKNOWN = 250            # the model's unknown token
    BYTE = 251               # a byte of a character that the vocabulary lacks
    JPAN = 252               # Han in a text with kana
    SPECIAL = 253            # a control token, or one of the template

# Sums over texts, all zero at first but by_class, which is that once it has_more.
cdef struct Totals:
    uint64_t n_neutral
    uint64_t n_latin
    uint64_t n_special
    uint64_t n_unknown
    uint64_t n_byte_fallback
    bint has_more
    uint64_t[N_CLASSES] by_class

cdef inline void start_totals(Totals* totals) noexcept nogil:
    totals.n_neutral = totals.n_latin = totals.n_special = totals.n_unknown = totals.n_byte_fallback = 0
    totals.has_more = False

cdef class Tally:
    cdef readonly uint64_t n_tokens
    cdef readonly uint64_t n_unknown
    cdef readonly uint64_t n_byte_fallback
    # Tokens by script: these three and no others, where by_script is None and until somebody asks for it.
    cdef uint64_t n_neutral
    cdef uint64_t n_latin
    cdef uint64_t n_special
    cdef dict by_script

    cdef dict all_scripts(self)
    cdef tuple fields(self)

cdef class Tallier:
    cdef Engine engine
    cdef object trace        # of a TextInput: where its tokens are
    cdef uint8_t* classes    # by id
    # By id: the script of the last character that is no inherited mark, TW_INHERITED for none; of a BYTE that byte.
    cdef uint8_t* lasts
    cdef KeptScripts kept    # None where the places of tokens are always needed
    cdef bint spells_affixes # what entries spell beside the text has letters
    cdef bint is_whole       # the tokens are all of the normalized text, one after the other

    # Add the tokens of a text, or as many of its first ones as there are ids.
    # `marked`: how many of them are neutral, and Latin, where the vocabulary marks them. `is_rewritten`: a normalizer
    # may have changed the text.
    cdef int add(
        self, Totals* totals, const uint32_t* ids, size_t n, const Marked* marked, TextInput source, bint is_rewritten
    ) except -1
    cdef bint keeps_scripts(self, const uint8_t* p, size_t n, bint is_rewritten) except -1
    cdef bint look(
        self, uint32_t* counts, const uint32_t* ids, size_t n, const uint8_t* p, bint is_rewritten
    ) except -1
    cdef bint look_at_bytes(self, uint32_t* counts, const uint32_t* ids, size_t n, const uint8_t* p) except -1
    cdef bytes spelled(self, const uint32_t* ids, size_t n)
    cdef bint look_at_spellings(self, uint32_t* counts, const uint32_t* ids, size_t n) except -1
    cdef int count_places(
        self, uint32_t* counts, const uint32_t* ids, size_t n, TextInput source, const uint8_t* p
    ) except -1
    cdef void classify_vocab(self, Vocab vocab) noexcept
    cdef int classify_spellings(self, dict spellings, object spec) except -1

cdef Tally tally_of(const Totals* totals)
