"""Words of characters: their symbols, their tokens, and where they end.

**One piece of megabytes.** Such models see whole texts, without a pre-tokenizer. Where no token that merges can make
has x before y in it, nothing ever merges across a place between x and y, so both sides are encoded alone with the same
result. Which pairs these are is found out at construction: between `e` and `▁`, and between most pairs of Chinese
characters. What is between two such places is a word, and goes through the word cache (`pieces`). Pairs that stay
together are a bit map of ASCII and `▁`, and for the rest a set with one hash (a Bloom filter): a few pairs are taken
to be in it that are not, which costs a cut but never changes a token.

At characters that have no token it depends. If their symbols merge with nothing, a cut beside them is safe, unless
they are dropped, which makes neighbours of what stands around them. Between two of them it is safe if both have all
their bytes, or if each is unknown on its own.

Cost: cutting 3 ns a byte of English, a word that comes again 30 ns.
"""

from tokenwire_core.bpe cimport SHORT_SYMBOLS, Symbol, merge_ids, merge_symbols, reserve_symbols
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY, append_token
from tokenwire_core.split cimport PIECES_PER_CHUNK
from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.vocab cimport WORD_BYTES, find_long, find_word

cdef enum:
    # A prefix whose bytes have tokens makes many symbols of a character, which must end somewhere.
    MANY_SYMBOLS = 1 << 20   # from here on a piece has at most MOST_GROWTH symbols a byte
    MOST_GROWTH = 16


cdef inline size_t put(Symbol* symbols, size_t k, uint32_t id, size_t n_bytes) noexcept nogil:
    symbols[k].id = id
    symbols[k].n_bytes = <uint32_t>n_bytes
    return k + 1


cdef inline size_t put_bytes(
    const CharTables* t, Symbol* symbols, size_t k, const uint8_t* p, size_t n
) noexcept nogil:
    cdef size_t i
    for i in range(n):
        k = put(symbols, k, t.byte_ids[p[i]], 1)
    return k


