r"""The pieces of DeepSeek's three patterns, which cut one after the other, each the pieces of the one before.

    \p{N}{1,3}
    [一-龥぀-ゟ゠-ヿ]+
    ASCII punctuation[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|blanks as in LLAMA3

The first two cut a text into digits in threes, runs of Han and kana, and segments between those; to the third the end
of a segment is the end of the text. It leaves controls and unassigned characters over: what it does not match between
two matches is a piece as well. Its words have letters and marks alike.

One character at a time as in `split_scalar`, and as masks as in `split_mask`, for the same cost.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint32_t

from tokenwire_core.char_kinds cimport SYMBOL, tw_kind, tw_kind_block
from tokenwire_core.split_mask cimport (
    after_last_newline,
    below,
    certain,
    classify_first,
    every_third,
    tw_classifier,
    tw_controls,
    tw_lowest,
    tw_masks,
)
from tokenwire_core.split_scalar cimport digits
from tokenwire_core.unicode_class cimport (
    LETTER,
    MARK,
    NEWLINE,
    NUMBER,
    OTHER,
    SPACE,
    code_point_at,
    tw_class,
    tw_class_block,
)

cdef enum:
    # Beyond the flags of unicode_class, of which OTHER is left to what is no symbol.
    SYMBOLS = 0x100          # P, S
    EAST = 0x200             # Han and kana
    WORD = LETTER | MARK
    NOTHING = 0              # the end of the segment


cdef inline unsigned kind_at(const uint8_t* p, size_t i, size_t* after) noexcept nogil:
    cdef uint32_t c = code_point_at(p, i, after)
    cdef unsigned kind = tw_class[<uint32_t>tw_class_block[c >> 8] << 8 | (c & 0xFF)]
    if kind == OTHER and tw_kind[<uint32_t>tw_kind_block[c >> 8] << 8 | (c & 0xFF)] & SYMBOL:
        kind = SYMBOLS
    if c >= 0x3040 and (c <= 0x30FF or (c >= 0x4E00 and c <= 0x9FA5)):
        kind |= EAST
    return kind


cdef inline unsigned kind_in(unsigned east, const uint8_t* p, size_t i, size_t n, size_t* after) noexcept nogil:
    """The kind of the character at p[i], or NOTHING where the segment, of Han and kana or not, has ended."""
    cdef unsigned kind
    if i >= n:
        return NOTHING
    kind = kind_at(p, i, after)
    return kind ^ east if kind & EAST == east and not kind & NUMBER else NOTHING


cdef size_t run_in(unsigned kinds, unsigned east, const uint8_t* p, size_t i, size_t n) noexcept nogil:
    cdef size_t after = i
    while kind_in(east, p, i, n, &after) & kinds:
        i = after
    return i


cdef size_t blanks_in(const uint8_t* p, size_t i, size_t n) noexcept nogil:
    cdef size_t end = i, after = i, newline_end = 0, last = i
    cdef unsigned kind
    while True:
        kind = kind_in(0, p, end, n, &after)
        if not kind & SPACE:
            break
        last = end
        end = after
        if kind & NEWLINE:
            newline_end = end
    if newline_end:
        return newline_end
    return end if kind == NOTHING or last == i else last


cdef size_t next_deepseek(const uint8_t* p, size_t i, size_t n) noexcept nogil:
    cdef size_t after = i, second = i, end
    cdef unsigned kind = kind_at(p, i, &after), east = kind & EAST, next_kind
    kind ^= east
    if kind & NUMBER:
        return digits(p, after, n)
    if kind & LETTER:
        return run_in(WORD, east, p, after, n)
    if kind & SYMBOLS and p[i] < 0x80:
        end = after
        while end < n and c"a" <= p[end] | 0x20 <= c"z":
            end += 1
        if end > after:
            return end
    next_kind = kind_in(east, p, after, n, &second)
    if next_kind & WORD and not kind & (NEWLINE | SYMBOLS):
        return run_in(WORD, east, p, second, n)
    if kind & MARK:
        return after
    if kind & SYMBOLS or (p[i] == c" " and next_kind & SYMBOLS):
        end = run_in(SYMBOLS, east, p, after, n)
        while not east and end < n and (p[end] == c"\r" or p[end] == c"\n"):
            end += 1
        return end
    if kind & SPACE:
        return blanks_in(p, i, n)
    # Nothing matches here: all such characters, up to the one that a word takes.
    while next_kind & OTHER:
        end = after
        after = second
        next_kind = kind_in(east, p, after, n, &second)
        if next_kind & WORD:
            return end
    return after


cdef uint64_t deepseek_starts(tw_classifier classify, const uint8_t* p, size_t at, size_t n) noexcept nogil:
    cdef tw_masks m
    cdef uint64_t word, ascii_letter, digit, symbol, ascii_symbol, space, blank, newline, swallowed, run, starts
    cdef uint64_t lead = <uint64_t>0 - 1, east = 0, doubt, bits, touched, taken, last
    cdef unsigned i, kind
    cdef size_t after
    classify_first(classify, p + at, n - at, &m)
    ascii_letter = m.letter
    word = m.letter
    digit = m.digit
    space = m.space
    newline = m.newline
    blank = space | m.blank | newline
    symbol = below(n - at) & ~(word | digit | blank | m.high)
    doubt = tw_controls(p + at) & symbol             # what the pattern leaves over
    symbol &= ~doubt
    ascii_symbol = symbol

    if m.high:
        lead = ~m.high
        bits = m.high
        while bits:
            i = tw_lowest(bits)
            kind = kind_at(p, at + i, &after)
            touched = below(after - at) & ~below(i) if after - at < 64 else ~below(i)
            bits &= ~touched
            lead |= <uint64_t>1 << i
            if kind & EAST:
                east |= touched
            if kind & WORD:
                word |= touched
            elif kind & SYMBOLS:
                symbol |= touched
            else:
                doubt |= <uint64_t>1 << i            # or a digit or a blank outside ASCII
                break

    # Newlines that punctuation swallows: a carry from the first through the rest.
    bits = ((symbol & ~east) << 1) & newline
    swallowed = newline & ~(newline + bits)
    run = blank & ~swallowed

    # ASCII punctuation that begins a piece takes the ASCII letters behind it; what they end at begins another.
    taken = ((ascii_symbol & ~((symbol & ~east | space) << 1)) << 1) & ascii_letter
    starts = word & ~(word << 1) & ~((blank & ~newline) << 1) & ~taken
    starts |= (ascii_letter + taken) & ~ascii_letter & word
    starts |= symbol & ~(symbol << 1) & ~(space << 1)
    starts |= every_third(digit)
    starts |= east ^ (east << 1)
    if run:
        last = run & ~(run >> 1)
        starts |= run & ~(run << 1)
        starts |= last & ~newline & ~((digit | east) >> 1)
        if newline & run:
            starts |= after_last_newline(run, newline)

    return certain(starts & lead, run, doubt, n - at)
