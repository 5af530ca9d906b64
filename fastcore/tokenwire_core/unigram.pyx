"""Unigram as the `tokenizers` library runs it: the cut of a piece into entries with the highest sum of scores.

The best way to a place is the best way to some place before it and one entry more (Viterbi). Places are taken from left
to right; from each the trie tells all entries that go on, the shortest first, and each is offered to the place where it
ends, which takes it if nothing leads there yet or the sum is higher. Sums are float64, a score added to the sum so far;
so the ways and their ties are the library's, bit for bit. A character that is no entry can be stepped over as unknown
for 10 less than the lowest score; of unknown steps in a row is made one token, or the tokens of its bytes.

**Control tokens** that stand in the vocabulary as ordinary entries are not in the trie: no text becomes their id, and
what spells one is cut into other entries as any text is. Their scores still count where the lowest is sought. So of
XLM-RoBERTa's vocabulary `<s>`, typed by a user as a word, is `▁<`, `s`, `>`, and `</s>` is `▁`, `</`, `s`, `>`. Tokens
of bytes are what unknown bytes become, even if they are control tokens: a byte is no spelling of its token.

Cost: 1.5 microseconds an entry to build. A piece takes time linear in its length times that of the longest entry that
it nearly has: 25 to 50 ns a byte of words that are new, 75 ns a word that the cache knows, 16 bytes of memory a byte.
"""

from libc.stdlib cimport free, malloc

from tokenwire_core import reference_models

from tokenwire_core.one_piece cimport encode_piece, put
from tokenwire_core.scratch cimport DONE, NO_MEMORY, UNKNOWN_TEXT, reserve
from tokenwire_core.trie cimport NO_VALUE, step, value_of
from tokenwire_core.utf8 cimport char_bytes


cdef int find_ways(const UnigramTables* t, Way* ways, const uint8_t* p, size_t n) noexcept nogil:
    """Fill ways[:n + 1]: the best way to each place."""
    cdef Node node
    cdef size_t start = 0, at, next_start
    cdef double score
    cdef bint is_entry
    for at in range(1, n + 1):
        ways[at].id = NO_VALUE
    ways[0].score = 0.0
    while start < n:
        next_start = start + char_bytes(p[start])
        is_entry = False
        node = t.root
        at = start
        while at < n and step(t.nodes, &node, p[at]):
            at += 1
            if node.value != NO_VALUE:
                score = t.scores[node.value] + ways[start].score
                if ways[at].id == NO_VALUE or score > ways[at].score:
                    ways[at].score = score
                    ways[at].id = node.value
                    ways[at].start = <uint32_t>start
                is_entry |= at == next_start
        if not is_entry:
            score = t.unknown_score + ways[start].score
            if ways[next_start].id == NO_VALUE or score > ways[next_start].score:
                if t.unk == NO_VALUE:
                    return UNKNOWN_TEXT
                ways[next_start].score = score
                ways[next_start].id = t.unk
                ways[next_start].start = <uint32_t>start
        start = next_start
    return DONE


cdef uint32_t turn_around(Way* ways, size_t n) noexcept nogil:
    """Give each step of the best way to the end the end of the one behind it. Returns the end of the first."""
    cdef size_t end = n, start
    cdef uint32_t next_end = 0
    while end:
        start = ways[end].start
        ways[end].start = next_end
        next_end = <uint32_t>end
        end = start
    return next_end


cdef bint falls_back(const UnigramTables* t, const uint8_t* p, size_t n) noexcept nogil:
    """Whether unknown text becomes the tokens of its bytes: if there is one for each."""
    cdef size_t i
    if not t.byte_fallback:
        return False
    for i in range(n):
        if t.byte_ids[p[i]] == NO_VALUE:
            return False
    return True


cdef Py_ssize_t encode_word(
    const void* tables, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil:
    """As WordEncoder and encode_piece want it, for pieces of any length."""
    cdef const UnigramTables* t = <const UnigramTables*>tables
    cdef const uint32_t* first = out
    cdef Way* ways
    cdef uint32_t id, next_end
    cdef size_t start = 0, end, k
    cdef int status
    if not reserve(&s.work[0], (n + 1) * sizeof(Way)):
        return -NO_MEMORY
    ways = <Way*>s.work[0].p
    status = find_ways(t, ways, p, n)
    if status != DONE:
        return -status
    next_end = turn_around(ways, n)
    while start < n:
        end = next_end
        id = ways[end].id
        if id == t.unk:
            while end < n and ways[ways[end].start].id == id:
                end = ways[end].start
            # Together they may be an entry, in a vocabulary where unknown characters score more than one.
            id = value_of(t.nodes, t.root, p + start, end - start)
        next_end = ways[end].start
        if id != NO_VALUE:
            out = put(s, out, id, start, end)
        elif falls_back(t, p + start, end - start):
            for k in range(start, end):
                out = put(s, out, t.byte_ids[p[k]], start, end)
        else:
            out = put(s, out, t.unk, start, end)
        start = end
    return out - first


cdef class Unigram(Model):
    """The model of a `UnigramModel`.

    Args:
        control_ids: entries that no text becomes; the unknown token is none of them.

    Raises:
        ArtifactError: VOCABULARY_TOO_LARGE.
        MemoryError
    """

    def __cinit__(self, model, control_ids=frozenset()):
        cdef size_t id, byte
        cdef dict ids = {spelling: id for id, (spelling, _) in enumerate(model.pieces)}
        self.trie = Trie({spelling.encode(): id for spelling, id in ids.items() if id not in control_ids})
        self.tables.nodes = self.trie.nodes
        self.tables.root = self.trie.root
        self.tables.scores = <double*>malloc((len(model.pieces) + 1) * sizeof(double))
        if self.tables.scores == NULL:
            raise MemoryError
        for id, (_, score) in enumerate(model.pieces):
            self.tables.scores[id] = score
        lowest = min([score for _, score in model.pieces], default=0.0)
        self.tables.unknown_score = lowest - reference_models.UNKNOWN_PENALTY
        self.tables.unk = <uint32_t>NO_VALUE if model.unk_id is None else model.unk_id
        self.tables.byte_fallback = model.byte_fallback
        for byte in range(256):
            self.tables.byte_ids[byte] = ids.get(f"<0x{byte:02X}>", <uint32_t>NO_VALUE)

    def __dealloc__(self):
        free(self.tables.scores)

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        return encode_piece(encode_word, &self.tables, s, p, n)
