"""Between which characters a text may be cut before a model has seen it.

Models that make their tokens of a whole text (SentencePiece's, and those of `tokenizers` without a pre-tokenizer) would
have to be run over megabytes at once. But where two characters meet that stand next to each other in no entry of the
vocabulary, no token can go over the edge: what is left of it and what is right of it are tokenized alike together and
apart. For merging by rank that is because merges on both sides do not touch each other; for sums of scores because the
best way to the edge does not depend on what follows (their rounding depends on what came before, see the model). So
most vocabularies are cut before each `▁`, those of runs of blanks not within a run, and Chinese texts every few
characters.

The pairs are bits by their hash, about one in thirty set; one that is set by chance costs an edge and harms nothing.
Those of ASCII and `▁` have bits of their own.

Cost: 10 ns a character of the vocabulary to build, 1 to 2 ns a character of text; at most 1 MiB.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport calloc, free

from tokenwire_core.split cimport TEXT_PADDING

cdef extern from *:
    int popcount "__builtin_popcountll"(unsigned long long) nogil

cdef enum:
    MIN_BITS = 12
    MAX_BITS = 23
    SPARSENESS = 5           # a table has 2 ** 5 bits for each that is set


cdef class SafeEdges:
    """The edges inside `entries`, a list of bytes of well-formed UTF-8; all others are safe."""

    def __cinit__(self, list entries not None):
        cdef bytes entry
        cdef size_t i, n_set = 0
        cdef unsigned bits = MIN_BITS
        # How many different pairs there are is seen from the bits of a large table.
        self.make_room(MAX_BITS)
        for entry in entries:
            self.enter(entry)
        for i in range((<size_t>1 << MAX_BITS) >> 6):
            n_set += popcount(self.tables.others[i])
        while bits < MAX_BITS and (<size_t>1 << bits) >> SPARSENESS < n_set:
            bits += 1
        if bits < MAX_BITS:
            self.make_room(bits)
            for entry in entries:
                self.enter(entry)

    def __dealloc__(self):
        free(self.tables.others)

    cdef int make_room(self, unsigned bits) except -1:
        free(self.tables.others)
        self.tables.shift = 64 - bits
        self.tables.others = <uint64_t*>calloc((<size_t>1 << bits) >> 6, sizeof(uint64_t))
        if self.tables.others == NULL:
            raise MemoryError
        return 0

    cdef void enter(self, bytes entry) noexcept:
        cdef uint8_t last[8]
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(entry)
        cdef size_t n = PyBytes_GET_SIZE(entry), at = 0
        cdef uint32_t left = 0, right
        cdef uint64_t hash
        while at < n:
            if n - at >= 4:
                right = character_at(p + at)
            else:
                memcpy(last, p + at, n - at)
                right = character_at(last)
            if at:
                hash = pair_hash(left, right) >> self.tables.shift
                self.tables.others[hash >> 6] |= <uint64_t>1 << (hash & 63)
                if left < 0x80 and right < 0x80:
                    self.tables.ascii[left][right >> 6] |= <uint64_t>1 << (right & 63)
                elif left < 0x80 and right == SPACE:
                    self.tables.before_space[left >> 6] |= <uint64_t>1 << (left & 63)
                elif left == SPACE and right < 0x80:
                    self.tables.after_space[right >> 6] |= <uint64_t>1 << (right & 63)
                elif left == SPACE and right == SPACE:
                    self.tables.within_spaces = True
            left = right
            at += size_of(left)

    def parts(self, str text not None):
        """The text as it is cut."""
        cdef bytes utf8 = text.encode()
        cdef bytes padded = utf8 + bytes(TEXT_PADDING)
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(padded)
        cdef size_t n = PyBytes_GET_SIZE(utf8), at = 0, end, core
        cdef list found = []
        while at < n:
            end = next_edge(&self.tables, p, n, at, &core)
            found.append(utf8[at:end].decode())
            at = end
        return found
