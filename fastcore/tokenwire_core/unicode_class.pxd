# The class of a character, as the pre-tokenizers see it: one byte from a two-stage table.
from libc.stdint cimport uint8_t, uint32_t

cdef extern from "unicode_tables.h" nogil:
    const uint8_t tw_class_block[1]      # by code point >> 8
    const uint8_t tw_class[1]            # blocks of 256

cdef enum:
    UPPER = 1          # Lu, Lt
    LOWER = 2          # Ll
    CASELESS = 4       # Lm, Lo
    MARK = 8           # M
    NUMBER = 16        # N
    BLANK = 32         # White_Space but CR and LF
    NEWLINE = 64       # CR, LF
    OTHER = 128
    LETTER = UPPER | LOWER | CASELESS
    SPACE = BLANK | NEWLINE

# The code point that begins at p[i], which is well-formed; `after` is the position behind it.
cdef inline uint32_t code_point_at(const uint8_t* p, size_t i, size_t* after) noexcept nogil:
    cdef uint32_t c = p[i]
    if c < 0x80:
        after[0] = i + 1
    elif c < 0xE0:
        c = (c & 0x1F) << 6 | (p[i + 1] & 0x3F)
        after[0] = i + 2
    elif c < 0xF0:
        c = (c & 0x0F) << 12 | <uint32_t>(p[i + 1] & 0x3F) << 6 | (p[i + 2] & 0x3F)
        after[0] = i + 3
    else:
        c = (
            (c & 0x07) << 18 | <uint32_t>(p[i + 1] & 0x3F) << 12
            | <uint32_t>(p[i + 2] & 0x3F) << 6 | (p[i + 3] & 0x3F)
        )
        after[0] = i + 4
    return c

# The class of the character that begins at p[i], otherwise as code_point_at.
cdef inline unsigned class_at(const uint8_t* p, size_t i, size_t* after) noexcept nogil:
    cdef uint32_t c = code_point_at(p, i, after)
    return tw_class[<uint32_t>tw_class_block[c >> 8] << 8 | (c & 0xFF)]
