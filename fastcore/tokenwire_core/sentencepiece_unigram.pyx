"""SentencePiece's Unigram: the cut of a text with the highest sum of scores, added as the library adds them.

The best way to a place is the best way to some place before it and one piece more (Viterbi). The library runs it over
the whole text in float32, so what a piece adds is rounded by how much there is already, and where two cuts are nearly
as good, the text before can decide. A sum beyond 100,000 is set to 0, and those of the places ahead are lowered with
it. Here the same sums come about in less time and memory:

- A place that no piece goes over has one way through it: what is before is settled and put out, and only the sum goes
  on. So the ways of a few characters are kept, of a hostile text all.
- Such places can be foreseen at safe edges (`safe_edges`). What lies between two is looked up in the word cache. A word
  is there only if its best cut is ahead by more than all rounding can make up for at any sum; its ids, then, are the
  same everywhere, and their scores are added one by one as the library would have done.

By how much a cut is ahead of the second best is found in float64. A word has at most 30
pieces, so where the sum before it is 30 of the largest score away from 100,000, none on the way is beyond that, where
float32 rounds by 2**-8 at most: 60 such errors make 0.24, and a lead of 0.25 is enough.

Cost: 150 ns a byte of vocabulary to build. About 50 ns a word that the cache has; 15 to 25 ns a byte without it, times
the length of the longest piece that the text nearly has; 16 bytes of memory a byte of what is kept.
"""

from libc.math cimport INFINITY, fabs, fabsf
from libc.stdlib cimport free, malloc

from tokenwire_core.sentencepiece_spec import PieceType

from tokenwire_core.scratch cimport DONE, NO_MEMORY, reserve
from tokenwire_core.sentencepiece_rules cimport character_bytes
from tokenwire_core.sentencepiece_output cimport begin_output, close_output, open_output, put_cut
from tokenwire_core.sentencepiece_words cimport known_word, learn_word, may_learn, next_words, put_word
from tokenwire_core.trie cimport NO_VALUE, Node, step
from tokenwire_core.vocab cimport WordSlot

cdef enum:
    MAX_WORD_BYTES = 60      # 15 `▁` and 15 bytes are the longest word that the cache takes

cdef float UNKNOWN_PENALTY = 10.0
cdef float RESCALE_BEYOND = 100000.0
cdef double MOST_PIECES = 30.0           # of a word that the cache takes
cdef double LEAD = 0.25
cdef double MAX_FLOAT32 = (2.0 - 2.0**-23) * 2.0**127


# The sums of the best way to a place and of the second best.
cdef struct TwoSums:
    double best
    double second


