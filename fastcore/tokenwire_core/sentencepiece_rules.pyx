"""What stands for what begins at a place of a text: a user-defined symbol, a key of the charsmap, a character.

The longest symbol goes before the longest key, and that before the character itself. A key may end inside a character;
what is left of it is replaced byte by byte.

Most characters begin neither. Many ASCII letters do begin keys, but only such that go on with a combining mark, so a
class says what may follow one; other characters have a bit. All this is found out at construction, in 2 ms.
"""

from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdlib cimport calloc, free
from libc.string cimport strlen

from tokenwire_core.sentencepiece_spec import PieceType

cdef enum:
    MAX_KEY_MATCHES = 32     # the library looks at no more keys at one place, the shortest first

cdef const uint8_t* REPLACEMENT = b"\xef\xbf\xbd"


cdef inline uint32_t offset(uint32_t unit) noexcept nogil:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)


cdef inline uint32_t longest_key(const uint32_t* units, const uint8_t* p, size_t n, size_t* taken) noexcept nogil:
    """Where the replacement of the longest key at p is; `taken` are the bytes of the key, 0 where there is none."""
    cdef uint32_t place = offset(units[0]), index, unit, value = 0
    cdef size_t i
    cdef int n_matches = 0
    taken[0] = 0
    for i in range(n):
        index = place ^ p[i]
        unit = units[index]
        if unit & 0x800000FFu != p[i]:
            break
        place = index ^ offset(unit)
        if unit & 1 << 8:
            value = units[place] & 0x7FFFFFFFu
            taken[0] = i + 1
            n_matches += 1
            if n_matches == MAX_KEY_MATCHES:
                break
    return value


cdef void find(const Rules* r, const uint8_t* p, size_t n, Found* found) noexcept nogil:
    cdef uint32_t value
    found.p = p
    found.kind = SYMBOL
    if r.symbols.exist:
        found.taken = longest_symbol(&r.symbols, p, n)
        if found.taken:
            found.n = found.taken
            return
    if r.units != NULL:
        value = longest_key(r.units, p, n, &found.taken)
        if found.taken:
            found.p = r.replacements + value
            found.n = strlen(<const char*>found.p)
            found.kind = REPLACED
            return
    if p[0] & 0xC0 == 0x80:              # a key has taken the begin of a character
        found.p = REPLACEMENT
        found.n = 3
        found.taken = 1
        found.kind = REPLACED
        return
    found.kind = CHARACTER
    found.taken = found.n = character_bytes(p[0])


cdef class SymbolTable:
    """The user-defined symbols of a `SentencePieceModel`. Raises as `Trie`."""

    def __cinit__(self, model):
        # A NUL is in no table of the library.
        symbols = {
            piece.text.encode(): id_
            for id_, piece in enumerate(model.pieces)
            if piece.type is PieceType.USER_DEFINED and piece.text != "\0"
        }
        self.trie = Trie(symbols)
        self.symbols.exist = len(symbols) > 0
        self.symbols.nodes = self.trie.nodes
        self.symbols.root = self.trie.root


cdef class RuleTable:
    """What stands for what in the texts of a `SentencePieceModel`. Raises as `Trie`."""

    def __cinit__(self, model):
        cdef Rules* r = &self.rules
        cdef Py_buffer units
        self.symbols = SymbolTable(model)
        self.charsmap = model.normalizer.charsmap
        r.symbols = self.symbols.symbols
        if self.charsmap is not None:
            # The array of a Charsmap is never resized, and `self.charsmap` keeps it.
            PyObject_GetBuffer(self.charsmap.units, &units, PyBUF_SIMPLE)
            r.units = <const uint32_t*>units.buf
            PyBuffer_Release(&units)
            r.replacements = <const uint8_t*>PyBytes_AS_STRING(self.charsmap.replacements)
        r.looked_at = <uint64_t*>calloc(0x10000 >> 6, sizeof(uint64_t))
        if r.looked_at == NULL:
            raise MemoryError
        set_classes(r)

    def __dealloc__(self):
        free(self.rules.looked_at)


cdef void set_classes(Rules* r) noexcept:
    """Find out which characters may begin something."""
    cdef uint8_t utf8[4]
    cdef uint32_t c
    cdef unsigned after
    utf8[1] = 0
    for c in range(0x80):
        utf8[0] = <uint8_t>c
        r.classes[c] = BLANK if c == c" " else 0
        for after in range(256):
            utf8[1] = <uint8_t>after
            if begins_with(r, utf8, 1) == 2 or begins_with(r, utf8, 2):
                r.classes[c] |= BEFORE_ASCII if after < 0x80 else BEFORE_OTHERS
    for c in range(0x80, 0x10000):
        if c < 0x800:
            utf8[0] = <uint8_t>(0xC0 | c >> 6)
            utf8[1] = <uint8_t>(0x80 | c & 0x3F)
        else:
            utf8[0] = <uint8_t>(0xE0 | c >> 12)
            utf8[1] = <uint8_t>(0x80 | c >> 6 & 0x3F)
            utf8[2] = <uint8_t>(0x80 | c & 0x3F)
        if begins_with(r, utf8, 2 if c < 0x800 else 3):
            r.looked_at[c >> 6] |= <uint64_t>1 << (c & 63)
    for c in range(0xF0, 0xF5):
        utf8[0] = <uint8_t>c
        r.looks_at_others |= begins_with(r, utf8, 1) > 0


cdef int begins_with(const Rules* r, const uint8_t* p, size_t n) noexcept nogil:
    """2: some symbol or key is, or ends in, the n bytes at p; 1: some begin with them; 0: none."""
    cdef Node node = r.symbols.root
    cdef uint32_t place, index
    cdef size_t i
    cdef int found = 0
    if r.symbols.exist:
        found = 1
        for i in range(n):
            if not step(r.symbols.nodes, &node, p[i]):
                found = 0
                break
            if node.value != NO_VALUE:
                return 2
    if r.units == NULL:
        return found
    place = offset(r.units[0])
    for i in range(n):
        index = place ^ p[i]
        if r.units[index] & 0x800000FFu != p[i]:
            return found
        if r.units[index] & 1 << 8:
            return 2
        place = index ^ offset(r.units[index])
    return 1
