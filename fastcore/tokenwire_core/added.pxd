# Finding the added tokens of a tokenizer.json in a text.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.special cimport ControlMatcher

cdef struct AddedToken:
    uint32_t id
    bint special
    bint single_word
    bint lstrip
    bint rstrip

# A place in the search through one text.
cdef struct Search:
    size_t next              # where the next match may begin
    size_t taken             # how far the text is taken by tokens
    size_t blanks            # where blanks begin that were passed last
    size_t blanks_end
    size_t start             # of the token found
    size_t end
    uint32_t id

cdef class AddedTokens:
    cdef AddedToken* tokens
    cdef size_t n_tokens
    cdef ControlMatcher as_it_came       # of those looked for in the text as it came
    cdef ControlMatcher normalized
    cdef uint32_t* word_edges            # where runs of word characters begin and end
    cdef size_t n_word_edges

    # The next token of a pass (0: as it came, 1: normalized) in the text[:n]. `allowed`: for each token of the artifact whether its spelling
    # counts. False when there is none.
    cdef bint find(
        self, int number, const uint8_t* text, size_t n, const uint8_t* allowed, Search* search
    ) noexcept nogil
    cdef bint is_word_at(self, const uint8_t* text, size_t at) noexcept nogil