cdef class SentencePieceUnigram(Model):
    """The Unigram model of a `SentencePieceModel`.

    Raises:
        ArtifactError: VOCABULARY_TOO_LARGE.
        MemoryError
    """

    def __cinit__(self, model):
        cdef size_t id_
        cdef double lowest = MAX_FLOAT32, largest
        made = (PieceType.NORMAL, PieceType.USER_DEFINED)
        self.scores = <float*>malloc((len(model.pieces) + 1) * sizeof(float))
        if self.scores == NULL:
            raise MemoryError
        # A piece that is a NUL is in no table of the library, but its score counts.
        ids = {}
        for id_, piece in enumerate(model.pieces):
            self.scores[id_] = piece.score
            if piece.type is PieceType.NORMAL:
                lowest = min(lowest, <double>piece.score)
            if piece.type in made and piece.text != "\0":
                ids[piece.text.encode()] = id_
                if piece.type is PieceType.USER_DEFINED:
                    # Above all others, and more for one than for two that are as long.
                    self.scores[id_] = <float>(0.1 * (len(piece.text.encode()) - 1))
        self.unknown_score = <float>(lowest - UNKNOWN_PENALTY)
        largest = fabs(self.unknown_score)
        for id_ in ids.values():
            largest = max(largest, fabs(self.scores[id_]))
        self.certain_below = <float>max(RESCALE_BEYOND - (MOST_PIECES + 1.0) * largest, 0.0)
        self.trie = Trie(ids)
        self.edges = SafeEdges(list(ids))
        self.fallback = FallbackTable(model)

    def __dealloc__(self):
        free(self.scores)

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef Output o
        cdef const WordSlot* known
        cdef uint32_t* ids
        cdef size_t start = 0, end, n_words, j, i
        cdef float sum = 0.0
        cdef bint knows_words
        begin_output(&o, s, &self.fallback.fallback, p)
        while start < n:
            n_words = next_words(&self.edges.tables, s, p, n, start)
            if not open_output(&o, s.chunk_ends[n_words - 1] - start):
                return NO_MEMORY
            for j in range(n_words):
                end = s.chunk_ends[j]
                knows_words = fabsf(sum) < self.certain_below
                known = known_word(s, j) if knows_words else NULL
                ids = o.next
                if known != NULL:
                    for i in range(put_word(&o, known)):
                        sum += self.scores[ids[i]]
                else:
                    if not self.encode_part(&o, start, end, &sum):
                        return NO_MEMORY
                    if knows_words and may_learn(s, j, o.next - ids) and self.is_certain(p + start, end - start):
                        learn_word(s, j, ids, o.next - ids)
                start = end
            close_output(&o)
        return DONE

    cdef bint encode_part(self, Output* o, size_t start, size_t end, float* sum) noexcept nogil:
        cdef const uint8_t* p = o.p
        cdef const Node* nodes = self.trie.nodes
        cdef Node node
        cdef Way* ways           # by the distance from `first`
        cdef size_t first = start, furthest = start, place, next_start, at
        cdef float score
        cdef bint is_piece
        if not reserve(&o.s.work[0], 64 * sizeof(Way)):
            return False
        ways = <Way*>o.s.work[0].p
        ways[0].score = sum[0]
        while start < end:
            if start == furthest and start > first:
                # No step goes over this place.
                put_ways(o, ways, first, start)
                ways[0].score = ways[start - first].score
                first = start
            score = ways[start - first].score
            if fabsf(score) > RESCALE_BEYOND:
                ways[start - first].score -= score
                for place in range(start + 1, furthest + 1):
                    if ways[place - first].start != NO_VALUE:
                        ways[place - first].score -= score
                score = ways[start - first].score
            next_start = start + character_bytes(p[start])
            is_piece = False
            node = self.trie.root
            at = start
            while at < end and step(nodes, &node, p[at]):
                at += 1
                if node.value != NO_VALUE:
                    if at > furthest:
                        ways = extended(o.s, ways, first, furthest, at)
                        if ways == NULL:
                            return False
                        furthest = at
                    offer(ways, start - first, at - first, node.value, score + self.scores[node.value])
                    is_piece |= at == next_start
            if not is_piece:
                if next_start > furthest:
                    ways = extended(o.s, ways, first, furthest, next_start)
                    if ways == NULL:
                        return False
                    furthest = next_start
                offer(ways, start - first, next_start - first, NO_VALUE, score + self.unknown_score)
            start = next_start
        put_ways(o, ways, first, end)
        sum[0] = ways[end - first].score
        return True

    cdef bint is_certain(self, const uint8_t* p, size_t n) noexcept nogil:
        """Whether the best cut of p[:n], which is a word for the cache, is the same whatever is before it.

        One with a character that is no piece is never said to be.
        """
        cdef TwoSums sums[MAX_WORD_BYTES + 1]
        cdef Node node
        cdef double best, second
        cdef size_t start = 0, next_start, at
        cdef bint is_piece
        for at in range(n + 1):
            sums[at].best = sums[at].second = -INFINITY
        sums[0].best = 0.0
        while start < n:
            next_start = start + character_bytes(p[start])
            is_piece = False
            node = self.trie.root
            at = start
            while at < n and step(self.trie.nodes, &node, p[at]):
                at += 1
                if node.value != NO_VALUE:
                    best = sums[start].best + self.scores[node.value]
                    second = sums[start].second + self.scores[node.value]
                    if best > sums[at].best:
                        sums[at].second = max(sums[at].best, second)
                        sums[at].best = best
                    else:
                        sums[at].second = max(sums[at].second, best)
                    is_piece |= at == next_start
            if not is_piece:
                return False
            start = next_start
        return sums[n].best - sums[n].second > LEAD


cdef inline void offer(Way* ways, size_t start, size_t end, uint32_t id, float score) noexcept nogil:
    """Take a step for the best way to `end`, if it is; the first of equals stays."""
    cdef Way* way = &ways[end]
    if way.start == NO_VALUE or score > way.score:
        way.score = score
        way.start = <uint32_t>start
        way.id = id


cdef inline Way* extended(Scratch* s, Way* ways, size_t first, size_t furthest, size_t end) noexcept nogil:
    """Make room for ways up to `end`, to which none leads yet behind `furthest`."""
    cdef size_t place
    if (end - first + 1) * sizeof(Way) > s.work[0].capacity:
        if not reserve(&s.work[0], (end - first + 1) * sizeof(Way)):
            return NULL
        ways = <Way*>s.work[0].p
    for place in range(furthest + 1, end + 1):
        ways[place - first].start = NO_VALUE
    return ways


cdef void put_ways(Output* o, Way* ways, size_t first, size_t end) noexcept nogil:
    """Put the steps of the best way from `first` to `end`."""
    cdef size_t at = end - first, start
    while at:
        start = ways[at].start
        ways[start].next_end = <uint32_t>at
        at = start
    while at < end - first:
        start = at
        at = ways[start].next_end
        put_cut(o, first + start, first + at, ways[at].id)
