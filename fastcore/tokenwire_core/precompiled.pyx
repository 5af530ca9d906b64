"""The normalizer Precompiled: SentencePiece's table of replacements (see `charsmap`), as the `tokenizers` library runs it.

The library looks up grapheme clusters (UAX #29, Unicode 17.0) of up to 5 bytes as a whole, then characters, and takes
the shortest entry that these begin with for the replacement of all. Nearly all characters begin no entry, and of those
that do nearly all are alone: so for each character of Unicode it is found out beforehand whether it is replaced, or may
begin an entry of more characters, and clusters are only looked at around the latter.

Cost: 0.2 ns a byte of ASCII, 1 ns any other byte, some 15 ns a character that is replaced; to construct, the proof of
the table.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset, strlen

from tokenwire_core.charsmap import read_charsmap
from tokenwire_core.aligned cimport TRACE_REFERENCE
from tokenwire_core.rewriting cimport Normalizer, Rewrite, after_printable, char_before, keep_to, put_change, replace
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, Scratch
from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.utf8 cimport char_bytes, put_utf8

cdef extern from "normalizer_tables.h" nogil:
    const uint8_t tw_grapheme_block[1]
    const uint8_t tw_grapheme[1]

# Grapheme_Cluster_Break, in the low bits, and what else clusters depend on.
cdef enum:
    OTHER
    CR
    LF
    CONTROL
    EXTEND
    ZWJ
    REGIONAL_INDICATOR
    PREPEND
    SPACING_MARK
    L
    V
    T
    LV
    LVT
    BREAK_CLASS = 15
    PICTOGRAPHIC = 16
    CONSONANT = 32
    CONJUNCT_EXTEND = 64
    LINKER = 128

cdef enum:
    MAX_CLUSTER_BYTES = 5

# Flags of a character in a table.
cdef enum:
    REPLACED = 1             # an entry is its bytes, or what they begin with
    BEGINS_MORE = 2          # an entry goes on behind it

cdef enum:
    N_PER_BLOCK = 64         # code points that differ in the last byte of their UTF-8 only
    N_BLOCKS = 0x110000 // 64


cdef class PrecompiledNormalizer(Normalizer):
    """One table. `units` and `replacements` keep alive what the pointers lead to."""

    cdef object units
    cdef bytes replacements
    cdef const uint32_t* unit
    cdef const char* text
    cdef uint16_t block[N_BLOCKS]    # by code point >> 6
    cdef uint8_t* flags              # blocks of 64
    cdef bint printable_stays        # no character from U+0020 to U+007E is replaced

    def __cinit__(self, stage):
        cdef const uint32_t[::1] view
        charsmap = read_charsmap(stage.charsmap)
        self.units = charsmap.units
        self.replacements = charsmap.replacements
        view = self.units
        self.unit = &view[0]
        self.text = self.replacements
        self.find_flags()

    def __dealloc__(self):
        PyMem_Free(self.flags)

    cdef int find_flags(self) except -1:
        cdef uint8_t found[N_PER_BLOCK]
        cdef uint8_t any_flag
        cdef uint8_t* grown
        cdef uint32_t first, n_blocks = 1, capacity = 64
        cdef int k
        self.flags = <uint8_t*>PyMem_Malloc(capacity * N_PER_BLOCK)
        if self.flags == NULL:
            raise MemoryError
        memset(self.flags, 0, N_PER_BLOCK)
        for first in range(0, 0x110000, N_PER_BLOCK):
            any_flag = 0
            for k in range(N_PER_BLOCK):
                found[k] = self.flags_of(first + k)
                any_flag |= found[k]
            if not any_flag:
                continue
            if n_blocks == capacity:
                capacity *= 2
                grown = <uint8_t*>PyMem_Realloc(self.flags, capacity * N_PER_BLOCK)
                if grown == NULL:
                    raise MemoryError
                self.flags = grown
            memcpy(self.flags + n_blocks * N_PER_BLOCK, found, N_PER_BLOCK)
            self.block[first // N_PER_BLOCK] = <uint16_t>n_blocks
            n_blocks += 1
        self.printable_stays = True
        for k in range(0x20, 0x7F):
            self.printable_stays = self.printable_stays and not self.flag(k) & REPLACED
        return 0

    cdef uint8_t flags_of(self, uint32_t c) noexcept:
        cdef uint8_t utf8[4]
        cdef size_t n = put_utf8(utf8, c)
        cdef bint goes_on = False
        if c == 0:
            return 0
        if self.replacement(utf8, n, &goes_on) != NULL:
            return REPLACED
        return BEGINS_MORE if goes_on else 0

    cdef inline uint8_t flag(self, uint32_t c) noexcept nogil:
        return self.flags[<size_t>self.block[c >> 6] << 6 | (c & 63)]

    cdef const char* replacement(self, const uint8_t* p, size_t n, bint* goes_on) noexcept nogil:
        """What the shortest entry that p[:n] begins with is replaced by; or NULL, and whether an entry is longer."""
        cdef uint32_t unit = self.unit[0], place = offset_of(unit), index
        cdef size_t i
        for i in range(n):
            index = place ^ p[i]
            unit = self.unit[index]
            if unit & <uint32_t>0x800000FF != p[i]:
                return NULL
            place = index ^ offset_of(unit)
            if unit & 0x100:
                return self.text + (self.unit[place] & 0x7FFFFFFF)
        goes_on[0] = True
        return NULL

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        cdef const uint8_t* p = r.old.text
        cdef const char* found
        cdef size_t n = r.old.n, i = 0, end = 0
        cdef Placing placing
        cdef uint8_t flag
        cdef uint32_t c
        cdef bint ignored = False
        placing.in_use = False
        placing.at = 0
        while i < n:
            if p[i] < 0x80 and self.printable_stays:
                end = after_printable(p, n, i)
                if end < n and p[end] >= 0x80 and end > i:
                    end -= 1                 # an accent may follow
                if end > i:
                    i = end
                    continue
            c = code_point_at(p, i, &end)
            flag = self.flag(c)
            if flag:
                end = cluster_end(p, n, i)
                found = NULL
                if end:
                    found = self.replacement(p + i, end - i, &ignored)
                if found == NULL:
                    end = i + char_bytes(p[i])
                    if flag & REPLACED:
                        found = self.replacement(p + i, end - i, &ignored)
                if found != NULL and not put_found(r, &placing, i, end, found):
                    return GREW_TOO_LONG
            i = end
        if placing.in_use:
            place_rest(r, &placing)
        return DONE


cdef inline uint32_t offset_of(uint32_t unit) noexcept nogil:
    return (unit >> 10) << ((unit & 0x200) >> 6)


# How the reference places what comes: each change is known once the next one comes.
cdef struct Placing:
    bint in_use
    size_t at                # the character of the old text that the next one replaces
    uint8_t utf8[4]          # the last character that came, not yet written
    size_t n_bytes           # of it; 0 if none has come
    int change


cdef bint put_found(Rewrite* r, Placing* placing, size_t start, size_t end, const char* found) noexcept nogil:
    cdef size_t n = strlen(found)
    if r.old.tracing == TRACE_REFERENCE:
        place_found(r, placing, start, end, <const uint8_t*>found, n)
        return r.out.n <= r.max_bytes
    return replace(r, start, end, <const uint8_t*>found, n)


cdef void place_found(
    Rewrite* r, Placing* placing, size_t start, size_t end, const uint8_t* p, size_t n
) noexcept nogil:
    """As many new characters as there are old ones replace them; the rest is added, or removed at the last that came.

    Where nothing has come, what is removed is not counted: the characters behind it take its place.
    """
    cdef size_t n_old = n_chars(r.old.text, start, end), k = 0, i = 0
    if not placing.in_use:
        keep_to(r, r.kept)
        placing.in_use = True
        placing.n_bytes = 0
    place_kept(r, placing, r.kept, start)
    while i < n:
        place_one(r, placing, p + i, k >= n_old)
        i += char_bytes(p[i])
        k += 1
    if placing.n_bytes and k < n_old:
        placing.change -= <int>(n_old - k)
    r.kept = end


cdef void place_kept(Rewrite* r, Placing* placing, size_t start, size_t end) noexcept nogil:
    """old.text[start:end] as it is. In one go where each of its characters is in its own place, all but the last."""
    cdef size_t last
    if start == end:
        return
    place_last(r, placing)
    if placing.at == start:
        last = char_before(r.old.text, end)
        r.kept = start
        keep_to(r, last)
        placing.at = last
        start = last
    while start < end:
        place_one(r, placing, r.old.text + start, 0)
        start += char_bytes(r.old.text[start])


cdef void place_one(Rewrite* r, Placing* placing, const uint8_t* p, int change) noexcept nogil:
    place_last(r, placing)
    placing.n_bytes = char_bytes(p[0])
    memcpy(placing.utf8, p, placing.n_bytes)
    placing.change = change


cdef void place_last(Rewrite* r, Placing* placing) noexcept nogil:
    """Write the character that came last."""
    if placing.n_bytes:
        put_change(r, &placing.at, placing.utf8, placing.n_bytes, placing.change)
        placing.n_bytes = 0


cdef void place_rest(Rewrite* r, Placing* placing) noexcept nogil:
    place_kept(r, placing, r.kept, r.old.n)
    place_last(r, placing)
    r.kept = r.old.n


cdef size_t n_chars(const uint8_t* p, size_t start, size_t end) noexcept nogil:
    cdef size_t i, n = 0
    for i in range(start, end):
        n += (p[i] & 0xC0) != 0x80
    return n


cdef inline unsigned grapheme_class(uint32_t c) noexcept nogil:
    return tw_grapheme[<uint32_t>tw_grapheme_block[c >> 8] << 8 | (c & 0xFF)]


cdef size_t cluster_end(const uint8_t* p, size_t n, size_t i) noexcept nogil:
    """The end of the cluster p[i:], if that is one and has more than one character and at most MAX_CLUSTER_BYTES.

    Else 0: then characters are looked up one by one.
    """
    cdef size_t first = i + char_bytes(p[i]), end = first
    while end < n and end - i <= MAX_CLUSTER_BYTES and not breaks_at(p, end):
        end += char_bytes(p[end])
    if end == first or end - i > MAX_CLUSTER_BYTES or (i and not breaks_at(p, i)):
        return 0
    return end


cdef unsigned class_before(const uint8_t* p, size_t i) noexcept nogil:
    cdef size_t after = 0
    return grapheme_class(code_point_at(p, char_before(p, i), &after))


cdef bint breaks_at(const uint8_t* p, size_t i) noexcept nogil:
    """Whether a cluster begins at p[i], i > 0; the rules GB3 to GB999 of UAX #29 in order.

    All but GB12 and GB13: where they hold, the cluster has two flags, and more than MAX_CLUSTER_BYTES either way.
    """
    cdef size_t after = 0
    cdef unsigned left = class_before(p, i), right = grapheme_class(code_point_at(p, i, &after))
    cdef unsigned before = left & BREAK_CLASS, behind = right & BREAK_CLASS
    if before == CR and behind == LF:
        return False
    if CR <= before <= CONTROL or CR <= behind <= CONTROL:
        return True
    if behind == EXTEND or behind == ZWJ or behind == SPACING_MARK or before == PREPEND:
        return False
    if before == L and (behind == L or behind == V or behind == LV or behind == LVT):
        return False
    if (before == LV or before == V) and (behind == V or behind == T):
        return False
    if (before == LVT or before == T) and behind == T:
        return False
    if right & CONSONANT and ends_with_linker(p, i):
        return False
    return not (right & PICTOGRAPHIC and before == ZWJ and ends_with_pictograph(p, char_before(p, i)))


cdef bint ends_with_linker(const uint8_t* p, size_t i) noexcept nogil:
    """Whether before p[i] is a consonant, and behind it marks of which one links it to the next."""
    cdef bint linked = False
    cdef unsigned kind
    while i:
        kind = class_before(p, i)
        if kind & LINKER:
            linked = True
        elif not kind & CONJUNCT_EXTEND:
            return linked and kind & CONSONANT
        i = char_before(p, i)
    return False


cdef bint ends_with_pictograph(const uint8_t* p, size_t i) noexcept nogil:
    """Whether before p[i] is a pictograph, and behind it nothing but extending marks."""
    cdef unsigned kind
    while i:
        kind = class_before(p, i)
        if kind & BREAK_CLASS != EXTEND:
            return kind & PICTOGRAPHIC != 0
        i = char_before(p, i)
    return False
