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

# Immutable once built.
cdef struct WordPieceTables:
    const Node* first_nodes  # of the trie of entries as they are
    Node first_root
    const Node* nodes        # of the trie of those that begin with the prefix, without it
    Node root
    Failure* failures        # by slot of `nodes`
    Link* links
    uint32_t* n_bytes        # of each id's spelling
    size_t prefix_bytes
    uint32_t unk
    size_t max_chars

cdef struct WordLevelTables:
    const Node* nodes
    Node root
    uint32_t unk

cdef class WordPiece(Model):
    cdef WordPieceTables tables
    cdef Trie first
    cdef Trie inside
    cdef size_t n_links
    cdef size_t links_capacity
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
    cdef int prepare_all(self, list entries) except -1
    cdef int prepare(self, uint32_t parent, uint32_t slot, uint8_t byte) noexcept nogil
    cdef int append_link(self, uint32_t* last, uint32_t id) noexcept nogil
    cdef int append_chain(self, uint32_t* last, uint32_t other) noexcept nogil
    cdef bint make_room(self, size_t n) noexcept nogil

cdef class WordLevel(Model):
    cdef WordLevelTables tables
    cdef Trie words
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil
