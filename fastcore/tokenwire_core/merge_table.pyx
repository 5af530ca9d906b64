"""The merges of bytes to the entries of a vocabulary, one for each entry.

**One split per token is enough.** Suppose a token T is ever produced inside a larger piece. Until that moment no merge
crossed its edges, so the merges inside them were those of merging T's bytes alone, in the same order; its last merge
joined the same two parts. So each token has at most one pair that can produce it, found by merging its own bytes, and
a token that its own bytes do not lead to is *unreachable*: it appears only where it is a whole piece. This holds for
any ranks, monotone or not. The table is therefore built with the algorithm it serves: tokens in order of length, each
merged by what the shorter ones have entered; if two parts remain, they are its pair.

Where the merges are listed (tokenizer.json) the two parts must be one of them, and its place in the list is the rank;
the rest holds as it stands. Where ids rise as those ranks do, which they do in most files, ids are the ranks again.

Cost: 0.25 microseconds per token to build, 10 to 20 bytes each, and what `char_starts` needs.
"""

from tokenwire_core.errors import ArtifactError

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from tokenwire_core.bpe cimport MergeScratch, free_merge_scratch, merged
from tokenwire_core.byte_merges cimport merge_bytes
from tokenwire_core.char_starts cimport find_char_starts
from tokenwire_core.vocab cimport PRESENT, TW_NO_ID


cdef class MergeTable(Merges):
    """The merges of bytes to the entries of a `Vocab`.

    Args:
        listed: the merges there are, numbered by rank from 0 to n_listed. Without it any two entries whose bytes,
            joined, are an entry merge into it, and its id is the rank.

    Attributes:
        n_unreachable: tokens that no merges lead to; they appear only as whole pieces.

    Raises:
        ArtifactError: MISSING_BYTE when one of the 256 single bytes is no token.
        MemoryError
    """

    def __cinit__(self, Vocab vocab, Merges listed=None, size_t n_listed=0):
        cdef const VocabTables* v = &vocab.tables
        cdef uint32_t id
        cdef size_t n
        self.make_room(v.vocab_size)
        self.vocab = vocab
        self.of_bytes.merges = &self.tables
        self.of_bytes.starts = v.starts
        self.of_bytes.byte_pairs = <uint32_t*>malloc(65536 * sizeof(uint32_t))
        if self.of_bytes.byte_pairs == NULL:
            raise MemoryError
        memset(self.of_bytes.byte_ids, 0xFF, sizeof(self.of_bytes.byte_ids))
        memset(self.of_bytes.byte_pairs, 0xFF, 65536 * sizeof(uint32_t))
        for id in range(v.vocab_size):
            n = v.starts[id + 1] - v.starts[id]
            if n == 1 and v.flags[id] == PRESENT:
                self.of_bytes.byte_ids[v.blob[v.starts[id]]] = id
        for id in range(256):
            if self.of_bytes.byte_ids[id] == TW_NO_ID:
                raise ArtifactError("MISSING_BYTE", f"the byte 0x{id:02x} is no token, so not every text can be encoded")
        if listed is None:
            self.build(v, NULL)
            self.complete(v)
            return
        self.tables.results = <uint32_t*>malloc((n_listed + 1) * sizeof(uint32_t))
        if self.tables.results == NULL:
            raise MemoryError
        memset(self.tables.results, 0xFF, n_listed * sizeof(uint32_t))
        self.build(v, &listed.tables)
        self.number_by_id(n_listed)
        self.complete(v)

    def __dealloc__(self):
        free(self.of_bytes.byte_pairs)
        free(self.of_bytes.chars)
        free(self.of_bytes.edges)

    cdef int complete(self, const VocabTables* v) except -1:
        """Make what is made from the merges, now that they have their numbers."""
        cdef uint32_t i
        for i in range(65536):
            self.of_bytes.byte_pairs[i] = merged(&self.tables, self.of_bytes.byte_ids[i >> 8], self.of_bytes.byte_ids[i & 255])
        if not find_char_starts(&self.of_bytes, v):
            raise MemoryError
        return 0

    def merge(self, bytes piece not None) -> list[int]:
        """The ids that the bytes of a piece, of any length and well-formed or not, merge into.

        Raises:
            MemoryError
        """
        cdef MergeScratch scratch
        cdef size_t n = PyBytes_GET_SIZE(piece)
        cdef uint32_t* out = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        cdef Py_ssize_t i, n_out = -1
        memset(&scratch, 0, sizeof(scratch))
        if out != NULL:
            n_out = merge_bytes(&self.of_bytes, &scratch, <const uint8_t*>PyBytes_AS_STRING(piece), n, out) if n else 0
        free_merge_scratch(&scratch)
        try:
            if n_out < 0:
                raise MemoryError
            return [out[i] for i in range(n_out)]
        finally:
            free(out)

    cdef int build(self, const VocabTables* v, const MergeTables* listed) except -1:
        cdef MergeTables* m = &self.tables
        cdef MergeScratch scratch
        cdef uint32_t* order = <uint32_t*>malloc((v.vocab_size + 1) * sizeof(uint32_t))
        cdef uint32_t* place = <uint32_t*>calloc(v.max_token_bytes + 2, sizeof(uint32_t))
        cdef uint32_t* out = <uint32_t*>malloc((v.max_token_bytes + 1) * sizeof(uint32_t))
        cdef uint32_t id, i, merge, n_tokens = 0
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
                    n_out = merge_bytes(&self.of_bytes, &scratch, p, n, out)
                    if n_out < 0:
                        failed = True
                        break
                    merge = TW_NO_ID
                    if n_out == 2:
                        merge = id if listed == NULL else merged(listed, out[0], out[1])
                    if merge == TW_NO_ID:
                        self.n_unreachable += 1
                        continue
                    self.insert(out[0], out[1], merge)
                    if listed != NULL:
                        m.results[merge] = id
                    if n == 2:
                        self.of_bytes.byte_pairs[<uint32_t>p[0] << 8 | p[1]] = merge
        free(order)
        free(place)
        free(out)
        free_merge_scratch(&scratch)
        if failed:
            raise MemoryError
        return 0
