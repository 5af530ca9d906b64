"""Byte-pair merging of one piece, exactly in rank order.

The rule (Sennrich et al. 2016; tiktoken for the details): start from single bytes; among all adjacent pairs whose
joined bytes are a vocabulary entry, merge the one of lowest rank, the leftmost among equals; stop when there is none.
In a rank file the rank of a merge is the id it produces.

**One split per token is enough.** Suppose a token T is ever produced inside a larger piece. Until that moment no merge
crossed its edges, so the merges inside them were those of merging T's bytes alone, in the same order; its last merge
joined the same two parts. So each token has at most one pair that can produce it, found by merging its own bytes, and
a token that its own bytes do not lead to is *unreachable*: it appears only where it is a whole piece. This holds for
any ranks, monotone or not. The table is therefore built with the algorithm it serves: tokens in order of length, each
merged by what the shorter ones have entered; if two parts remain, they are its pair.

Two algorithms: up to 32 bytes a scan for the lowest rank per merge (quadratic, but in registers and one cache line);
above that a heap of `rank << 32 | position` over a linked list, where entries outdated by a merge are recognised by
their rank. O(n log n) time, 32 bytes of scratch per byte of piece.

Cost of the table: 0.35 microseconds per token to build, 16 to 32 bytes each.
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from tokenwire_core.errors import ArtifactError

from tokenwire_core.vocab cimport PRESENT


cdef size_t merge_short(const MergeTables* m, const uint8_t* p, size_t n, uint32_t* out) noexcept nogil:
    cdef uint32_t rank[SHORT_BYTES]
    cdef uint32_t best
    cdef size_t i, at
    for i in range(n - 1):
        out[i] = m.byte_ids[p[i]]
        rank[i] = m.byte_pairs[<uint32_t>p[i] << 8 | p[i + 1]]
    out[n - 1] = m.byte_ids[p[n - 1]]
    rank[n - 1] = TW_NO_ID
    while n > 1:
        best = rank[0]
        at = 0
        for i in range(1, n - 1):
            if rank[i] < best:
                best = rank[i]
                at = i
        if best == TW_NO_ID:
            break
        n -= 1
        out[at] = best
        for i in range(at + 1, n):
            out[i] = out[i + 1]
            rank[i] = rank[i + 1]
        rank[at] = merged(m, best, out[at + 1]) if at + 1 < n else TW_NO_ID
        if at:
            rank[at - 1] = merged(m, out[at - 1], best)
    return n


cdef inline void sift_down(uint64_t* heap, size_t n, size_t i) noexcept nogil:
    cdef uint64_t item = heap[i]
    cdef size_t child
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item


cdef inline void sift_up(uint64_t* heap, size_t i) noexcept nogil:
    cdef uint64_t item = heap[i]
    while i and heap[(i - 1) >> 1] > item:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = item


cdef bint reserve(MergeScratch* s, size_t n) noexcept nogil:
    cdef void* grown
    if s.symbols_capacity < n:
        grown = realloc(s.symbols, n * sizeof(Symbol))
        if grown == NULL:
            return False
        s.symbols = <Symbol*>grown
        s.symbols_capacity = n
    if s.heap_capacity < 2 * n:          # each merge takes one entry and adds at most two
        grown = realloc(s.heap, 2 * n * sizeof(uint64_t))
        if grown == NULL:
            return False
        s.heap = <uint64_t*>grown
        s.heap_capacity = 2 * n
    return True


cdef Py_ssize_t merge_long(
    const MergeTables* m, MergeScratch* scratch, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil:
    cdef Symbol* symbols
    cdef Symbol* left
    cdef Symbol* symbol
    cdef uint64_t* heap
    cdef size_t n_heap = 0, i
    cdef uint64_t top
    cdef uint32_t at, after, rank
    if not reserve(scratch, n):
        return -1
    symbols = scratch.symbols
    heap = scratch.heap
    for i in range(n):
        rank = m.byte_pairs[<uint32_t>p[i] << 8 | p[i + 1]] if i + 1 < n else TW_NO_ID
        symbols[i].id = m.byte_ids[p[i]]
        symbols[i].rank = rank
        symbols[i].prev = <uint32_t>i - 1
        symbols[i].next = <uint32_t>i + 1
        if rank != TW_NO_ID:
            heap[n_heap] = <uint64_t>rank << 32 | i
            n_heap += 1
    for i in range(n_heap >> 1, 0, -1):
        sift_down(heap, n_heap, i - 1)
    while n_heap:
        top = heap[0]
        n_heap -= 1
        heap[0] = heap[n_heap]
        sift_down(heap, n_heap, 0)
        at = <uint32_t>top
        symbol = &symbols[at]
        if symbol.rank != top >> 32:     # merged away, or merged into something else, since it was entered
            continue
        symbol.id = symbol.rank
        after = symbols[symbol.next].next
        symbols[symbol.next].rank = TW_NO_ID
        symbol.next = after
        symbol.rank = TW_NO_ID
        if after < n:
            symbols[after].prev = at
            symbol.rank = merged(m, symbol.id, symbols[after].id)
            if symbol.rank != TW_NO_ID:
                heap[n_heap] = <uint64_t>symbol.rank << 32 | at
                sift_up(heap, n_heap)
                n_heap += 1
        if at:
            left = &symbols[symbol.prev]
            left.rank = merged(m, left.id, symbol.id)
            if left.rank != TW_NO_ID:
                heap[n_heap] = <uint64_t>left.rank << 32 | symbol.prev
                sift_up(heap, n_heap)
                n_heap += 1
    at = 0
    i = 0
    while at < n:
        out[i] = symbols[at].id
        i += 1
        at = symbols[at].next
    return <Py_ssize_t>i


cdef void free_merge_scratch(MergeScratch* scratch) noexcept nogil:
    free(scratch.symbols)
    free(scratch.heap)
    memset(scratch, 0, sizeof(MergeScratch))


cdef class MergeTable:
    """The merges of a `Vocab` whose ids are its ranks.

    Attributes:
        n_unreachable: tokens that no merges lead to; they appear only as whole pieces.

    Raises:
        ArtifactError: MISSING_BYTE when one of the 256 single bytes is no token.
        MemoryError
    """

    def __cinit__(self, Vocab vocab):
        cdef const VocabTables* v = &vocab.tables
        cdef uint32_t id
        cdef size_t n
        cdef unsigned bits = 8
        while (<size_t>1 << bits) < 2 * <size_t>v.vocab_size:
            bits += 1
        self.tables.mask = (<uint64_t>1 << bits) - 1
        self.tables.shift = 64 - bits
        self.tables.slots = <uint64_t*>calloc(<size_t>1 << bits, sizeof(uint64_t))
        self.tables.byte_pairs = <uint32_t*>malloc(65536 * sizeof(uint32_t))
        if self.tables.slots == NULL or self.tables.byte_pairs == NULL:
            raise MemoryError
        memset(self.tables.byte_ids, 0xFF, sizeof(self.tables.byte_ids))
        memset(self.tables.byte_pairs, 0xFF, 65536 * sizeof(uint32_t))
        for id in range(v.vocab_size):
            n = v.starts[id + 1] - v.starts[id]
            if n == 1 and v.flags[id] == PRESENT:
                self.tables.byte_ids[v.blob[v.starts[id]]] = id
        for id in range(256):
            if self.tables.byte_ids[id] == TW_NO_ID:
                raise ArtifactError("MISSING_BYTE", f"the byte 0x{id:02x} is no token, so not every text can be encoded")
        self.build(v)

    def __dealloc__(self):
        free(self.tables.slots)
        free(self.tables.byte_pairs)

    cdef int build(self, const VocabTables* v) except -1:
        cdef MergeTables* m = &self.tables
        cdef MergeScratch scratch
        cdef uint32_t* order = <uint32_t*>malloc((v.vocab_size + 1) * sizeof(uint32_t))
        cdef uint32_t* place = <uint32_t*>calloc(v.max_token_bytes + 2, sizeof(uint32_t))
        cdef uint32_t* out = <uint32_t*>malloc((v.max_token_bytes + 1) * sizeof(uint32_t))
        cdef uint32_t id, i, n_tokens = 0
        cdef size_t n
        cdef Py_ssize_t n_out
        cdef const uint8_t* p
        cdef bint failed = order == NULL or place == NULL or out == NULL
        memset(&scratch, 0, sizeof(scratch))
        if not failed:
            with nogil:
                # Counting sort by length.
                for id in range(v.vocab_size):
                    n = v.starts[id + 1] - v.starts[id]
                    if v.flags[id] == PRESENT and n >= 2:
                        place[n + 1] += 1
                        n_tokens += 1
                for n in range(1, v.max_token_bytes + 2):
                    place[n] += place[n - 1]
                for id in range(v.vocab_size):
                    n = v.starts[id + 1] - v.starts[id]
                    if v.flags[id] == PRESENT and n >= 2:
                        order[place[n]] = id
                        place[n] += 1
                for i in range(n_tokens):
                    id = order[i]
                    p = v.blob + v.starts[id]
                    n = v.starts[id + 1] - v.starts[id]
                    n_out = merge_short(m, p, n, out) if n <= SHORT_BYTES else merge_long(m, &scratch, p, n, out)
                    if n_out < 0:
                        failed = True
                        break
                    if n_out == 2:
                        self.insert(out[0], out[1], id)
                        if n == 2:
                            m.byte_pairs[<uint32_t>p[0] << 8 | p[1]] = id
                    else:
                        self.n_unreachable += 1
        free(order)
        free(place)
        free(out)
        free_merge_scratch(&scratch)
        if failed:
            raise MemoryError
        return 0

    cdef void insert(self, uint32_t left, uint32_t right, uint32_t id) noexcept nogil:
        cdef uint64_t key = (<uint64_t>1 << 2 * ID_BITS) | (<uint64_t>left << ID_BITS) | right
        cdef uint64_t i = (key * TW_K1) >> self.tables.shift
        while self.tables.slots[i]:
            i = (i + 1) & self.tables.mask
        self.tables.slots[i] = key << ID_BITS | id
