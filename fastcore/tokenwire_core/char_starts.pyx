"""Where a piece may begin with characters instead of their bytes, proven when a vocabulary is loaded.

Merge the bytes of a character C alone: there is a first and a last symbol and a next merge at every step, and symbols
that are left. Call a step's *bound* the rank of its next merge, and after the last step that of the highest merge of
all. A merge that joins the first symbol of a step with a symbol that ends where C begins, or its last symbol with one
that begins where C ends, *intrudes* if its rank is not above the step's bound.

**If no merge intrudes on C, a piece with C may begin with what C alone becomes.** Compare merging from bytes (1) with
merging from such symbols (2). In (1), as long as C is not complete, the merge that is next within it has a lower rank
than any that touches an edge of C, so the latter are not chosen; and what happens within C depends on nothing outside.
So C is completed, at some time. Outside of such characters both choose among the same merges until then; (2) may also
choose one at the edge of a C that (1) has not completed, but its rank is above all that C still lacks, and (1) chose
the one outside before these. Hence both do the same merges but for those within characters, in the same order.

Which merges can intrude depends on what stands beside C, so the question is asked of each two characters that follow
each other. Where a merge of the vocabulary intrudes on C from the left, its left symbol ends in a whole character X:
then C has an *edge* with X, and where X stands before it, C begins as its bytes. Where the symbol is but the end of a
character, C has an edge with all that end so: with o200k's entry 80 E0 B8, most of Thai with the few characters whose
last byte is 80. The same goes for the right, where the symbol may also be the beginning of a character: of
any of up to 64, or else C always begins as its bytes. Only merges in the table are looked at; all others never
happen. Edges are in a hashed bitmap: where it errs a character begins as its bytes, which is always right.

Cost: a walk through the characters to U+1FFFF and one through the merges; 512 KiB and two to four bytes an edge.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from tokenwire_core.bpe cimport ID_LIMIT, MergeTables, merged, result_of
from tokenwire_core.byte_merges cimport (
    BEFORE_SHIFT,
    END_SHIFT,
    HAS_END_EDGES,
    HAS_LEFT_EDGES,
    HAS_RIGHT_EDGES,
    JOINED_SHIFT,
    N_CHARS,
    SINGLE,
    ByteTables,
    edge_hash,
)
from tokenwire_core.utf8 cimport char_bytes, put_utf8
from tokenwire_core.vocab cimport ID_BITS, TW_NO_ID

cdef enum:
    MOST_STEPS = 4
    BITS_PER_EDGE = 16
    ALIKE = 64               # characters that differ in their last byte alone

# A step of merging a character: its first and last symbol, and its bound.
cdef struct Step:
    uint32_t first
    uint32_t last
    uint32_t bound

# A merge that may intrude, in a list of those with the same symbol of a character.
cdef struct Intruder:
    uint32_t other           # the symbol beyond the edge
    uint32_t rank
    uint32_t following       # index + 1 of the next in the list

# The lists of one side: by symbol the highest bound + 1, and index + 1 of the first.
cdef struct Side:
    uint32_t* bounds
    uint32_t* heads

cdef struct Search:
    ByteTables* t
    const VocabTables* v
    Side left
    Side right
    Intruder* intruders
    uint32_t n_intruders
    uint64_t n_edges


cdef inline void add_step(Step* steps, size_t* n, uint32_t first, uint32_t last, uint32_t bound) noexcept nogil:
    steps[n[0]].first = first
    steps[n[0]].last = last
    steps[n[0]].bound = bound
    n[0] += 1


cdef uint32_t merge_character(const ByteTables* t, uint32_t c, Step* steps, size_t* n_steps) noexcept nogil:
    """What a character alone becomes: an entry of ByteTables.chars, without flags; and the steps to it, if any."""
    cdef uint8_t p[4]
    cdef uint32_t ids[4]
    cdef uint8_t sizes[4]
    cdef uint32_t merges[3]
    cdef uint32_t highest = 0
    cdef size_t size = put_utf8(p, c), n = size, i, at
    n_steps[0] = 0
    for i in range(n):
        ids[i] = t.byte_ids[p[i]]
        sizes[i] = 1
    for i in range(n - 1):
        merges[i] = t.byte_pairs[<uint32_t>p[i] << 8 | p[i + 1]]
    while n > 1:
        at = 0
        for i in range(1, n - 1):
            if merges[i] < merges[at]:
                at = i
        if merges[at] == TW_NO_ID:
            break
        add_step(steps, n_steps, ids[0], ids[n - 1], merges[at])
        highest = max(highest, merges[at])
        ids[at] = result_of(t.merges, merges[at])
        sizes[at] += sizes[at + 1]
        n -= 1
        for i in range(at + 1, n):
            ids[i] = ids[i + 1]
            sizes[i] = sizes[i + 1]
            merges[i - 1] = merges[i]
        if at:
            merges[at - 1] = merged(t.merges, ids[at - 1], ids[at])
        if at + 1 < n:
            merges[at] = merged(t.merges, ids[at], ids[at + 1])
    if n == size:
        return SINGLE
    add_step(steps, n_steps, ids[0], ids[n - 1], highest)
    at = 0
    while sizes[at] == 1:
        at += 1
    if at + sizes[at] + (n - 1 - at) != size:
        return SINGLE                    # two and two: rare
    return ids[at] | <uint32_t>at << BEFORE_SHIFT | <uint32_t>sizes[at] << JOINED_SHIFT


cdef uint32_t code_point(const uint8_t* p, size_t n, size_t size) noexcept nogil:
    """The character of `size` bytes that the n bytes at p begin with, as if bytes that are missing were 0x80."""
    cdef uint32_t c = p[0] if size == 1 else p[0] & (0x7F >> size)
    cdef size_t i
    for i in range(1, size):
        c = c << 6 | (p[i] & 0x3F if i < n else 0)
    return c


cdef uint32_t end_of_char(const uint8_t* p, size_t n) noexcept nogil:
    """What the last n bytes of a character say of it."""
    cdef uint32_t end = 0
    cdef size_t i
    for i in range(n):
        end = end << 6 | (p[i] & 0x3F)
    return end


cdef void add_edge(Search* s, uint32_t left, uint32_t right, bint is_right) noexcept nogil:
    cdef uint64_t i
    s.n_edges += 1
    if s.t.edges != NULL:
        i = edge_hash(s.t, left, right, is_right)
        s.t.edges[i >> 6] |= <uint64_t>1 << (i & 63)


cdef void add_left_edge(Search* s, uint32_t c, uint32_t symbol) noexcept nogil:
    """Keep c from what `symbol` ends with."""
    cdef const uint8_t* p = s.v.blob + s.v.starts[symbol]
    cdef size_t n = s.v.starts[symbol + 1] - s.v.starts[symbol], i = n
    while i and (p[i - 1] & 0xC0) == 0x80:
        i -= 1
    # Otherwise the symbol ends inside a character, or is ill-formed: then it does not stand before one.
    if i == 0 and n <= 3:
        s.t.chars[c] |= HAS_END_EDGES
        add_edge(s, <uint32_t>n << END_SHIFT | end_of_char(p, n), c, True)
    elif i and n - (i - 1) == char_bytes(p[i - 1]):
        i -= 1
        s.t.chars[c] |= HAS_LEFT_EDGES
        add_edge(s, code_point(p + i, n - i, n - i), c, True)


cdef bint add_right_edges(Search* s, uint32_t c, uint32_t symbol) noexcept nogil:
    """Keep c from what `symbol` begins with. False if that may be more than ALIKE characters."""
    cdef const uint8_t* p = s.v.blob + s.v.starts[symbol]
    cdef size_t n = s.v.starts[symbol + 1] - s.v.starts[symbol], size = char_bytes(p[0])
    cdef uint32_t i
    if n + 1 < size:
        return False
    s.t.chars[c] |= HAS_RIGHT_EDGES
    for i in range(1 if n >= size else ALIKE):
        add_edge(s, c, code_point(p, n, size) + i, False)
    return True


cdef bint add_edges(Search* s, uint32_t c) noexcept nogil:
    """Find the edges of a character. False if it is better begun as its bytes everywhere."""
    cdef Step steps[MOST_STEPS]
    cdef size_t n, j
    cdef uint32_t i
    merge_character(s.t, c, steps, &n)
    for j in range(n):
        i = s.left.heads[steps[j].first]
        while i:
            i -= 1
            if s.intruders[i].rank <= steps[j].bound:
                add_left_edge(s, c, s.intruders[i].other)
            i = s.intruders[i].following
        i = s.right.heads[steps[j].last]
        while i:
            i -= 1
            if s.intruders[i].rank <= steps[j].bound and not add_right_edges(s, c, s.intruders[i].other):
                return False
            i = s.intruders[i].following
    return True


cdef void add_intruder(Search* s, Side* side, uint32_t symbol, uint32_t other, uint32_t rank) noexcept nogil:
    if rank < side.bounds[symbol]:
        s.intruders[s.n_intruders].other = other
        s.intruders[s.n_intruders].rank = rank
        s.intruders[s.n_intruders].following = side.heads[symbol]
        s.n_intruders += 1
        side.heads[symbol] = s.n_intruders


cdef void find_intruders(Search* s) noexcept nogil:
    """List the merges that may intrude on any character."""
    cdef const MergeTables* m = s.t.merges
    cdef Step steps[MOST_STEPS]
    cdef uint32_t c, left, right, rank
    cdef size_t n, j
    cdef uint64_t i
    for c in range(0x80, N_CHARS):
        s.t.chars[c] = merge_character(s.t, c, steps, &n) if c < 0xD800 or c >= 0xE000 else SINGLE
        for j in range(n if s.t.chars[c] else 0):
            s.left.bounds[steps[j].first] = max(s.left.bounds[steps[j].first], steps[j].bound + 1)
            s.right.bounds[steps[j].last] = max(s.right.bounds[steps[j].last], steps[j].bound + 1)
    for i in range(m.mask + 1):
        if m.slots[i]:
            left = <uint32_t>(m.slots[i] >> 2 * ID_BITS) & (ID_LIMIT - 1)
            right = <uint32_t>(m.slots[i] >> ID_BITS) & (ID_LIMIT - 1)
            rank = <uint32_t>m.slots[i] & (ID_LIMIT - 1)
            if (s.v.blob[s.v.starts[right]] & 0xC0) != 0x80:
                add_intruder(s, &s.left, right, left, rank)
                add_intruder(s, &s.right, left, right, rank)


cdef bint find_char_starts(ByteTables* t, const VocabTables* v) noexcept nogil:
    cdef Search s
    cdef uint32_t c
    cdef unsigned bits = 10
    cdef bint done = False
    memset(&s, 0, sizeof(s))
    s.t = t
    s.v = v
    s.left.bounds = <uint32_t*>calloc(4 * <size_t>v.vocab_size, sizeof(uint32_t))
    s.intruders = <Intruder*>malloc(2 * <size_t>v.vocab_size * sizeof(Intruder))
    t.chars = <uint32_t*>calloc(N_CHARS, sizeof(uint32_t))
    if s.left.bounds != NULL and s.intruders != NULL and t.chars != NULL:
        s.left.heads = s.left.bounds + v.vocab_size
        s.right.bounds = s.left.heads + v.vocab_size
        s.right.heads = s.right.bounds + v.vocab_size
        find_intruders(&s)
        for c in range(0x80, N_CHARS):
            if t.chars[c] and not add_edges(&s, c):
                t.chars[c] = SINGLE
        while <uint64_t>1 << bits < BITS_PER_EDGE * s.n_edges:
            bits += 1
        t.edges_shift = 64 - bits
        t.edges = <uint64_t*>calloc(<size_t>1 << (bits - 6), sizeof(uint64_t))
        done = t.edges != NULL
        for c in range(0x80, N_CHARS if done else 0):
            if t.chars[c]:
                add_edges(&s, c)
    free(s.left.bounds)
    free(s.intruders)
    return done
