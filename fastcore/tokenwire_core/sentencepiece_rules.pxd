# What stands for what begins at a place of a text: a user-defined symbol, a key of the charsmap, a character.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.trie cimport NO_VALUE, Node, Trie, step

cdef enum:
    MAX_SYMBOL_MATCHES = 64  # the library looks at no more symbols at one place, the shortest first

# The user-defined symbols of a model.
cdef struct Symbols:
    bint exist
    const Node* nodes
    Node root

# How many bytes the longest symbol at p has, of which n are text; 0 where there is none.
cdef inline size_t longest_symbol(const Symbols* symbols, const uint8_t* p, size_t n) noexcept nogil:
    cdef Node node = symbols.root
    cdef size_t at = 0, longest = 0
    cdef int n_matches = 0
    while at < n and step(symbols.nodes, &node, p[at]):
        at += 1
        if node.value != NO_VALUE:
            longest = at
            n_matches += 1
            if n_matches == MAX_SYMBOL_MATCHES:
                break
    return longest

cdef inline size_t character_bytes(uint8_t lead) noexcept nogil:
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4

# What an ASCII character may begin.
cdef enum AsciiClass:
    BEFORE_ASCII = 1         # a symbol or a key that is this character, or goes on with another of ASCII
    BEFORE_OTHERS = 2        # the same with any other, or a part of it
    BLANK = 4

# Most characters begin nothing and stand for themselves; which may do otherwise is known beforehand.
cdef struct Rules:
    uint8_t classes[128]     # AsciiClass
    uint64_t* looked_at      # for each code point of two or three bytes, one bit: it begins a symbol or a key
    bint looks_at_others     # some character of four bytes does
    Symbols symbols
    const uint32_t* units    # of the charsmap, or NULL
    const uint8_t* replacements

cdef enum Kind:
    CHARACTER = 0            # itself
    SYMBOL = 1               # itself
    REPLACED = 2             # by a key, or as part of no character

# What stands for the `taken` bytes of text that begin at a place.
cdef struct Found:
    const uint8_t* p
    size_t n
    size_t taken
    Kind kind

# What stands for what begins at p; n >= 1 bytes are text.
cdef void find(const Rules* r, const uint8_t* p, size_t n, Found* found) noexcept nogil

# Of a character of two or three bytes.
cdef inline uint32_t code_point(const uint8_t* p) noexcept nogil:
    if p[0] < 0xE0:
        return <uint32_t>(p[0] & 0x1F) << 6 | (p[1] & 0x3F)
    return <uint32_t>(p[0] & 0xF) << 12 | <uint32_t>(p[1] & 0x3F) << 6 | (p[2] & 0x3F)

# Whether something that is more than one byte may begin a symbol or a key.
cdef inline bint is_looked_at(const Rules* r, const uint8_t* p) noexcept nogil:
    cdef uint32_t c
    if p[0] >= 0xF0:
        return r.looks_at_others
    c = code_point(p)
    return r.looked_at[c >> 6] >> (c & 63) & 1

cdef class SymbolTable:
    cdef Symbols symbols
    cdef Trie trie

cdef class RuleTable:
    cdef Rules rules
    cdef SymbolTable symbols # both are here to keep what the rules point to
    cdef object charsmap
