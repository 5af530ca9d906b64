# SentencePiece's normalizer: what its models see of a text.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.aligned cimport Aligned
from tokenwire_core.scratch cimport Scratch
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

cdef class SymbolTable:
    cdef Symbols symbols
    cdef Trie trie

cdef inline size_t character_bytes(uint8_t lead) noexcept nogil:
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4

# What an ASCII character may begin.
cdef enum AsciiClass:
    BEFORE_ASCII = 1         # a symbol or a key that is this character, or goes on with another of ASCII
    BEFORE_OTHERS = 2        # the same with any other, or a part of it
    BLANK = 4

cdef struct NormalizerTables:
    uint8_t classes[128]
    uint64_t* looked_at      # for each code point of two or three bytes, one bit: it begins a symbol or a key
    bint looks_at_others     # some character of four bytes does
    Symbols symbols
    const uint32_t* units    # of the charsmap, or NULL
    const uint8_t* replacements
    uint8_t space[4]         # what a blank is written as
    size_t space_bytes
    bint add_dummy_prefix
    bint remove_extra_whitespaces
    bint whitespace_is_suffix

cdef class SentencePieceNormalizer:
    cdef NormalizerTables tables
    cdef SymbolTable symbols # both are here to keep what the tables point to
    cdef object charsmap
    # Write what the model sees of `text`, which is as the source has it, to `out`, with the places that text.tracing
    # asks for. Returns a Status.
    cdef int run(self, Scratch* s, const Aligned* text, Aligned* out) noexcept nogil
    # Turn the places of the tokens from number `first` on, which are in the normalized text and in order, into places
    # in the source: those of the reference if it was normalized with TRACE_REFERENCE, else those by our rule.
    cdef void place(self, Scratch* s, const Aligned* normalized, size_t first) noexcept nogil
