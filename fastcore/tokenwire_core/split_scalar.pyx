"""The next piece, one character at a time: what each known pattern says, as a state machine.

The patterns have no look-behind, so a piece depends only on the text from its start. Each function below follows the
alternatives of its pattern in their order; where the pattern would backtrack, the machine remembers the place instead.
A character is looked at no more than three times whatever the text, so the cost is linear: 6 to 8 ns a byte
of ASCII, about 3 outside it.

The families differ in this:

| family | words | digits | contraction | punctuation takes | blanks at the end of the text |
|---|---|---|---|---|---|
| GPT2 | letters, after a space | any number, after a space | as written | after a space | one piece |
| GPT2_DIGITS | as GPT2, but between digits | one, of Unicode 17.0 | as written | after a space | one piece |
| CL100K | letters, after any one non-letter | up to three | any case, long s too | then newlines | one piece |
| LLAMA3 | as CL100K | up to three | as CL100K | then newlines | newlines apart |
| QWEN2 | as CL100K | one | as CL100K | then newlines | newlines apart |
| QWEN3_5 | letters and marks | one | as CL100K | then newlines | newlines apart |
| O200K | letters and marks, upper case only in front | up to three | joins its word | then newlines, slashes | newlines apart |
| TEKKEN | as O200K | one | none | as O200K | newlines apart |
"""

from tokenwire_core.char_kinds cimport NUMBER as NUMBER_17
from tokenwire_core.char_kinds cimport kinds_at
from tokenwire_core.unicode_class cimport (
    CASELESS,
    LETTER,
    LOWER,
    MARK,
    NEWLINE,
    NUMBER,
    OTHER,
    SPACE,
    UPPER,
    class_at,
)


cdef size_t contraction(const uint8_t* p, size_t i, size_t n, bint fold_case) noexcept nogil:
    """'s 't 're 've 'm 'll 'd. Folding is Unicode's simple case folding, so U+017F (long s) is an s too."""
    cdef uint8_t bit = 0x20 if fold_case else 0
    cdef uint8_t a, b
    if i + 1 >= n:
        return i
    a = p[i + 1] | bit
    if a == c's' or a == c'd' or a == c'm' or a == c't':
        return i + 2
    if i + 2 >= n:
        return i
    b = p[i + 2] | bit
    if (a == c'l' and b == c'l') or (a == c'v' and b == c'e') or (a == c'r' and b == c'e'):
        return i + 3
    if fold_case and p[i + 1] == 0xC5 and p[i + 2] == 0xBF:
        return i + 3
    return i


cdef size_t blanks(const uint8_t* p, size_t i, size_t n, int family) noexcept nogil:
    """The piece at p[i], which is blank and begins no word and no punctuation.

    `\\s*[\\r\\n]+` ends behind the last newline of the run; `\\s+(?!\\S)` leaves the last blank to what follows.
    """
    cdef size_t end = i, after = i, newline_end = 0, last = i
    cdef unsigned c
    while end < n:
        c = class_at(p, end, &after)
        if not c & SPACE:
            break
        last = end
        end = after
        if c & NEWLINE:
            newline_end = end
    if end == n and (family == GPT2 or family == CL100K):
        return n
    if family == GPT2_DIGITS:
        return end if end == n or last == i or is_number(c, p, end) else last
    if newline_end and family != GPT2:
        return newline_end
    if end == n or last == i:
        return end
    return last


cdef size_t next_gpt2(const uint8_t* p, size_t i, size_t n) noexcept nogil:
    cdef size_t after, end
    cdef unsigned c = class_at(p, i, &after)
    if p[i] == c"'":
        end = contraction(p, i, n, False)
        if end > i:
            return end
    if p[i] == c" " and after < n:
        c = class_at(p, after, &after)
    if c & LETTER:
        return run_of(LETTER, p, after, n)
    if c & NUMBER:
        return run_of(NUMBER, p, after, n)
    if c & (OTHER | MARK):
        return run_of(OTHER | MARK, p, after, n)
    return blanks(p, i, n, GPT2)


