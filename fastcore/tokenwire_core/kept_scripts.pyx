"""Whether the characters of a text keep their scripts when a tokenizer normalizes it.

What a character becomes is found out a block of 256 at a time, when the first of them is met. From then on it is a look
into a table; printable ASCII is passed eight bytes at once.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset, strlen

from tokenwire_core.char_script cimport NEUTRAL, TW_INHERITED, char_script
from tokenwire_core.unicode_class cimport MARK, code_point_at, tw_class, tw_class_block
from tokenwire_core.utf8 cimport first_ill_formed
from tokenwire_core.vocab cimport tw_load64

cdef enum:
    MAX_KEY_BYTES = 128
    MAX_WALKED = 1 << 22     # nodes of a charsmap, endings that are stored once counted each time

cdef uint32_t IS_VALUE = <uint32_t>1 << 31


cdef inline size_t printable_end(const uint8_t* p, size_t n, size_t i) noexcept nogil:
    """The first byte from p[i] on that is not U+0020 to U+007E, or n; there need be nothing behind p[n]."""
    cdef uint64_t x
    while i + 8 <= n:
        x = tw_load64(p + i)
        # The top bit of a byte is set where it is above U+007E, or below U+0020, or where one before it in p was.
        x |= (x + <uint64_t>0x0101010101010101) | (x - <uint64_t>0x2020202020202020)
        if x & <uint64_t>0x8080808080808080:
            break
        i += 8
    while i < n and 0x20 <= p[i] < 0x7F:
        i += 1
    return i


cdef class KeptScripts:
    """The characters that keep their script.

    Args:
        normalized: of a list of characters, what each becomes alone; None where no character changes.
        joint: characters that may lose their script by what stands beside them.
        allows_blanks: blanks that are put around a character are no part of any token.
        takes_marks: what a character becomes may stand for the marks behind it too, so that they are in its token.
    """

    def __init__(self, normalized, joint=frozenset(), bint allows_blanks=False, bint takes_marks=False):
        self.normalized = normalized
        self.joint = frozenset(joint)
        self.allows_blanks = allows_blanks
        self.takes_marks = takes_marks
        self.keeps_all = normalized is None and not joint

    def __dealloc__(self):
        cdef unsigned number
        for number in range(N_BLOCKS):
            PyMem_Free(self.bits[number])

    def kept(self, str text) -> bool:
        """Whether all characters of `text` keep their scripts."""
        cdef bytes utf8 = text.encode()
        return self.keep(<const uint8_t*>PyBytes_AS_STRING(utf8), PyBytes_GET_SIZE(utf8)) != 0

    cdef int keep(self, const uint8_t* p, size_t n) except -1:
        cdef size_t i = 0, start
        cdef uint32_t c, before
        cdef uint8_t state
        if self.keeps_all:
            return True
        if self.state[0] == UNKNOWN:
            self.find_block(0)
        while i < n:
            if p[i] < 0x80 and self.printable_kept:
                start = printable_end(p, n, i)
                if start > i:
                    i = start
                    continue
            start = i
            c = code_point_at(p, i, &i)
            if is_mark(c) and start:
                # Marks that stand together may change places, also with one that the character before comes apart into.
                before = char_before(p, start)
                if char_script(before) != char_script(c) and (is_mark(before) or char_script(c) != TW_INHERITED):
                    return False
                if self.takes_marks and is_taken(p, start):
                    return False
            state = self.state[c >> 8]
            if state == UNKNOWN:
                self.find_block(c >> 8)
                state = self.state[c >> 8]
            if state == SOME and not self.bits[c >> 8][c >> 6 & 3] >> (c & 63) & 1:
                return False
        return True

    cdef int find_block(self, unsigned number) except -1:
        cdef uint64_t* kept
        cdef uint32_t c
        cdef list characters = [chr(c) for c in range(number << 8, (number + 1) << 8) if not 0xD800 <= c < 0xE000]
        cdef list becomes = characters if self.normalized is None else self.normalized(characters)
        if self.state[number] != UNKNOWN:    # another thread was faster
            return 0
        kept = <uint64_t*>PyMem_Calloc(4, sizeof(uint64_t))
        if kept == NULL:
            raise MemoryError
        for char, new in zip(characters, becomes):
            if self.allows_blanks and len(new) > 1:
                new = new.strip()
            c = ord(char)
            if char not in self.joint and self.joint.isdisjoint(new) and keeps_script(char, new):
                kept[c >> 6 & 3] |= <uint64_t>1 << (c & 63)
        self.bits[number] = kept
        self.state[number] = ALL if kept[0] & kept[1] & kept[2] & kept[3] == <uint64_t>-1 else SOME
        if number == 0:
            self.printable_kept = kept[0] >> 32 == 0xFFFFFFFF and kept[1] << 1 == <uint64_t>-2
        return 0


def keeps_script(str old, str new) -> bool:
    """Whether characters that become `new` together keep their script, which is then that of each that comes.

    Inherited marks are of the script of what stands before them.
    """
    cdef bytes old_utf8 = old.encode(), new_utf8 = new.encode()
    return same_script(
        <const uint8_t*>PyBytes_AS_STRING(old_utf8), PyBytes_GET_SIZE(old_utf8),
        <const uint8_t*>PyBytes_AS_STRING(new_utf8), PyBytes_GET_SIZE(new_utf8),
    )


cdef bint same_script(const uint8_t* old, size_t n_old, const uint8_t* new, size_t n_new) noexcept nogil:
    cdef size_t i = 0
    cdef unsigned script, each
    script = char_script(code_point_at(old, 0, &i))
    while i < n_old:
        each = char_script(code_point_at(old, i, &i))
        if each != script and each != TW_INHERITED:
            return False
    i = 0
    if n_new == 0 or char_script(code_point_at(new, 0, &i)) != script:
        # Inherited marks that are removed are missed by nobody; what they may have stood on is.
        return n_new == 0 and script == TW_INHERITED
    while i < n_new:
        each = char_script(code_point_at(new, i, &i))
        if each != script and each != TW_INHERITED:
            return False
    return True


def joint_characters(charsmap):
    """A character of each entry of a `Charsmap` that replaces several together by what is not of their script.

    Returns:
        A set of characters, or None for a table with more entries than are looked through.
    """
    cdef Walk walk
    cdef set found = set()
    cdef const uint32_t[::1] units = charsmap.units
    cdef bytes replacements = charsmap.replacements
    cdef uint32_t index, place, n_units = <uint32_t>units.shape[0]
    walk.unit = &units[0]
    walk.replacements = PyBytes_AS_STRING(replacements)
    walk.n_left = MAX_WALKED
    walk.first_child = <int32_t*>PyMem_Malloc(2 * n_units * sizeof(int32_t))
    if walk.first_child == NULL:
        raise MemoryError
    try:
        memset(walk.first_child, -1, n_units * sizeof(int32_t))
        walk.next_child = walk.first_child + n_units
        for index in range(n_units):
            if not units[index] & IS_VALUE:
                place = index ^ (units[index] & 0xFF)
                walk.next_child[index] = walk.first_child[place]
                walk.first_child[place] = <int32_t>index
        return found if walk_from(&walk, offset_of(units[0]), 0, found) else None
    finally:
        PyMem_Free(walk.first_child)


cdef struct Walk:
    const uint32_t* unit
    const char* replacements
    int32_t* first_child     # of a place: a unit, and of that the next one
    int32_t* next_child
    uint8_t key[MAX_KEY_BYTES + 4]
    size_t n_left


cdef inline uint32_t offset_of(uint32_t unit) noexcept nogil:
    return (unit >> 10) << ((unit & 0x200) >> 6)


cdef int walk_from(Walk* walk, uint32_t place, size_t n_bytes, set found) except -1:
    """Look at all entries that go on from a place, behind a key of n_bytes; False when there are too many."""
    cdef int32_t index = walk.first_child[place]
    cdef uint32_t unit, after
    while index >= 0:
        unit = walk.unit[index]
        if walk.n_left == 0 or n_bytes == MAX_KEY_BYTES:
            return False
        walk.n_left -= 1
        walk.key[n_bytes] = <uint8_t>(unit & 0xFF)
        after = <uint32_t>index ^ offset_of(unit)
        if unit & 0x100 and not look_at(walk, n_bytes + 1, walk.unit[after] & ~IS_VALUE, found):
            return False
        if not walk_from(walk, after, n_bytes + 1, found):
            return False
        index = walk.next_child[index]
    return True


cdef bint look_at(Walk* walk, size_t n_key, uint32_t replacement, set found) except -1:
    """Add a character of one entry where it does not keep their script; False where it is no text."""
    cdef const uint8_t* new = <const uint8_t*>walk.replacements + replacement
    cdef size_t after = 0
    cdef unsigned script
    cdef uint32_t c = 0
    if first_ill_formed(walk.key, n_key, 0) != n_key:
        return False
    script = char_script(code_point_at(walk.key, 0, &after))
    if after == n_key or same_script(walk.key, n_key, new, strlen(<const char*>new)):
        return True
    # Where one of its characters is missing it is no match: so one will do, and that of another script is rarer.
    while after < n_key:
        c = code_point_at(walk.key, after, &after)
        if char_script(c) != script and char_script(c) != TW_INHERITED:
            break
    found.add(chr(c))
    return True


cdef inline bint is_mark(uint32_t c) noexcept nogil:
    return tw_class[<uint32_t>tw_class_block[c >> 8] << 8 | (c & 0xFF)] == MARK


cdef inline uint32_t char_before(const uint8_t* p, size_t at) noexcept nogil:
    cdef size_t after = 0
    at -= 1
    while p[at] & 0xC0 == 0x80:
        at -= 1
    return code_point_at(p, at, &after)


cdef bint is_taken(const uint8_t* p, size_t at) noexcept nogil:
    """Whether the mark at p[at] has a script of its own, and what it stands on has none."""
    cdef size_t after = 0
    cdef unsigned script = char_script(code_point_at(p, at, &after))
    if script == NEUTRAL or script == TW_INHERITED:
        return False
    script = TW_INHERITED
    while at and script == TW_INHERITED:
        at -= 1
        while p[at] & 0xC0 == 0x80:
            at -= 1
        script = char_script(code_point_at(p, at, &after))
    return script == NEUTRAL
