# A set of byte strings, each with a number, to be found from their first byte on.
from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    NO_VALUE = 0xFFFFFFFF    # no entry ends here

# A node, eight bytes. `link` is the base of its children << 8 | the byte that led here.
cdef struct Node:
    uint32_t link
    uint32_t value           # of the entry that ends here, or NO_VALUE

# How to find all entries that p[at:n] begins with, the shortest first:
#
#     node = trie.root
#     while at < n and step(trie.nodes, &node, p[at]):
#         at += 1
#         if node.value != NO_VALUE:
#             ...              the entry ends before p[at]
cdef inline bint step(const Node* nodes, Node* node, uint8_t byte) noexcept nogil:
    cdef const Node* child = &nodes[(node.link >> 8) ^ byte]
    if <uint8_t>child.link != byte:
        return False
    node[0] = child[0]
    return True

# The value of the entry that is p[:n], or NO_VALUE.
cdef inline uint32_t value_of(const Node* nodes, Node root, const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        if not step(nodes, &root, p[i]):
            return NO_VALUE
    return root.value

cdef class Trie:
    cdef Node* nodes
    cdef Node root
    cdef readonly size_t n_slots     # of `nodes`: those in use, and a few free ones
    # value_of for this trie.
    cdef uint32_t find(self, const uint8_t* p, size_t n) noexcept nogil
