"""What the characters of a text decompose to, put in order and composed again (Unicode 9.0; UAX #15, section 3.12 of
the standard for Hangul).

Cost: 5 ns a part; a pair is looked up in 10 steps. Marks are ordered by counting where they are many, so it is linear.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tokenwire_core.aligned cimport TRACE_REFERENCE
from tokenwire_core.scratch cimport Scratch, reserve
from tokenwire_core.unicode_class cimport code_point_at

cdef extern from "normalizer_tables.h" nogil:
    const uint8_t tw_decomposed_block[1]
    const uint16_t tw_decomposed[1]
    const uint16_t tw_decomposed_at[1]
    const uint32_t tw_parts[1]
    enum:
        TW_MAX_PARTS         # of one character
        TW_N_PAIRS
    const uint64_t tw_pairs[TW_N_PAIRS]
    const uint32_t tw_composed[TW_N_PAIRS]

cdef enum:
    PART_LAST = 1 << 31      # in the table only
    N_BY_INSERTION = 24      # more marks than this are ordered by counting

cdef enum:
    L_BASE = 0x1100
    V_BASE = 0x1161
    T_BASE = 0x11A7
    S_BASE = 0xAC00
    L_COUNT = 19
    V_COUNT = 21
    T_COUNT = 28
    S_COUNT = 11172


cdef uint32_t composed_of(uint32_t first, uint32_t second) noexcept nogil:
    cdef uint64_t pair = <uint64_t>first << CLASS_SHIFT | second
    cdef size_t low = 0, high = TW_N_PAIRS, middle
    if V_BASE <= second < T_BASE + T_COUNT:
        if second < V_BASE + V_COUNT:
            if L_BASE <= first < L_BASE + L_COUNT:
                return S_BASE + ((first - L_BASE) * V_COUNT + (second - V_BASE)) * T_COUNT
        elif second > T_BASE and S_BASE <= first < S_BASE + S_COUNT and (first - S_BASE) % T_COUNT == 0:
            return first + second - T_BASE
        return 0
    while low < high:
        middle = (low + high) >> 1
        if tw_pairs[middle] < pair:
            low = middle + 1
        else:
            high = middle
    return tw_composed[low] if low < TW_N_PAIRS and tw_pairs[low] == pair else 0


cdef bint decompose(
    Scratch* s, Parts* parts, const uint8_t* text, size_t start, size_t end, bint compatible, bint traced
) noexcept nogil:
    cdef size_t i = start, after = 0, first, k, marks = 0
    cdef unsigned combining, last = 0
    cdef bint in_order = True
    parts.n = 0
    parts.capacity = 0
    while i < end:
        if not reserve_parts(s, parts, traced):
            return False
        first = parts.n
        parts.n += parts_of(code_point_at(text, i, &after), compatible, parts.word + first)
        for k in range(first, parts.n):
            if traced:
                parts.source[k] = <uint32_t>i
            combining = parts.word[k] >> CLASS_SHIFT & 0xFF
            if combining == 0:
                if not in_order and not order_marks(s, parts, marks, k, traced):
                    return False
                in_order = True
                marks = k + 1
            elif combining < last:
                in_order = False
            last = combining
        i = after
    return in_order or order_marks(s, parts, marks, parts.n, traced)


cdef inline bint reserve_parts(Scratch* s, Parts* parts, bint traced) noexcept nogil:
    """Room for one more character."""
    cdef size_t n_bytes = (parts.n + TW_MAX_PARTS) * sizeof(uint32_t)
    if parts.capacity >= n_bytes:
        return True
    if not reserve(&s.work[0], n_bytes) or (traced and not reserve(&s.work[1], n_bytes)):
        return False
    parts.word = <uint32_t*>s.work[0].p
    parts.source = <uint32_t*>s.work[1].p
    parts.capacity = min(s.work[0].capacity, s.work[1].capacity) if traced else s.work[0].capacity
    return True


cdef inline size_t parts_of(uint32_t c, bint compatible, uint32_t* word) noexcept nogil:
    """Write the parts of one character; how many."""
    cdef uint32_t number, t
    cdef const uint32_t* part
    cdef size_t n = 0
    if S_BASE <= c < S_BASE + S_COUNT:
        c -= S_BASE
        t = c % T_COUNT
        word[0] = L_BASE + c // (V_COUNT * T_COUNT)
        word[1] = (V_BASE + c // T_COUNT % V_COUNT) | PART_ADDED | PART_SECOND
        word[2] = (T_BASE + t) | PART_ADDED | PART_SECOND
        return 3 if t else 2
    number = tw_decomposed[<uint32_t>tw_decomposed_block[c >> 8] << 8 | (c & 0xFF)]
    if number == 0:
        number = number_of(c)
        word[0] = c | <uint32_t>tw_form_class[number] << CLASS_SHIFT
        if tw_form_flags[number] & SECOND:
            word[0] |= PART_SECOND
        return 1
    part = tw_parts + tw_decomposed_at[2 * number + compatible]
    while True:
        word[n] = part[n] & ~<uint32_t>PART_LAST
        if n:
            word[n] |= PART_ADDED
        n += 1
        if part[n - 1] & <uint32_t>PART_LAST:
            return n


cdef bint order_marks(Scratch* s, Parts* parts, size_t start, size_t end, bint traced) noexcept nogil:
    """Sort the parts start..end by combining class; those of one class keep their order."""
    cdef size_t n = end - start, i, k, at
    cdef uint32_t* word = parts.word + start
    cdef uint32_t* source = parts.source + start
    cdef uint32_t* words
    cdef uint32_t* sources
    cdef uint32_t one, one_source = 0
    cdef size_t places[257]
    if n <= N_BY_INSERTION:
        for i in range(1, n):
            one = word[i]
            if traced:
                one_source = source[i]
            k = i
            while k and word[k - 1] >> CLASS_SHIFT & 0xFF > one >> CLASS_SHIFT & 0xFF:
                word[k] = word[k - 1]
                if traced:
                    source[k] = source[k - 1]
                k -= 1
            word[k] = one
            if traced:
                source[k] = one_source
        return True
    if not reserve(&s.work[3], n * sizeof(uint32_t)) or (traced and not reserve(&s.work[4], n * sizeof(uint32_t))):
        return False
    words = <uint32_t*>s.work[3].p
    sources = <uint32_t*>s.work[4].p
    memset(places, 0, sizeof(places))
    for i in range(n):
        places[(word[i] >> CLASS_SHIFT & 0xFF) + 1] += 1
    for i in range(256):
        places[i + 1] += places[i]
    for i in range(n):
        at = places[word[i] >> CLASS_SHIFT & 0xFF]
        places[word[i] >> CLASS_SHIFT & 0xFF] += 1
        words[at] = word[i]
        if traced:
            sources[at] = source[i]
    memcpy(word, words, n * sizeof(uint32_t))
    if traced:
        memcpy(source, sources, n * sizeof(uint32_t))
    return True


cdef void compose(Parts* parts, uint32_t* also, int tracing) noexcept nogil:
    cdef uint32_t* word = parts.word
    cdef size_t k, n = 0, starter = 0
    cdef unsigned combining, last = 0
    cdef bint has_starter = False, follows_mark = False
    cdef uint32_t one, whole
    for k in range(parts.n):
        one = word[k]
        combining = one >> CLASS_SHIFT & 0xFF
        if has_starter and one & PART_SECOND and not (follows_mark and last >= combining):
            whole = composed_of(word[starter] & CODE_POINT, one & CODE_POINT)
            if whole:
                word[starter] = whole
                if tracing == TRACE_REFERENCE:
                    also[starter] += also[k] - 1
                elif tracing:
                    also[starter] = max(also[starter], also[k])
                    parts.source[starter] = min(parts.source[starter], parts.source[k])
                continue
        if combining == 0:
            has_starter = True
            follows_mark = False
            starter = n
        elif has_starter:
            follows_mark = True
            last = combining
        word[n] = one
        if tracing:
            also[n] = also[k]
            parts.source[n] = parts.source[k]
        n += 1
    parts.n = n
