"""Unigram as the `tokenizers` library runs it: the cut of a piece into entries with the highest sum of scores.

The best way to a place is the best way to some place before it and one entry more (Viterbi). Places are taken from left
to right; from each the trie tells all entries that go on, the shortest first, and each is offered to the place where it
ends, which takes it if nothing leads there yet or the sum is higher. Sums are float64, a score added to the sum so far;
so the ways and their ties are the library's, bit for bit. A character that is no entry can be stepped over as unknown
for 10 less than the lowest score; of unknown steps in a row is made one token, or the tokens of its bytes.

**Control tokens** that stand in the vocabulary as ordinary entries are not in the trie: no text becomes their id, and
what spells one is cut into other entries as any text is. Their scores still count where the lowest is sought. So with
XLM-RoBERTa's vocabulary `<s>` typed by a user is `▁<`, `s`, `>`, as those entries score. The tokens of bytes are what
fallback makes of unknown bytes, whatever they are flagged as; spelled out, `<0x41>` is cut as any text if it is flagged.

Cost: 130 nanoseconds a byte of vocabulary to build. A piece takes time linear in its length times that of the longest
entry that it nearly has: 15 to 25 ns a byte of ordinary text, and 16 bytes of memory a byte.
"""

from libc.stdlib cimport free, malloc

from tokenwire_core import reference_models

from tokenwire_core.scratch cimport DONE, NO_MEMORY, UNKNOWN_TEXT, reserve
from tokenwire_core.trie cimport NO_VALUE, Node, step
from tokenwire_core.word_cache cimport append, next_ids, put, recall


cdef inline size_t character_bytes(uint8_t first) noexcept nogil:
    """The length of the character that begins with the byte `first`."""
    return 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


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
        self.scores = <double*>malloc((len(model.pieces) + 1) * sizeof(double))
        if self.scores == NULL:
            raise MemoryError
        for id, (_, score) in enumerate(model.pieces):
            self.scores[id] = score
        self.unknown_score = min([score for _, score in model.pieces], default=0.0) - reference_models.UNKNOWN_PENALTY
        self.unk = <uint32_t>NO_VALUE if model.unk_id is None else model.unk_id
        self.has_fallback = model.byte_fallback
        for byte in range(256):
            self.byte_ids[byte] = ids.get(f"<0x{byte:02X}>", <uint32_t>NO_VALUE)

    def __dealloc__(self):
        free(self.scores)

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef Way* ways
        cdef uint32_t id, next_end = 0
        cdef size_t start, end, k, n_most = 0
        cdef int status
        cdef uint32_t* ids = next_ids(s, 1)
        cdef uint32_t* out
        if ids == NULL:
            return NO_MEMORY
        if recall(s, p, n, ids):
            return DONE
        if not reserve(&s.work[0], (n + 1) * sizeof(Way)):
            return NO_MEMORY
        ways = <Way*>s.work[0].p
        status = self.find_ways(ways, p, n)
        if status != DONE:
            return status
        # Turn the best way around: each step gets the end of the one behind it.
        end = n
        while end:
            start = ways[end].start
            n_most += end - start if ways[end].id == self.unk else 1
            ways[end].start = next_end
            next_end = <uint32_t>end
            end = start
        ids = out = next_ids(s, n_most)
        if ids == NULL:
            return NO_MEMORY
        start = 0
        while start < n:
            end = next_end
            id = ways[end].id
            if id == self.unk:
                while end < n and ways[ways[end].start].id == id:
                    end = ways[end].start
                # Together they may be an entry, in a vocabulary where unknown characters score more than one.
                id = self.trie.find(p + start, end - start)
            next_end = ways[end].start
            if id != NO_VALUE:
                out = put(s, out, id, start, end)
            elif self.falls_back(p + start, end - start):
                for k in range(start, end):
                    out = put(s, out, self.byte_ids[p[k]], start, end)
            else:
                out = put(s, out, self.unk, start, end)
            start = end
        append(s, n, ids, out - ids)
        return DONE

    cdef int find_ways(self, Way* ways, const uint8_t* p, size_t n) noexcept nogil:
        """Fill ways[:n + 1]: the best way to each place."""
        cdef const Node* nodes = self.trie.nodes
        cdef Node node
        cdef size_t start = 0, at, next_start
        cdef double score
        cdef bint is_entry
        for at in range(1, n + 1):
            ways[at].id = NO_VALUE
        ways[0].score = 0.0
        while start < n:
            next_start = start + character_bytes(p[start])
            is_entry = False
            node = self.trie.root
            at = start
            while at < n and step(nodes, &node, p[at]):
                at += 1
                if node.value != NO_VALUE:
                    score = self.scores[node.value] + ways[start].score
                    if ways[at].id == NO_VALUE or score > ways[at].score:
                        ways[at].score = score
                        ways[at].id = node.value
                        ways[at].start = <uint32_t>start
                    is_entry |= at == next_start
            if not is_entry:
                score = self.unknown_score + ways[start].score
                if ways[next_start].id == NO_VALUE or score > ways[next_start].score:
                    if self.unk == NO_VALUE:
                        return UNKNOWN_TEXT
                    ways[next_start].score = score
                    ways[next_start].id = self.unk
                    ways[next_start].start = <uint32_t>start
            start = next_start
        return DONE

    cdef bint falls_back(self, const uint8_t* p, size_t n) noexcept nogil:
        """Whether unknown text becomes the tokens of its bytes: if there is one for each."""
        cdef size_t i
        if not self.has_fallback:
            return False
        for i in range(n):
            if self.byte_ids[p[i]] == NO_VALUE:
                return False
        return True