cdef inline bint is_number(unsigned c, const uint8_t* p, size_t i) noexcept nogil:
    """Whether the character at p[i], of class c, is a number where the Digits pre-tokenizer looks: in Unicode 17.0."""
    cdef size_t after
    return c & (NUMBER | OTHER) and kinds_at(p, i, &after) & NUMBER_17


cdef size_t next_gpt2_digits(const uint8_t* p, size_t i, size_t n) noexcept nogil:
    cdef size_t after, second, end
    cdef unsigned c = class_at(p, i, &after)
    if is_number(c, p, i):
        return after
    if p[i] == c"'":
        end = contraction(p, i, n, False)
        if end > i:
            return end
    if p[i] == c" " and after < n:
        c = class_at(p, after, &second)
        if is_number(c, p, after):
            return after
        if not c & SPACE:
            after = second
    if c & LETTER:
        return run_of(LETTER, p, after, n)
    if c & (OTHER | MARK):
        while after < n:
            c = class_at(p, after, &second)
            if not c & (OTHER | MARK) or is_number(c, p, after):
                break
            after = second
        return after
    return blanks(p, i, n, GPT2_DIGITS)


cdef size_t next_cl100k(const uint8_t* p, size_t i, size_t n, int family) noexcept nogil:
    cdef unsigned word = LETTER | MARK if family == QWEN3_5 else LETTER
    cdef unsigned mark = OTHER if family == QWEN3_5 else OTHER | MARK
    cdef size_t after, second, end
    cdef unsigned c = class_at(p, i, &after), d
    if c & word:
        return run_of(word, p, after, n)
    if c & NUMBER:
        return digits(p, after, n) if family == CL100K or family == LLAMA3 else after
    if c & NEWLINE:
        return blanks(p, i, n, family)
    if p[i] == c"'":
        end = contraction(p, i, n, True)
        if end > i:
            return end
    if after < n:
        d = class_at(p, after, &second)
        if d & word:
            return run_of(word, p, second, n)
        if p[i] == c" " and d & mark:
            c = d
            after = second
    if c & mark:
        end = run_of(mark, p, after, n)
        while end < n and (p[end] == c"\r" or p[end] == c"\n"):
            end += 1
        return end
    return blanks(p, i, n, family)


cdef size_t next_o200k(const uint8_t* p, size_t i, size_t n, int family) noexcept nogil:
    cdef size_t after, second, start, end, soft = 0
    cdef unsigned c = class_at(p, i, &after), d = 0
    if c & NUMBER:
        return digits(p, after, n) if family == O200K else after
    if c & NEWLINE:
        return blanks(p, i, n, family)
    # `[^\r\n\p{L}\p{N}]?` is greedy: what is no letter is first tried as the character in front of a word.
    start = i if c & LETTER else after
    end = start
    while end < n:
        d = class_at(p, end, &second)
        if not d & (UPPER | CASELESS | MARK):
            break
        if d & (CASELESS | MARK):
            soft = second
        end = second
    if end < n and d & LOWER:
        end = run_of(LOWER | CASELESS | MARK, p, end, n)
    elif soft:
        end = soft                       # upper case behind it gives back to the last character both classes hold
    elif c & MARK:
        end = after                      # only the mark itself can end a word here
    if end > start or c & MARK:
        if end < n and p[end] == c"'" and family == O200K:
            end = contraction(p, end, n, True)
        return end
    if p[i] == c" " and after < n:
        d = class_at(p, after, &second)
        if d & OTHER:
            c = d
            after = second
    if c & OTHER:
        end = run_of(OTHER | MARK, p, after, n)
        while end < n and (p[end] == c"\r" or p[end] == c"\n" or p[end] == c"/"):
            end += 1
        return end
    return blanks(p, i, n, family)


cdef size_t next_piece(int family, const uint8_t* p, size_t i, size_t n) noexcept nogil:
    if family == O200K or family == TEKKEN:
        return next_o200k(p, i, n, family)
    if family == GPT2:
        return next_gpt2(p, i, n)
    if family == GPT2_DIGITS:
        return next_gpt2_digits(p, i, n)
    return next_cl100k(p, i, n, family)
