"""Tokens by their class.

Most texts are of Latin letters and of what has no script, blanks, digits and signs. So there is a second table with two
bits an id, of which 8 KiB hold the ids that most texts are made of: a block of tokens that has nothing else is counted
by it alone. (A byte an id is fewer instructions, but between other work its lines are out of the cache.)

Cost: 0.5 ns a token in such blocks, 0.7 in others.
"""

from libc.stdlib cimport calloc, free
from libc.string cimport memset

cdef enum:
    BLOCK = 256              # tokens that are counted in one way
    LATIN_KIND = 1           # 0 is neutral
    OTHER_KIND = 2


cdef bint make_classes(Classes* classes, size_t n, uint8_t neutral) noexcept nogil:
    classes.of = <uint8_t*>calloc(n + 1, 1)
    classes.kinds = <uint64_t*>calloc((n >> 5) + 1, sizeof(uint64_t))
    if classes.of == NULL or classes.kinds == NULL:
        return False
    memset(classes.of, neutral, n)
    return True


cdef void free_classes(Classes* classes) noexcept nogil:
    free(classes.of)
    free(classes.kinds)


cdef void lay_out_kinds(Classes* classes, size_t n, uint8_t neutral, uint8_t latin) noexcept nogil:
    cdef size_t id
    cdef uint64_t kind
    for id in range(n):
        kind = 0 if classes.of[id] == neutral else LATIN_KIND if classes.of[id] == latin else OTHER_KIND
        classes.kinds[id >> 5] |= kind << (2 * id & 63)


cdef void start_lanes(Counts* counts) noexcept nogil:
    counts.has_more = True
    memset(counts.lanes, 0, sizeof(counts.lanes))


cdef void count_ids(Counts* counts, const Classes* classes, const uint32_t* ids, size_t n) noexcept nogil:
    """Count all ids by their class, block by block: by kind alone where that tells, in most texts most of the time."""
    cdef size_t start = 0, size, n_latin = 0, k
    cdef unsigned n_failed = 0           # blocks in a row that had others
    counts.n_neutral = counts.n_latin = 0
    counts.has_more = False
    while start < n:
        size = min(<size_t>BLOCK, n - start)
        if n_failed < 2 and count_kinds(classes.kinds, ids + start, size, &n_latin):
            n_failed = 0
            counts.n_latin += n_latin
            counts.n_neutral += size - n_latin
        else:
            n_failed += 1
            if not counts.has_more:
                start_lanes(counts)
            count_classes(counts.lanes, classes.of, ids + start, size)
        start += size
    if counts.has_more:
        for k in range(N_CLASSES):
            counts.lanes[0][k] += counts.lanes[1][k] + counts.lanes[2][k] + counts.lanes[3][k]


cdef bint count_kinds(const uint64_t* kinds, const uint32_t* ids, size_t n, size_t* n_latin) noexcept nogil:
    """Whether all ids are neutral or Latin; and how many are Latin."""
    cdef uint64_t kind, all_kinds = 0
    cdef size_t i, latin = 0
    for i in range(n):
        kind = kinds[ids[i] >> 5] >> (2 * ids[i] & 63)
        latin += kind & LATIN_KIND
        all_kinds |= kind
    n_latin[0] = latin
    return not all_kinds & OTHER_KIND


cdef void count_classes(
    uint32_t[LANES][N_CLASSES] lanes, const uint8_t* classes, const uint32_t* ids, size_t n
) noexcept nogil:
    # Neighbours are often of one class: in lanes of their own they do not wait for each other.
    cdef size_t i = 0
    while i + LANES <= n:
        lanes[0][classes[ids[i]]] += 1
        lanes[1][classes[ids[i + 1]]] += 1
        lanes[2][classes[ids[i + 2]]] += 1
        lanes[3][classes[ids[i + 3]]] += 1
        i += LANES
    while i < n:
        lanes[0][classes[ids[i]]] += 1
        i += 1
