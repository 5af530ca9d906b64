"""All piece starts of 64 bytes at once: classes as bit masks, starts by shifts and carries.

A piece depends only on the text from its start, so from a byte where a piece is known to begin, whether another
begins at byte i follows from the classes of a few bytes around i. With one bit a byte, `x << 1` is "the byte before is
of x", and an addition lets a carry run along a mask: that is all the patterns need.

    letters      start a piece unless a letter, or a blank or a lone punctuation mark that takes them, is before
    digits       start one at each first and, where the pattern says so, each third of a run
    punctuation  starts one unless punctuation or a space is before; it swallows the newlines behind it
    blanks       a run starts one, so does what follows its last newline, and its last blank, which the next piece takes
    apostrophes  are looked at one by one

A character that is not ASCII gives its class to all of its bytes. Where a rule would need more than these, such as
digits and blanks outside ASCII, or marks and caseless letters between cases in o200k, the bits are not trusted from
there on, and neither is a run of blanks that reaches the end of the window. The caller takes what is certain, moves to
the last start and asks again; where nothing is certain the scalar machine gives one piece. Where the text ends inside
the window, bytes behind it are of no class and its end is a start: short texts are split at once.

Cost: about 0.9 ns a byte of ASCII with AVX2 or SSE2, 5.5 in plain C; outside ASCII 4 ns a byte, where each character
is looked up one by one and the scalar machine alone would take 3.
"""

from libc.string cimport memset

from tokenwire_core.char_kinds cimport NUMBER as NUMBER_17
from tokenwire_core.char_kinds cimport kinds_at
from tokenwire_core.split_scalar cimport (
    CL100K,
    GPT2,
    GPT2_DIGITS,
    LLAMA3,
    O200K,
    QWEN3_5,
    TEKKEN,
    contraction,
)
from tokenwire_core.unicode_class cimport BLANK, CASELESS, LOWER, MARK, NUMBER, OTHER, UPPER, class_at


cdef uint64_t window_starts(
    int family, tw_classifier classify, const uint8_t* p, size_t at, size_t n
) noexcept nogil:
    cdef tw_masks m
    cdef uint64_t letter, upper, lower, digit, other, space, blank, newline, swallowed, run, starts
    cdef uint64_t lead = <uint64_t>0 - 1, doubt = 0, caseless = 0, mark = 0
    cdef uint64_t bits, touched, taking, last
    cdef uint64_t planes[8]                          # by class, the bytes of characters outside ASCII
    cdef unsigned i, c
    cdef size_t after, end
    cdef bint by_case = family == O200K or family == TEKKEN, gpt2 = family == GPT2 or family == GPT2_DIGITS
    classify_first(classify, p + at, n - at, &m)
    letter = m.letter
    upper = m.upper
    lower = letter & ~upper
    digit = m.digit
    space = m.space
    newline = m.newline
    blank = space | m.blank | newline
    other = below(n - at) & ~(letter | digit | blank | m.high)

    if m.high:
        memset(planes, 0, sizeof(planes))
        lead = ~m.high
        bits = m.high
        while bits:
            i = tw_lowest(bits)
            c = class_at(p, at + i, &after)
            touched = ((<uint64_t>1 << (after - at - i)) - 1) << i
            bits &= ~touched
            lead |= <uint64_t>1 << i
            if family == GPT2_DIGITS and c == OTHER and kinds_at(p, at + i, &after) & NUMBER_17:
                c = NUMBER
            planes[tw_lowest(c)] |= touched
        upper |= planes[tw_lowest(UPPER)]
        lower |= planes[tw_lowest(LOWER)]
        caseless = planes[tw_lowest(CASELESS)]
        letter |= upper | lower | caseless
        other |= planes[tw_lowest(OTHER)]
        mark = planes[tw_lowest(MARK)]
        if not by_case:
            if family == QWEN3_5:
                letter |= mark
            else:
                other |= mark
        doubt = planes[tw_lowest(NUMBER)] | planes[tw_lowest(BLANK)]      # a digit or a blank outside ASCII
        if by_case:
            letter |= mark
            caseless |= mark
            doubt |= mark & lead & ~(letter << 1)    # a mark that begins a word
            doubt |= (caseless << 1) & upper & lead  # where case decides and what holds both cases is beside
            doubt |= (upper << 1) & caseless & lead

    # Newlines (and slashes behind them, where case decides) that punctuation swallows: a carry from the first through the rest.
    swallowed = 0
    bits = (other << 1) & newline
    if bits and not gpt2:
        touched = newline | m.slash if by_case else newline
        swallowed = touched & ~(touched + bits)
        doubt |= bits & ~swallowed                   # two carries met: a slash that is swallowed or begins anew
        other &= ~swallowed
    run = blank & ~swallowed

    # Punctuation that begins a piece by itself and so takes the letters behind it.
    taking = other & ~((other | space) << 1) & lead
    if gpt2:
        taking = 0
        starts = letter & ~(letter << 1) & ~(space << 1)
        starts |= digit & ~(digit << 1) & ~(space << 1) if family == GPT2 else digit
    else:
        if m.high:                                   # to the last byte of the character
            taking |= (taking << 1) & other & ~lead
            taking |= (taking << 1) & other & ~lead
            taking |= (taking << 1) & other & ~lead
        starts = letter & ~(letter << 1) & ~((blank & ~newline) << 1) & ~(taking << 1)
        if by_case:
            starts |= upper & (lower << 1)
        starts |= every_third(digit) if family == CL100K or family == LLAMA3 or family == O200K else digit
    starts |= other & ~(other << 1) & ~(space << 1)

    if run:
        last = run & ~(run >> 1)
        starts |= run & ~(run << 1)
        if gpt2:
            starts |= last if family == GPT2 else last & ~(digit >> 1)
        else:
            starts |= last & ~newline
            if newline & run:
                starts |= after_last_newline(run, newline)

    bits = m.apostrophe & (letter << 1 if family == O200K else ~((other | space) << 1)) if family != TEKKEN else 0
    while bits:
        i = tw_lowest(bits)
        bits &= bits - 1
        end = contraction(p, at + i, n, not gpt2)
        if end == at + i:
            continue
        end -= at
        # In o200k the contraction belongs to the word before it; elsewhere it is a piece.
        touched = below(end) & ~below(i if family == O200K else i + 1)
        starts &= ~touched
        if family == O200K and (p[at + end] == c"'" or p[at + end] >= 0x80):
            doubt |= <uint64_t>1 << i                # an apostrophe or a mark there is not what it seems
        if end < 64:
            starts |= letter & (<uint64_t>1 << end)

    return certain(starts & lead, run, doubt, n - at)
