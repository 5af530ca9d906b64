"""What the beginning of a text looks like: which script its letters have, and whether it is prose, or code and data.

Scripts are those of Unicode 16.0 (UAX #24), one for each letter. Code and data are told by signs, and by how these join
words: prose puts blanks between words and few signs besides its punctuation; code, JSON, logs, URLs and base64 have many
of `{}=;_/` and digits, and words that they join: `a.b`, `a_b`, `camelCase`, `);`. The bounds are from the tables in
docs/languages.md.

Cost: `python -m tests.languages speed` measures it, in labels of all kinds.
"""

import string
from enum import Enum

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.utf8 cimport first_ill_formed, ill_formed_length

cdef extern from "script_tables.h" nogil:
    enum:
        TW_N_SCRIPTS
    const uint8_t tw_script_block[1]     # by code point >> 8
    const uint8_t tw_script[1]           # blocks of 256
    const char* tw_script_codes[TW_N_SCRIPTS]

# What a byte is for words and signs.
cdef enum:
    LOWER = 0                            # and all that is not ASCII
    UPPER = 1
    DIGIT = 2
    JOINER = 3
    AROUND = 4                           # parentheses, and quotes that words have too
    BLANK = 5
    OTHER = 6
    QUOTE = 7                            # the double one: of speech behind a blank or a full stop, of data behind a word
    KIND = 7
    SIGN = 128                           # flag: one of those that prose has few of

# What two kinds side by side are.
cdef enum:
    JOINT = 1
    TWINS = 2                            # a joint, unless the first is the second of such a pair

cdef double MAIN_SHARE = 0.7
cdef double PROSE_SHARE = 0.04
cdef double DATA_SHARE = 0.15
cdef double DATA_LEAST = 5

cdef list codes = [tw_script_codes[script].decode("ascii") for script in range(TW_N_SCRIPTS)]
cdef unsigned LATN = codes.index("Latn"), HIRA = codes.index("Hira"), KANA = codes.index("Kana")
cdef unsigned HANI = codes.index("Hani"), BOPO = codes.index("Bopo")

cdef uint8_t[256] kinds
cdef uint8_t[64] joints                  # by kind << 3 | the next kind


cdef void lay_out():
    cdef unsigned byte, first, second
    for byte in range(256):
        kinds[byte] = LOWER if byte >= 0x80 else OTHER
    for characters, kind in (
        (string.ascii_lowercase, LOWER),
        (string.ascii_uppercase, UPPER),
        (string.digits, DIGIT),
        (string.whitespace, BLANK),
        ("_/=\\@#&+<>{}[]|;:.*$%~^", JOINER),
        ("()'`", AROUND),
        ('"', QUOTE),
    ):
        for byte in characters.encode():
            kinds[byte] = kind
    for byte in ('{}[]<>=;|\\_#@$&*+^~`%/' + string.digits).encode():
        kinds[byte] |= SIGN
    # Not a lower letter, one of AROUND, a lower letter: words have apostrophes.
    for first, second in (
        (JOINER, LOWER), (JOINER, UPPER), (LOWER, UPPER), (JOINER, AROUND), (AROUND, JOINER),
        (LOWER, QUOTE), (UPPER, QUOTE), (DIGIT, QUOTE), (JOINER, QUOTE), (QUOTE, JOINER),
        (AROUND, QUOTE), (QUOTE, AROUND),
    ):
        joints[first << 3 | second] = JOINT
    for first in (JOINER, AROUND, QUOTE):
        joints[first << 3 | first] = TWINS


lay_out()


class Notation(Enum):
    """How a text is written. `UNCLEAR` is prose full of markup as well as code full of comments."""

    PROSE = "prose"
    UNCLEAR = "unclear"
    DATA = "data"


@cython.final
cdef class Appearance:
    """What the beginning of a text looks like. There is one object for each that there can be: `APPEARANCES`.

    Attributes:
        script: the ISO 15924 code of what at least 70% of the letters have, `Jpan` where that is Han and kana or kana
            alone; empty where none has. Letters of scripts Common and Inherited do not count.
        has_letters: whether there are any.
        notation: prose has at most 4 signs and joints in 100 characters, data 15 or more, and 5 in all.
    """

    cdef readonly str script
    cdef readonly bint has_letters
    cdef readonly object notation


cdef struct Seen:
    uint32_t n_codepoints
    uint32_t n_noise                     # signs and joints
    unsigned last                        # the kind of the last byte
    unsigned is_second                   # 1 where it was the second of TWINS
    bint is_ascii                        # but for ill-formed parts, which have no letters
    uint32_t n_letters[TW_N_SCRIPTS]


