"""The merges of bytes to the entries of a vocabulary, one for each entry.

**One split per token is enough.** Suppose a token T is ever produced inside a larger piece. Until that moment no merge
crossed its edges, so the merges inside them were those of merging T's bytes alone, in the same order; its last merge
joined the same two parts. So each token has at most one pair that can produce it, found by merging its own bytes, and
a token that its own bytes do not lead to is *unreachable*: it appears only where it is a whole piece. This holds for
any ranks, monotone or not. The table is therefore built with the algorithm it serves: tokens in order of length, each
merged by what the shorter ones have entered; if two parts remain, they are its pair.

Where the merges are listed (tokenizer.json) the two parts must be one of them, and its place in the list is the rank;
the rest holds as it stands. Where ids rise as those ranks do, which they do in most files, ids are the ranks again.

Cost: 0.35 microseconds per token to build, 16 to 32 bytes each.
"""

from tokenwire_core.errors import ArtifactError

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from tokenwire_core.bpe cimport (
    SHORT_SYMBOLS,
    MergeScratch,
    free_merge_scratch,
    merge_long,
    merge_short,
    merged,
)
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
        self.tables.byte_pairs = <uint32_t*>malloc(65536 * sizeof(uint32_t))
        if self.tables.byte_pairs == NULL:
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
        if listed is None:
            self.build(v, NULL)
            return
        self.tables.results = <uint32_t*>malloc((n_listed + 1) * sizeof(uint32_t))
        if self.tables.results == NULL:
            raise MemoryError
        memset(self.tables.results, 0xFF, n_listed * sizeof(uint32_t))
        self.build(v, &listed.tables)
        self.number_by_id(n_listed)

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
                    n_out = merge_short(m, p, n, out) if n <= SHORT_SYMBOLS else merge_long(m, &scratch, p, n, out)
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
                        m.byte_pairs[<uint32_t>p[0] << 8 | p[1]] = merge
        free(order)
        free(place)
        free(out)
        free_merge_scratch(&scratch)
        if failed:
            raise MemoryError
        return 0
