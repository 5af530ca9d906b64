# WordPiece, the longest entry first, and WordLevel, whole words alone.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.model cimport Model
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.trie cimport Node, Trie

# What is known at a node from which no byte leads on: its tokens, and the node of the rest.
cdef struct Failure:
    uint32_t rest            # the slot of the node, or NO_REST: what begins so cannot be made up
    uint32_t last            # the last of the tokens, as a place in `links`; 0 for none

# A token of a chain, and the place of the one before it; 0 for none.
cdef struct Link:
    uint32_t id
    uint32_t before

cdef class WordPiece(Model):
    cdef Trie first          # entries as they are
    cdef Trie inside         # those that begin with the prefix, without it
    cdef Failure* failures   # by slot of `inside`
    cdef Link* links
    cdef size_t n_links
    cdef size_t links_capacity
    cdef uint32_t* n_bytes   # of each id's spelling
    cdef size_t prefix_bytes
    cdef uint32_t unk
    cdef size_t max_chars
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
    cdef Py_ssize_t make_up(self, uint32_t* out, const uint8_t* p, size_t n) noexcept nogil
    cdef int prepare_all(self, list entries) except -1
    cdef int prepare(self, uint32_t parent, uint32_t slot, uint8_t byte) noexcept nogil
    cdef int append_link(self, uint32_t* last, uint32_t id) noexcept nogil
    cdef int append_chain(self, uint32_t* last, uint32_t other) noexcept nogil
    cdef bint make_room(self, size_t n) noexcept nogil

cdef class WordLevel(Model):
    cdef Trie words
    cdef uint32_t unk
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
