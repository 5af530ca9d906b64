# Tokens by their class: a byte for each id of a tokenizer.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    N_CLASSES = 256
    LANES = 4

# Tokens of a text by their class.
cdef struct Counts:
    size_t n_neutral         # in blocks that have these two alone
    size_t n_latin
    bint has_more            # there are other blocks: their tokens are in lanes[0]
    uint32_t[LANES][N_CLASSES] lanes

# The classes of all ids, and beside them what most tokens are.
cdef struct Classes:
    uint8_t* of              # by id
    uint64_t* kinds          # two bits an id: neutral, Latin or another, in a word for 32 ids

# Room for n ids, all of the class `neutral`; False when memory ran out.
cdef bint make_classes(Classes* classes, size_t n, uint8_t neutral) noexcept nogil
# Once their classes are known.
cdef void lay_out_kinds(Classes* classes, size_t n, uint8_t neutral, uint8_t latin) noexcept nogil
cdef void free_classes(Classes* classes) noexcept nogil

# Count all ids.
cdef void count_ids(Counts* counts, const Classes* classes, const uint32_t* ids, size_t n) noexcept nogil
# Nothing counted, in the form in which there are more.
cdef void start_lanes(Counts* counts) noexcept nogil