cdef void see_well_formed(Seen* seen, const uint8_t* p, size_t n, uint32_t max_codepoints) noexcept nogil:
    cdef size_t i = 0
    cdef uint32_t c, n_left = max_codepoints - seen.n_codepoints, n_latin = 0, n_noise = 0
    cdef unsigned kind, joint, last = seen.last, is_second = seen.is_second
    while i < n and n_left:
        n_left -= 1
        kind = kinds[p[i]]
        joint = joints[last << 3 | (kind & KIND)]
        last = kind & KIND
        n_noise += (kind >> 7) + (joint & 1)
        if joint == TWINS:               # of one kind, so that what they are must be remembered: rare
            is_second = not is_second
            n_noise += is_second
        else:
            is_second = False
        if p[i] < 0x80:
            n_latin += last <= UPPER
            i += 1
        else:
            seen.is_ascii = False
            c = code_point_at(p, i, &i)
            seen.n_letters[tw_script[<uint32_t>tw_script_block[c >> 8] << 8 | (c & 0xFF)]] += 1
    seen.n_letters[LATN] += n_latin
    seen.n_noise += n_noise
    seen.n_codepoints = max_codepoints - n_left
    seen.last = last
    seen.is_second = is_second


cdef void see_ill_formed(Seen* seen) noexcept nogil:
    """It is no letter, and joined as all that is not ASCII."""
    seen.n_noise += joints[seen.last << 3 | LOWER] & 1
    seen.n_codepoints += 1
    seen.last = LOWER
    seen.is_second = False


cdef void see(Seen* seen, const uint8_t* p, size_t n, uint32_t max_codepoints) noexcept nogil:
    """Look at no more than so many code points; each ill-formed part is one."""
    cdef size_t start = 0, end
    memset(seen, 0, sizeof(Seen))
    seen.last = BLANK
    seen.is_ascii = True
    if n / 4 > max_codepoints:
        n = <size_t>max_codepoints * 4   # no code point has more bytes
    while start < n and seen.n_codepoints < max_codepoints:
        end = first_ill_formed(p, n, start)
        see_well_formed(seen, p + start, end - start, max_codepoints)
        if end == n or seen.n_codepoints == max_codepoints:
            break
        see_ill_formed(seen)
        start = end + ill_formed_length(p, n, end)


cdef list NOTATIONS = list(Notation)
# An appearance's place, but for its notation: by number of the script; behind them, Han and kana; at 0, no script, and behind all the same without letters.
cdef enum:
    JPAN = TW_N_SCRIPTS
    NO_LETTERS = TW_N_SCRIPTS + 1
    N_NOTATIONS = 3


cdef unsigned main_script(const Seen* seen) noexcept nogil:
    cdef uint32_t n_kana = seen.n_letters[HIRA] + seen.n_letters[KANA]
    cdef uint32_t n_han = seen.n_letters[HANI] + seen.n_letters[BOPO], n_letters = 0
    cdef double least
    cdef unsigned script
    if seen.is_ascii:
        return LATN if seen.n_letters[LATN] else NO_LETTERS
    for script in range(1, TW_N_SCRIPTS):
        n_letters += seen.n_letters[script]
    if n_letters == 0:
        return NO_LETTERS
    least = MAIN_SHARE * n_letters
    if n_kana + n_han >= least:
        return JPAN if n_kana else HANI
    for script in range(1, TW_N_SCRIPTS):
        if seen.n_letters[script] >= least:
            return script
    return 0


cdef unsigned notation_of(const Seen* seen) noexcept nogil:
    """Its number in NOTATIONS."""
    if seen.n_noise <= PROSE_SHARE * seen.n_codepoints:
        return 0
    return 2 if seen.n_noise >= max(DATA_LEAST, DATA_SHARE * seen.n_codepoints) else 1


cdef Appearance new_appearance(str script, bint has_letters, object notation):
    cdef Appearance made = Appearance.__new__(Appearance)
    made.script = script
    made.has_letters = has_letters
    made.notation = notation
    return made


APPEARANCES = tuple([
    new_appearance(script, has_letters, notation)
    for script, has_letters in (*((code, True) for code in ("", *codes[1:], "Jpan")), ("", False))
    for notation in NOTATIONS
])
"""All that `look` can give."""
cdef tuple appearances = APPEARANCES


def look(bytes utf8 not None, Py_ssize_t max_codepoints) -> Appearance:
    """What the first `max_codepoints` code points of a text look like.

    Raises:
        ValueError: `max_codepoints` is negative, or 2**31 or more.
    """
    cdef Seen seen
    if not 0 <= max_codepoints < 1 << 31:
        raise ValueError(f"max_codepoints is {max_codepoints}; it must be 0 or more, and below 2**31")
    see(&seen, <const uint8_t*>PyBytes_AS_STRING(utf8), PyBytes_GET_SIZE(utf8), <uint32_t>max_codepoints)
    return <Appearance>appearances[main_script(&seen) * N_NOTATIONS + notation_of(&seen)]
