"""Scripts of a text: how many of its letters each writing system has.

Looks a letter's script up in a two-stage table, like the classes of the splitter, and counts by number; names are made
once at the end. Cost: 1 to 2 ns a character.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.unicode_class cimport code_point_at

cdef extern from "script_tables.h" nogil:
    const int TW_N_SCRIPTS
    const char* tw_script_codes[1]       # ISO 15924, by number; number 0 is no script
    const uint8_t tw_script_block[1]     # by code point >> 8
    const uint8_t tw_script[1]           # blocks of 256


cdef void count_by_number(
    const uint8_t* p, size_t n, size_t max_codepoints, size_t* counts
) noexcept nogil:
    cdef size_t i = 0, k
    cdef uint32_t c
    for k in range(max_codepoints):
        if i >= n:
            break
        c = code_point_at(p, i, &i)
        counts[tw_script[<uint32_t>tw_script_block[c >> 8] << 8 | (c & 0xFF)]] += 1


def count_scripts(bytes utf8, Py_ssize_t max_codepoints) -> dict[str, int]:
    """Letters (general category L) by the ISO 15924 code of their script, such as `Latn`.

    Scripts without a letter are left out, and so are letters of script Common or Inherited.

    Args:
        utf8: well-formed.
        max_codepoints: how many code points are looked at, from the start; 0 or more.
    """
    cdef size_t counts[256]              # a script's number is one byte
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(utf8)
    cdef size_t n = PyBytes_GET_SIZE(utf8)
    cdef int number
    if max_codepoints < 0:
        raise ValueError(f"max_codepoints is {max_codepoints}; it must be 0 or more")
    for number in range(TW_N_SCRIPTS):
        counts[number] = 0
    with nogil:
        count_by_number(p, n, max_codepoints, counts)
    return {
        (<bytes>tw_script_codes[number]).decode("ascii"): counts[number]
        for number in range(1, TW_N_SCRIPTS)
        if counts[number]
    }
