"""Byte-pair merging of one piece, exactly in rank order.

The rule (Sennrich et al. 2016; tiktoken for the details): start from single bytes; among all adjacent pairs whose
joined bytes are a vocabulary entry, merge the one of lowest rank, the leftmost among equals; stop when there is none.
In a rank file the rank of a merge is the id it produces.

Two algorithms: up to 64 symbols a scan for the lowest of `rank << 6 | position`, four at a time (quadratic, but in a few
cache lines); above that a tournament of `rank << 32 | position` over a linked list: a tree in which each node has the
lesser of its two children, so that the root has the next merge, and a merge replays the matches of three leaves.
O(n log n) time without a branch that depends on ranks, 36 bytes of scratch per symbol. Both run over bytes, and over
whatever symbols the caller has made of a piece, for models whose symbols are characters. (A heap was four times slower:
entries that a merge outdates stay in it, and each of its steps is a branch that nobody can foretell.)

Most pairs that are looked up have no merge. A bitmap of eight bits a slot, which fits the cache, says so for nine in
ten of them, so that only merges go to the table. It lets the table be 80% full, at the cost of one that is 40% full.
In words that no cache has seen, waiting for these tables is most of the time, so a slot is asked for together with its
bits, and what the next merges will look up before the first is made. Where all neighbours of a long piece are looked up
at once nothing waits for an answer, and asking for slots that hardly any of them needs only costs. What did not help:
scanning up to 128 symbols, where the tree is as fast; looking ahead anew after each merge; merging the words of a chunk
that no cache has seen in step with each other, so that their waits overlap, which saved as much as it cost.

**Windows.** A tree of a million entries is slow, since each step misses the cache. So long pieces are merged in windows
that overlap. Call two tokens that follow each other *compatible* if they are what their own symbols, alone, merge into.
Tokens are the result for a piece if and only if all neighbours are compatible: consider the first merge that crosses an
edge between two of them; until then, what happened within these two is what happens if they are alone, in the same
order, so that merge happens there too. Neighbours within a window are compatible. Hence, where the end of one window
and the beginning of the next have one token in common, the tokens before it of the first and behind it of the second
are the result for both. If there is none, which no text is known for, one tree takes the whole piece. Windows of ids are
merged in place, so that there the scratch does not grow with the piece.
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from tokenwire_core.vocab cimport tw_new_table

cdef enum:
    FEW_SYMBOLS = 32
    WINDOW_SYMBOLS = LONG_SYMBOLS / 2
    OVERLAP_SYMBOLS = 256

cdef uint64_t NO_MERGE = 0xFFFFFFFFFFFFFFFF


cdef size_t merge_by_keys(const MergeTables* m, uint32_t* ids, int32_t* keys, size_t n) noexcept nogil:
    cdef uint8_t following[SHORT_SYMBOLS]
    cdef uint8_t before[SHORT_SYMBOLS + 1]
    cdef size_t i, at, after, padded = (n + 3) & ~<size_t>3, n_left = 0
    cdef int32_t least
    cdef uint32_t id
    for i in range(n):
        following[i] = <uint8_t>(i + 1)
        before[i + 1] = <uint8_t>i
    for i in range(n - 1, padded):
        keys[i] = NO_KEY
    # A pair of lower rank than its neighbours will mostly be merged as it is. What will then be looked up for it comes
    # from the memory meanwhile, for all of them together.
    for i in range(n - 1):
        if keys[i] < NO_KEY and (i == 0 or keys[i] < keys[i - 1]) and (i + 2 >= n or keys[i] < keys[i + 1]):
            id = result_of(m, <uint32_t>keys[i] >> POSITION_BITS)
            if i:
                prefetch_merge(m, ids[i - 1], id)
            if i + 2 < n:
                prefetch_merge(m, id, ids[i + 2])
    while True:
        least = tw_least(keys, padded)
        if least >= NO_KEY:
            break
        at = least & (SHORT_SYMBOLS - 1)
        id = result_of(m, <uint32_t>least >> POSITION_BITS)
        ids[at] = id
        keys[following[at]] = NO_KEY
        after = following[following[at]]
        following[at] = <uint8_t>after
        before[after] = <uint8_t>at
        keys[at] = key_of_merge(merged(m, id, ids[after]), at) if after < n else NO_KEY
        if at:
            i = before[at]
            keys[i] = key_of_merge(merged(m, ids[i], id), i)
    at = 0
    while at < n:
        ids[n_left] = ids[at]
        n_left += 1
        at = following[at]
    return n_left


cdef size_t merge_ids(const MergeTables* m, uint32_t* ids, size_t n) noexcept nogil:
    cdef int32_t keys[SHORT_SYMBOLS]
    cdef size_t i
    for i in range(n - 1):
        keys[i] = key_of_merge(merge_of_key(m, pair_key(ids[i], ids[i + 1])), i)
    return merge_by_keys(m, ids, keys, n)


cdef bint reserve_symbols(MergeScratch* s, size_t n) noexcept nogil:
    cdef void* grown
    if s.symbols_capacity < n:
        grown = realloc(s.symbols, (n + WINDOW_SYMBOLS) * sizeof(Symbol))
        if grown == NULL:
            return False
        s.symbols = <Symbol*>grown
        s.symbols_capacity = n
    if s.tree_capacity < 2 * n:
        grown = realloc(s.tree, 2 * n * sizeof(uint64_t))
        if grown == NULL:
            return False
        s.tree = <uint64_t*>grown
        s.tree_capacity = 2 * n
    return True


cdef inline uint32_t rank_of(const MergeTables* m, uint32_t merge) noexcept nogil:
    return merge if m.ranks == NULL or merge == TW_NO_ID else m.ranks[merge]


cdef inline uint32_t merge_of(const MergeTables* m, const Symbol* left, const Symbol* right) noexcept nogil:
    return merged(m, left.id, right.id) if left.id < ID_LIMIT and right.id < ID_LIMIT else TW_NO_ID


cdef void symbols_by_scan(const MergeTables* m, Symbol* symbols, size_t n) noexcept nogil:
    """As symbols_by_tree, for n <= FEW_SYMBOLS; those that are left move together."""
    cdef uint32_t rank[FEW_SYMBOLS]
    cdef uint32_t best
    cdef size_t n_left = n, i, at
    for i in range(n):
        rank[i] = rank_of(m, symbols[i].merge)
    while n_left > 1:
        best = rank[0]
        at = 0
        for i in range(1, n_left - 1):
            if rank[i] < best:
                best = rank[i]
                at = i
        if best == TW_NO_ID:
            break
        n_left -= 1
        symbols[at].id = result_of(m, symbols[at].merge)
        symbols[at].n_bytes += symbols[at + 1].n_bytes
        for i in range(at + 1, n_left):
            symbols[i] = symbols[i + 1]
            rank[i] = rank[i + 1]
        symbols[at].merge = merge_of(m, &symbols[at], &symbols[at + 1]) if at + 1 < n_left else TW_NO_ID
        rank[at] = rank_of(m, symbols[at].merge)
        if at:
            symbols[at - 1].merge = merge_of(m, &symbols[at - 1], &symbols[at])
            rank[at - 1] = rank_of(m, symbols[at - 1].merge)
    for i in range(n_left):
        symbols[i].next = <uint32_t>(i + 1 if i + 1 < n_left else n)


cdef inline uint64_t key_of(const MergeTables* m, const Symbol* symbols, size_t at) noexcept nogil:
    """What the merge of a symbol is ordered by: rank, then position; above all others where there is none."""
    return <uint64_t>rank_of(m, symbols[at].merge) << 32 | at


cdef inline void play(uint64_t* tree, size_t i) noexcept nogil:
    tree[i] = tree[2 * i] if tree[2 * i] < tree[2 * i + 1] else tree[2 * i + 1]


cdef void symbols_by_tree(const MergeTables* m, Symbol* symbols, uint64_t* tree, size_t n) noexcept nogil:
    """Merge symbols, of which each has its merge with the next, the last TW_NO_ID. The tree has room for 2 * n."""
    cdef Symbol* symbol
    cdef Symbol* right
    cdef size_t at, i, j, k
    for i in range(n):
        symbols[i].prev = <uint32_t>i - 1
        symbols[i].next = <uint32_t>i + 1
        tree[n + i] = key_of(m, symbols, i)
    for i in range(n - 1, 0, -1):
        play(tree, i)
    while tree[1] >> 32 != TW_NO_ID:
        at = <uint32_t>tree[1]
        symbol = &symbols[at]
        right = &symbols[symbol.next]
        i = n + at
        j = n + symbol.next
        k = i
        symbol.id = result_of(m, symbol.merge)
        symbol.n_bytes += right.n_bytes
        symbol.next = right.next
        symbol.merge = TW_NO_ID
        if symbol.next < n:
            symbols[symbol.next].prev = <uint32_t>at
            symbol.merge = merge_of(m, symbol, &symbols[symbol.next])
        tree[i] = key_of(m, symbols, at)
        tree[j] = NO_MERGE
        if at:
            k = n + symbol.prev
            symbols[symbol.prev].merge = merge_of(m, &symbols[symbol.prev], symbol)
            tree[k] = key_of(m, symbols, symbol.prev)
        # The three are close together, and so are their ways up. Where n is no power of two they differ in length, and
        # one may arrive before the others: what it has done on top is done again.
        while j > 1:
            i >>= 1
            j >>= 1
            k >>= 1
            play(tree, i)
            play(tree, k)
            play(tree, j)


cdef void find_merges(const MergeTables* m, Symbol* symbols, size_t n) noexcept nogil:
    cdef size_t i
    cdef uint32_t left = symbols[0].id, right
    for i in range(n - 1):
        right = symbols[i + 1].id
        symbols[i].merge = merge_of_key(m, pair_key(left, right)) if left < ID_LIMIT and right < ID_LIMIT else TW_NO_ID
        left = right
    symbols[n - 1].merge = TW_NO_ID


cdef void merge_window(
    const MergeTables* m, Symbol* window, uint64_t* tree, const uint32_t* ids, size_t size
) noexcept nogil:
    """Merge so many ids as if they were alone."""
    cdef size_t i
    for i in range(size):
        window[i].id = ids[i]
        window[i].n_bytes = 0
    find_merges(m, window, size)
    symbols_by_tree(m, window, tree, size)


cdef size_t merge_by_windows(
    const MergeTables* m, Symbol* window, uint64_t* tree, uint32_t* ids, uint32_t* starts, size_t n
) noexcept nogil:
    """Merge n > LONG_SYMBOLS ids in place, window by window, so that all that is worked on stays in the cache.

    `window` has room for WINDOW_SYMBOLS, `tree` for twice as many. Tells in `starts`, unless that is NULL, with which
    id each of those that are left began. Returns how many these are; 0, with ids destroyed, if two windows do not meet.
    """
    cdef uint32_t last_ids[OVERLAP_SYMBOLS]              # of the window before, where the two overlap
    cdef uint32_t last_starts[OVERLAP_SYMBOLS + 1]
    cdef size_t start = 0, size = WINDOW_SYMBOLS, end, n_out = 0, n_last, at = 0, k, old
    merge_window(m, window, tree, ids, size)
    while True:
        end = start + size
        n_last = 0
        while at < size:
            if start + at < end - OVERLAP_SYMBOLS or end == n:
                put(ids, starts, n_out, window[at].id, start + at)
                n_out += 1
            else:
                put(last_ids, last_starts, n_last, window[at].id, start + at)
                n_last += 1
            at = window[at].next
        if end == n:
            return n_out
        if n_last == 0:
            return 0
        # The next window begins with a token of this one. What is written is behind it, for no token is made of none.
        last_starts[n_last] = <uint32_t>end
        start = last_starts[0]
        size = min(<size_t>WINDOW_SYMBOLS, n - start)
        merge_window(m, window, tree, ids + start, size)
        at = k = 0
        while True:
            if k == n_last or at >= size:
                return 0
            old = last_starts[k] - start
            if at < old:
                at = window[at].next
                continue
            if at == old:
                if window[at].id == last_ids[k] and window[at].next == last_starts[k + 1] - start:
                    break
                at = window[at].next
            k += 1
        for old in range(k):
            put(ids, starts, n_out, last_ids[old], last_starts[old])
            n_out += 1


cdef inline void put(uint32_t* ids, uint32_t* starts, size_t i, uint32_t id, size_t start) noexcept nogil:
    ids[i] = id
    if starts != NULL:
        starts[i] = <uint32_t>start


cdef size_t merge_symbols_by_windows(const MergeTables* m, MergeScratch* scratch, size_t n) noexcept nogil:
    """merge_symbols for n > LONG_SYMBOLS; 0, and all as it was, if two windows do not meet."""
    cdef Symbol* symbols = scratch.symbols
    cdef uint32_t* ids = <uint32_t*>scratch.tree
    cdef uint32_t* starts = ids + n
    cdef size_t i, j, k, n_out
    for i in range(n):
        ids[i] = symbols[i].id
    n_out = merge_by_windows(m, symbols + n, scratch.tree + n, ids, starts, n)
    for i in range(n_out):
        j = starts[i]
        symbols[j].id = ids[i]
        symbols[j].next = starts[i + 1] if i + 1 < n_out else <uint32_t>n
        for k in range(j + 1, symbols[j].next):
            symbols[j].n_bytes += symbols[k].n_bytes
    return n_out


cdef void merge_symbols(const MergeTables* m, MergeScratch* scratch, size_t n) noexcept nogil:
    cdef Symbol* symbols = scratch.symbols
    if n > LONG_SYMBOLS and merge_symbols_by_windows(m, scratch, n):
        return
    find_merges(m, symbols, n)
    if n <= FEW_SYMBOLS:
        symbols_by_scan(m, symbols, n)
    else:
        symbols_by_tree(m, symbols, scratch.tree, n)


cdef Py_ssize_t merge_long_ids(const MergeTables* m, MergeScratch* scratch, uint32_t* ids, size_t n) noexcept nogil:
    if not reserve_symbols(scratch, WINDOW_SYMBOLS):
        return -1
    return <Py_ssize_t>merge_by_windows(m, scratch.symbols, scratch.tree, ids, NULL, n)


cdef Py_ssize_t merge_many_ids(const MergeTables* m, MergeScratch* scratch, uint32_t* ids, size_t n) noexcept nogil:
    cdef size_t i, n_out = 0
    cdef uint32_t at = 0
    if n <= SHORT_SYMBOLS:
        return <Py_ssize_t>merge_ids(m, ids, n)
    if not reserve_symbols(scratch, n):
        return -1
    for i in range(n):
        scratch.symbols[i].id = ids[i]
        scratch.symbols[i].n_bytes = 0
    find_merges(m, scratch.symbols, n)
    symbols_by_tree(m, scratch.symbols, scratch.tree, n)
    while at < n:
        ids[n_out] = scratch.symbols[at].id
        n_out += 1
        at = scratch.symbols[at].next
    return <Py_ssize_t>n_out


cdef void free_merge_scratch(MergeScratch* scratch) noexcept nogil:
    free(scratch.symbols)
    free(scratch.tree)
    memset(scratch, 0, sizeof(MergeScratch))


cdef class Merges:
    """A table of merges, empty."""

    def __dealloc__(self):
        free(self.tables.slots)
        free(self.tables.filter)
        free(self.tables.results)
        free(self.tables.ranks)

    cdef int make_room(self, size_t n_merges) except -1:
        cdef unsigned bits = 8
        while (<size_t>4 << bits) < 5 * n_merges:        # at most 80% full: see `filter`
            bits += 1
        self.tables.mask = (<uint64_t>1 << bits) - 1
        self.tables.shift = 64 - bits
        self.tables.slots = <uint64_t*>tw_new_table((<size_t>1 << bits) * sizeof(uint64_t))
        self.tables.filter = <uint64_t*>tw_new_table((<size_t>1 << (bits + FILTER_BITS - 6)) * sizeof(uint64_t))
        if self.tables.slots == NULL or self.tables.filter == NULL:
            raise MemoryError
        return 0

    cdef void insert(self, uint32_t left, uint32_t right, uint32_t merge) noexcept nogil:
        cdef uint64_t key = pair_key(left, right)
        cdef uint64_t i = filter_place(&self.tables, key)
        self.tables.filter[i >> 6] |= <uint64_t>1 << (i & 63)
        i >>= FILTER_BITS
        while self.tables.slots[i] and self.tables.slots[i] >> ID_BITS != key:
            i = (i + 1) & self.tables.mask
        self.tables.slots[i] = key << ID_BITS | merge

    cdef void number_by_id(self, size_t n_merges) noexcept nogil:
        """Where ids rise as ranks do, let an id be the number of its merge, so that nothing is looked up."""
        cdef MergeTables* m = &self.tables
        cdef size_t i
        cdef uint32_t last = 0, n_unordered = 0
        for i in range(n_merges):
            if m.results[i] != TW_NO_ID:
                n_unordered += m.results[i] < last
                last = m.results[i]
        if n_unordered:
            return
        for i in range(m.mask + 1):
            if m.slots[i]:
                m.slots[i] = (m.slots[i] >> ID_BITS << ID_BITS) | m.results[m.slots[i] & (ID_LIMIT - 1)]
        free(m.results)
        m.results = NULL


def merge(list symbols not None, list merges not None):
    """What symbols become: the cores above for whoever wants to look at them alone.

    Args:
        symbols: the id and the size of each.
        merges: pairs of ids to (rank, result), as ((left, right), (rank, result)); equal ranks are equal.

    Returns:
        The symbols that are left.

    Raises:
        MemoryError
    """
    cdef Merges table = Merges()
    cdef MergeTables* m = &table.tables
    cdef MergeScratch scratch
    cdef size_t i, n = len(symbols), n_merges = len(merges)
    cdef list left = []
    table.make_room(n_merges)
    m.results = <uint32_t*>malloc((n_merges + 1) * sizeof(uint32_t))
    m.ranks = <uint32_t*>malloc((n_merges + 1) * sizeof(uint32_t))
    if m.results == NULL or m.ranks == NULL:
        raise MemoryError
    for i, (pair, (rank, result)) in enumerate(merges):
        table.insert(pair[0], pair[1], i)
        m.ranks[i] = rank
        m.results[i] = result
    memset(&scratch, 0, sizeof(scratch))
    if not reserve_symbols(&scratch, n):
        raise MemoryError
    for i, (id, n_bytes) in enumerate(symbols):
        scratch.symbols[i].id = id
        scratch.symbols[i].n_bytes = n_bytes
    if n:
        merge_symbols(m, &scratch, n)
    i = 0
    while i < n:
        left.append((scratch.symbols[i].id, scratch.symbols[i].n_bytes))
        i = scratch.symbols[i].next
    free_merge_scratch(&scratch)
    return left
