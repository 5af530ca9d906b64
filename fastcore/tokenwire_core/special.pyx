"""Finding the spellings of control tokens in a text: leftmost first, then longest.

A trie over the bytes of the spellings, walked from every place where one can begin. Spellings have at most 256 bytes,
so a text of n bytes costs at most 256 n steps; in practice nearly all of the time is one `memchr` for the byte that
all spellings of a vocabulary share. Only the spellings given are looked for: what the caller has not allowed cannot
be found, also not in part.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport calloc, free
from libc.string cimport memchr

from tokenwire_core.vocab cimport TW_NO_ID


cdef class ControlMatcher:
    """Matcher of `spellings` (spelling to id, none empty). Immutable, for any number of threads."""

    def __cinit__(self, spellings):
        cdef size_t n_bytes = 1
        cdef list encoded = [(spelling.encode(), id) for spelling, id in spellings.items()]
        for spelling, _ in encoded:
            n_bytes += len(spelling)
        self.nodes = <TrieNode*>calloc(n_bytes, sizeof(TrieNode))
        if self.nodes == NULL:
            raise MemoryError
        self.nodes[0].id = TW_NO_ID
        self.n_nodes = 1
        self.only_first = -1
        for spelling, id in encoded:
            self.add(spelling, id)
        firsts = {spelling[0] for spelling, _ in encoded}
        for first in firsts:
            self.is_first[first] = 1
        if len(firsts) == 1:
            self.only_first = firsts.pop()

    def __dealloc__(self):
        free(self.nodes)

    cdef int add(self, bytes spelling, uint32_t id) except -1:
        cdef uint32_t node = 0, child
        cdef uint8_t byte
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(spelling)
        cdef Py_ssize_t i
        for i in range(PyBytes_GET_SIZE(spelling)):
            byte = p[i]
            child = self.walk(node, byte)
            if child == 0:
                child = self.n_nodes
                self.n_nodes += 1
                self.nodes[child].byte = byte
                self.nodes[child].id = TW_NO_ID
                self.nodes[child].sibling = self.nodes[node].child
                self.nodes[node].child = child
            node = child
        self.nodes[node].id = id
        return 0

    cdef uint32_t walk(self, uint32_t node, uint8_t byte) noexcept nogil:
        cdef uint32_t child = self.nodes[node].child
        while child and self.nodes[child].byte != byte:
            child = self.nodes[child].sibling
        return child

    cdef bint find(self, const uint8_t* text, size_t n, size_t start, ControlMatch* match) noexcept nogil:
        cdef size_t i = start, k
        cdef uint32_t node
        cdef const void* hit
        match.id = TW_NO_ID
        if self.n_nodes == 1:
            return False
        while i < n:
            if self.only_first >= 0:
                hit = memchr(text + i, self.only_first, n - i)
                if hit == NULL:
                    return False
                i = <size_t>(<const uint8_t*>hit - text)
            elif not self.is_first[text[i]]:
                i += 1
                continue
            node = 0
            k = i
            while k < n:
                node = self.walk(node, text[k])
                if node == 0:
                    break
                k += 1
                if self.nodes[node].id != TW_NO_ID:
                    match.id = self.nodes[node].id
                    match.end = k
            if match.id != TW_NO_ID:
                match.start = i
                return True
            i += 1
        return False