cdef Py_ssize_t symbols_of(const CharTables* t, MergeScratch* scratch, const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t at = 0, end, k = 0, n_unknown = 0, n_prefix, n_suffix
    cdef size_t most = t.n_prefix + t.n_suffix + 5       # at once: an unknown token, and all bytes of a character
    cdef uint32_t c, id
    cdef unsigned form
    if not reserve_symbols(scratch, n + most):
        return -NO_MEMORY
    while at < n:
        if k + most > scratch.symbols_capacity and not reserve_symbols(scratch, 2 * scratch.symbols_capacity):
            return -NO_MEMORY
        if k > MANY_SYMBOLS and k > MOST_GROWTH * n:
            return -GREW_TOO_LONG
        c = code_point_at(p, at, &end)
        form = (INSIDE if at else 0) | (LAST if end == n else 0)
        n_prefix = t.n_prefix if form & INSIDE else 0
        n_suffix = t.n_suffix if form & LAST else 0
        id = character_id(&t.forms[form], c)
        if id != TW_NO_ID:
            if n_unknown:
                k = put(scratch.symbols, k, t.unk, n_unknown)
                n_unknown = 0
            k = put(scratch.symbols, k, id, end - at)
        elif (
            t.byte_fallback
            and are_tokens(t, p + at, end - at)
            and are_tokens(t, t.prefix, n_prefix)
            and are_tokens(t, t.suffix, n_suffix)
        ):
            # Unknown characters before are put behind, as the reference does.
            k = put_bytes(t, scratch.symbols, k, t.prefix, n_prefix)
            k = put_bytes(t, scratch.symbols, k, p + at, end - at)
            k = put_bytes(t, scratch.symbols, k, t.suffix, n_suffix)
        elif t.unk != TW_NO_ID:
            if n_unknown and not t.fuse_unk:
                k = put(scratch.symbols, k, t.unk, n_unknown)
                n_unknown = 0
            n_unknown += end - at
        at = end
    if n_unknown:
        k = put(scratch.symbols, k, t.unk, n_unknown)
    return <Py_ssize_t>k


cdef inline size_t known_ids(const CharTables* t, const uint8_t* p, size_t n, uint32_t* out) noexcept nogil:
    """The ids of the characters of a word, how many; 0 if one has none, or there are over SHORT_SYMBOLS."""
    cdef size_t at = 0, k = 0
    while at < n and k < SHORT_SYMBOLS:
        out[k] = character_id(&t.forms[0], code_point_at(p, at, &at))
        if out[k] == TW_NO_ID:
            return 0
        k += 1
    return k if at == n else 0


cdef Py_ssize_t encode_char_word(
    const void* model, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil:
    cdef const CharTables* t = <const CharTables*>model
    cdef const VocabTables* v = t.words
    cdef Py_ssize_t n_symbols
    cdef size_t k
    cdef uint32_t at = 0
    if v != NULL:
        out[0] = find_word(v, s.key_lo[j], s.key_hi[j], s.hash[j]) if n <= WORD_BYTES else find_long(v, p, n)
        if out[0] != TW_NO_ID:
            return 1
        k = known_ids(t, p, n, out)
        if k:
            return <Py_ssize_t>merge_ids(t.merges, out, k)
    n_symbols = symbols_of(t, &s.merge, p, n)
    if n_symbols <= 0:
        return n_symbols
    merge_symbols(t.merges, &s.merge, n_symbols)
    k = 0
    while at < <size_t>n_symbols:
        out[k] = s.merge.symbols[at].id
        k += 1
        at = s.merge.symbols[at].next
    return <Py_ssize_t>k


cdef int append_word(const CharTables* t, Scratch* s, const uint8_t* p, size_t n, size_t* place) noexcept nogil:
    cdef Py_ssize_t n_symbols = symbols_of(t, &s.merge, p, n)
    cdef const Symbol* symbol
    cdef uint32_t at = 0
    if n_symbols < 0:
        return <int>-n_symbols
    if n_symbols:
        merge_symbols(t.merges, &s.merge, n_symbols)
    while at < <size_t>n_symbols:
        symbol = &s.merge.symbols[at]
        if not append_token(s, symbol.id, place[0], place[0] + symbol.n_bytes):
            return NO_MEMORY
        place[0] += symbol.n_bytes
        at = symbol.next
    return DONE


cdef bint stay_together(const CharTables* t, uint32_t x, uint32_t y) noexcept nogil:
    cdef bint x_is_known = character_id(&t.forms[0], x) != TW_NO_ID
    cdef bint y_is_known = character_id(&t.forms[0], y) != TW_NO_ID
    cdef uint64_t i
    if x_is_known and y_is_known:
        i = join_hash(x, y, t.joins_shift)
        return t.joins[i >> 6] >> (i & 63) & 1
    return not (t.splits_at_unknown if x_is_known or y_is_known else t.splits_unknown)


cdef size_t cut_words(
    const CharTables* t, const uint8_t* p, size_t n, size_t* position, uint32_t* ends
) noexcept nogil:
    cdef size_t at = position[0], after, k = 0
    cdef uint32_t x = code_point_at(p, at, &at), y
    cdef uint32_t common_x = common(x), common_y
    cdef bint joins
    while at < n:
        y = code_point_at(p, at, &after)
        common_y = common(y)
        if common_x < N_COMMON and common_y < N_COMMON:
            joins = t.common_joins[common_x][common_y >> 6] >> (common_y & 63) & 1
        else:
            joins = stay_together(t, x, y)
        if not joins:
            ends[k] = <uint32_t>at
            k += 1
            if k == PIECES_PER_CHUNK:
                position[0] = at
                return k
        x = y
        common_x = common_y
        at = after
    ends[k] = <uint32_t>n
    position[0] = n
    return k + 1
