"""The vocabulary as flat tables: the bytes of each id, and the id of some bytes.

Two open-addressed hash tables answer "is this whole piece an entry?". Entries of at most 15 bytes, which nearly all
pieces are, are found by a 16-byte key held in the slot itself (one cache line, no look at the bytes); a bitmap that fits
the cache says for nearly all others that they are none. Longer ones are found by a hash of all their bytes and one comparison. Both tables are at most 60% full. Nothing changes after construction, so any
number of threads may read.

Cost: O(total bytes) to build; a look-up is O(1) up to 15 bytes and O(n) above. Memory: about 64 bytes an entry,
and 40 for its id as a Python int: a list of ids then takes references instead of making each int anew.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from tokenwire_core.errors import ArtifactError


cdef uint64_t long_hash(const uint8_t* p, size_t n) noexcept nogil:
    cdef uint64_t h = n * TW_K2
    cdef uint64_t last = 0
    while n >= 8:
        h = tw_fold(h ^ tw_load64(p), TW_K1)
        p += 8
        n -= 8
    memcpy(&last, p, n)
    return tw_fold(h ^ last, TW_K1) * TW_K2


cdef uint32_t find_long(const VocabTables* v, const uint8_t* p, size_t n) noexcept nogil:
    """The id of n > WORD_BYTES bytes at p, or TW_NO_ID."""
    cdef size_t i
    cdef uint32_t id
    if n > v.max_token_bytes:
        return TW_NO_ID
    i = <size_t>(long_hash(p, n) >> v.longs_shift)
    while v.longs[i]:
        id = v.longs[i] - 1
        if v.starts[id + 1] - v.starts[id] == n and memcmp(v.blob + v.starts[id], p, n) == 0:
            return id
        i = (i + 1) & v.longs_mask
    return TW_NO_ID


cdef unsigned table_bits(size_t n) noexcept nogil:
    """The bits of the smallest power of two that n entries fill to at most 60%."""
    cdef unsigned bits = 4
    while (<size_t>1 << bits) * 3 < n * 5:
        bits += 1
    return bits


cdef class Vocab:
    """Tables over the ordinary tokens of `ranks` (bytes to id) and the `special_tokens` (spelling to id).

    Special tokens have bytes (their spelling) but are in no hash table: no text finds them. The same goes for `hidden`
    (id to bytes), of which `control_ids` are control tokens as the special ones are.

    Raises:
        ArtifactError: TOO_MANY_TOKENS when an id is 2**21 or more.
        MemoryError
    """

    def __cinit__(self, ranks, special_tokens, hidden=None, control_ids=frozenset()):
        cdef uint32_t id
        cdef size_t size
        hidden = {} if hidden is None else hidden
        size = max(*(max(ids, default=0) for ids in (ranks.values(), special_tokens.values(), hidden))) + 1
        if size > <size_t>1 << ID_BITS:
            raise ArtifactError("TOO_MANY_TOKENS", f"the highest id is {size - 1}, the limit is {(1 << ID_BITS) - 1}")
        self.integers = list(range(size))
        cdef list entries = [None] * size
        cdef bytes flags = bytes(size)
        cdef uint8_t* flag = <uint8_t*>PyBytes_AS_STRING(flags)
        for token, id in ranks.items():
            entries[id] = token
            flag[id] = PRESENT
            self.tables.max_token_bytes = max(self.tables.max_token_bytes, <uint32_t>PyBytes_GET_SIZE(token))
        for spelling, id in special_tokens.items():
            entries[id] = spelling.encode()
            flag[id] = PRESENT | CONTROL
        for id, token in hidden.items():
            entries[id] = token
            flag[id] = PRESENT | (CONTROL if id in control_ids else HIDDEN)
        self.lay_out(entries, flags)
        self.index()

    def __dealloc__(self):
        free(<void*>self.tables.blob)
        free(<void*>self.tables.starts)
        free(<void*>self.tables.flags)
        free(<void*>self.tables.marks)
        free(self.tables.words)
        free(self.tables.words_filter)
        free(self.tables.longs)

    cdef int mark(self, const uint8_t* classes, uint8_t first, uint8_t second) except -1:
        """Two classes that most tokens of most texts have are counted without a look at a table for each token: the
        word cache keeps ids with their marks.
        """
        cdef size_t id
        cdef uint64_t* marks
        if self.tables.marks != NULL:
            return 0
        marks = <uint64_t*>calloc((self.tables.vocab_size >> 5) + 1, sizeof(uint64_t))
        if marks == NULL:
            raise MemoryError
        for id in range(self.tables.vocab_size):
            marks[id >> 5] |= (<uint64_t>(classes[id] == first) | <uint64_t>(classes[id] == second) << 1) << (2 * id & 63)
        self.tables.marks = marks
        return 0

    cdef int lay_out(self, list entries, bytes flags) except -1:
        cdef VocabTables* t = &self.tables
        cdef bytes blob = b"".join([entry or b"" for entry in entries])
        cdef size_t size = len(entries), i, position = 0
        cdef uint32_t* starts
        t.vocab_size = <uint32_t>size
        t.blob = <uint8_t*>calloc(len(blob) + 16, 1)
        t.starts = <uint32_t*>calloc(size + 1, sizeof(uint32_t))
        t.flags = <uint8_t*>calloc(size, 1)
        if t.blob == NULL or t.starts == NULL or t.flags == NULL:
            raise MemoryError
        memcpy(<void*>t.blob, PyBytes_AS_STRING(blob), len(blob))
        memcpy(<void*>t.flags, PyBytes_AS_STRING(flags), size)
        starts = <uint32_t*>t.starts
        for i in range(size):
            starts[i] = <uint32_t>position
            if entries[i] is not None:
                position += PyBytes_GET_SIZE(entries[i])
        starts[size] = <uint32_t>position
        return 0

    cdef int index(self) except -1:
        cdef VocabTables* t = &self.tables
        cdef uint32_t id, n_words = 0, n_longs = 0
        cdef size_t n
        cdef unsigned bits
        free(t.words)
        free(t.words_filter)
        free(t.longs)
        t.words = NULL
        t.words_filter = NULL
        t.longs = NULL
        for id in range(t.vocab_size):
            n = t.starts[id + 1] - t.starts[id]
            if t.flags[id] == PRESENT and n:
                n_words += n <= WORD_BYTES
                n_longs += n > WORD_BYTES
        bits = table_bits(n_words)
        t.words_shift = 64 - bits
        t.words_mask = (<uint32_t>1 << bits) - 1
        t.words = <WordSlot*>tw_new_table((<size_t>1 << bits) * sizeof(WordSlot))
        t.words_filter = <uint64_t*>tw_new_table(<size_t>1 << (bits + FILTER_BITS - 3))
        bits = table_bits(n_longs)
        t.longs_shift = 64 - bits
        t.longs_mask = (<uint32_t>1 << bits) - 1
        t.longs = <uint32_t*>calloc(<size_t>1 << bits, sizeof(uint32_t))
        if t.words == NULL or t.words_filter == NULL or t.longs == NULL:
            raise MemoryError
        self.fill()
        return 0

    cdef void fill(self) noexcept:
        cdef VocabTables* t = &self.tables
        cdef uint32_t id
        cdef size_t n, i
        cdef uint64_t lo, hi
        cdef const uint8_t* p
        for id in range(t.vocab_size):
            n = t.starts[id + 1] - t.starts[id]
            if t.flags[id] != PRESENT or n == 0:
                continue
            p = t.blob + t.starts[id]
            if n <= WORD_BYTES:
                word_key(p, n, &lo, &hi)
                i = <size_t>(word_hash(lo, hi) >> (t.words_shift - FILTER_BITS))
                t.words_filter[i >> 6] |= <uint64_t>1 << (i & 63)
                i >>= FILTER_BITS
                while t.words[i].key_hi:
                    i = (i + 1) & t.words_mask
                t.words[i].key_lo = lo
                t.words[i].key_hi = hi
                t.words[i].ids[0] = id | <uint32_t>1 << COUNT_SHIFT
            else:
                i = <size_t>(long_hash(p, n) >> t.longs_shift)
                while t.longs[i]:
                    i = (i + 1) & t.longs_mask
                t.longs[i] = id + 1
