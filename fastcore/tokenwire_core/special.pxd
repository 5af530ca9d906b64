# Finding the spellings of control tokens in a text.
from libc.stdint cimport uint8_t, uint32_t

cdef struct TrieNode:
    uint32_t child           # the newest child, or 0
    uint32_t sibling         # the next child of the same parent, or 0
    uint32_t id              # the token that ends here, or TW_NO_ID
    uint8_t byte

cdef struct ControlMatch:
    size_t start
    size_t end
    uint32_t id

cdef class ControlMatcher:
    cdef TrieNode* nodes
    cdef uint32_t n_nodes
    cdef uint8_t is_first[256]
    cdef int only_first      # the byte all spellings begin with, or -1
    # The leftmost-longest match at or after `start`; False when there is none.
    cdef bint find(self, const uint8_t* text, size_t n, size_t start, ControlMatch* match) noexcept nogil
    cdef uint32_t walk(self, uint32_t node, uint8_t byte) noexcept nogil
    cdef int add(self, bytes spelling, uint32_t id) except -1
