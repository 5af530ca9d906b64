# The script of a character (Unicode 16.0, UAX #24): a number from a two-stage table.
from libc.stdint cimport uint8_t, uint32_t

cdef extern from "char_script_tables.h" nogil:
    enum:
        TW_INHERITED                         # a mark that takes the script of the character before it
    const uint8_t tw_char_script_block[1]    # by code point >> 8
    const uint8_t tw_char_script[1]          # blocks of 256

cdef extern from "script_tables.h" nogil:
    enum:
        TW_N_SCRIPTS
    const char* tw_script_codes[TW_N_SCRIPTS]

cdef enum:
    NEUTRAL = 0                              # Common, a joiner, or unassigned

# The number of c's script in tw_script_codes, NEUTRAL or TW_INHERITED.
cdef inline unsigned char_script(uint32_t c) noexcept nogil:
    return tw_char_script[<uint32_t>tw_char_script_block[c >> 8] << 8 | (c & 0xFF)]
