# What the characters of a text decompose to, put in order and composed again.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.scratch cimport Scratch

cdef extern from "normalizer_tables.h" nogil:
    const uint8_t tw_form_block[1]
    const uint8_t tw_form[1]
    const uint8_t tw_form_class[1]   # the combining class
    const uint8_t tw_form_flags[1]

# Flags of a character.
cdef enum:
    DECOMPOSES = 1
    DECOMPOSES_COMPATIBLY = 2
    SECOND = 4               # may compose with one before it
    NO_NFC = 8
    NO_NFKC = 16
    ANEW = 32                # nothing before it changes with it, nor it with that
    ANEW_COMPATIBLY = 64

# A part of what a text decomposes to: a code point, its combining class and flags.
cdef enum:
    CODE_POINT = 0x1FFFFF
    CLASS_SHIFT = 21
    PART_ADDED = 1 << 29     # not the first part of its character
    PART_SECOND = 1 << 30

# The parts of a text, in the scratch.
cdef struct Parts:
    uint32_t* word           # s.work[0]
    uint32_t* source         # s.work[1], where they are traced: where in the text the character begins
    size_t n
    size_t capacity          # in bytes, of each

# The number of a character in tw_form_class and tw_form_flags.
cdef inline unsigned number_of(uint32_t c) noexcept nogil:
    return tw_form[<uint32_t>tw_form_block[c >> 8] << 8 | (c & 0xFF)]

# The parts of text[start:end], marks in their order. Uses s.work[0], [1], [3] and [4]. False when memory ran out.
cdef bint decompose(
    Scratch* s, Parts* parts, const uint8_t* text, size_t start, size_t end, bint compatible, bint traced
) noexcept nogil
# Compose starters with what follows, unless something of the same or a higher class stands between. `also` is, where
# places are traced, the last source of each part, or what the reference counts as its change.
cdef void compose(Parts* parts, uint32_t* also, int tracing) noexcept nogil
# What two code points compose to, or 0.
cdef uint32_t composed_of(uint32_t first, uint32_t second) noexcept nogil
