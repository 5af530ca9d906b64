# What a character is to pre-tokenizers, beyond its class: from two-stage tables.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.unicode_class cimport code_point_at

cdef extern from "pretokenizer_tables.h" nogil:
    const uint8_t tw_kind_block[1]           # by code point >> 8
    const uint8_t tw_kind[1]                 # blocks of 256
    const uint8_t tw_piece_script_block[1]
    const uint8_t tw_piece_script[1]

# The kinds of a character, each as one part of the `tokenizers` library has it.
cdef enum Kind:
    WORD = 1                 # `\w` of the crate `regex`
    BLANK = 2                # White_Space
    PUNCTUATION = 4          # and all ASCII symbols
    NUMBER = 8               # Rust's char::is_numeric
    SYMBOL = 16              # P or S, to patterns

# The kinds of the character that begins at p[i], which is well-formed; `after` is the position behind it.
cdef inline unsigned kinds_at(const uint8_t* p, size_t i, size_t* after) noexcept nogil:
    cdef uint32_t c = code_point_at(p, i, after)
    return tw_kind[<uint32_t>tw_kind_block[c >> 8] << 8 | (c & 0xFF)]
