# Where the matches of a pattern are, one after the other.
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from tokenwire_core.scratch cimport Buffer

# A walk over the matches in text[first:limit].
cdef struct Matching:
    const uint8_t* text
    size_t first
    size_t limit
    size_t at                # where to look on
    size_t ended             # where the match before ended, or nowhere
    bint found               # the match: start..end, which may be empty
    size_t start
    size_t end
    Buffer* work
    uint8_t* been            # in it, bits: for each place from `first` on, one for each long state; or NULL

cdef void begin_matching(Matching* m, const uint8_t* text, size_t first, size_t limit, Buffer* work) noexcept nogil

# A pattern with a table (see pattern_table).
cdef class TableMatcher:
    cdef object table
    cdef const uint16_t* blocks
    cdef const uint8_t* symbols
    cdef const uint32_t* steps
    cdef const uint8_t* long_states
    cdef size_t width            # symbols of a row of `steps`, the end of the text among them
    cdef size_t n_long_states
    cdef uint8_t begins[128]     # whether a match may begin at this character of ASCII

    # The next match; m.found says whether there is one. Returns a Status.
    cdef int next_match(self, Matching* m) noexcept nogil
