"""The normalizer Replace: every match of literal text or of a regular expression replaced.

| pattern | its matches are found by | cost of a byte |
|---|---|---|
| one ASCII character, as nearly all are | eight bytes at once | 0.5 ns |
| other literal text | `memmem` | below 1 ns |
| one with a table (`pattern_table`) | that table | 1 ns |
| any other | the `regex` module, with the GIL and a deadline | 100 ns |

Places: what replaces characters stands for all of them; in the reference it is where the last of them was.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_SetInterrupt
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from tokenwire_core.aligned cimport TRACE_NOTHING, TRACE_REFERENCE, begin, place_of, put_at, reserve_text
from tokenwire_core.pattern_matches cimport Matching, TableMatcher, begin_matching
from tokenwire_core.rewriting cimport Normalizer, Rewrite, char_before, keep_to, replace
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY, TOO_SLOW, Scratch
from tokenwire_core.vocab cimport tw_load64
from tokenwire_core.utf8 cimport char_bytes

import regex

from tokenwire_core.pattern import rewrite as rewritten_pattern
from tokenwire_core.pattern_matches import matches_by_regex
from tokenwire_core.pattern_table import pattern_table
from tokenwire_core.pipeline import Regex
from tokenwire_core.regex_split import MAX_TEXT_BYTES

cdef extern from "<string.h>" nogil:
    void* memmem(const void* haystack, size_t n_haystack, const void* needle, size_t n_needle)

cdef extern from *:
    int __builtin_ctzll(unsigned long long) nogil

cdef enum:
    MAX_AT_ONCE = 8          # bytes of content that are written in one go

cdef size_t max_regex_bytes = MAX_TEXT_BYTES


def replacer(stage) -> Normalizer:
    """What a Replace is compiled to."""
    cdef ReplaceNormalizer made
    pattern = stage.pattern
    if isinstance(pattern, str) and pattern:
        made = ReplaceLiteral()
        (<ReplaceLiteral>made).hold_literal(pattern.encode())
    else:
        # Literal text that is empty is where the empty expression is: before each character, and at the end.
        expression = pattern.pattern if isinstance(pattern, Regex) else ""
        table = pattern_table(expression)
        made = ReplaceByRegex(expression) if table is None else ReplaceByTable(TableMatcher(table))
    made.hold_content(stage.content.encode())
    return made


cdef class ReplaceNormalizer(Normalizer):
    """What matches are replaced by."""

    cdef bytes content_utf8
    cdef const uint8_t* content
    cdef size_t n_content

    cdef int hold_content(self, bytes utf8) except -1:
        self.content_utf8 = utf8
        self.content = <const uint8_t*>PyBytes_AS_STRING(utf8)
        self.n_content = PyBytes_GET_SIZE(utf8)
        return 0

    cdef bint put(self, Rewrite* r, size_t start, size_t end) noexcept nogil:
        """Replace old.text[start:end]. False where the text is too long then."""
        cdef uint32_t source = r.nowhere, source_end = r.nowhere
        if start < end and end - start == self.n_content and self.is_same(r.old.text + start, r.old.tracing):
            return True
        if r.old.tracing != TRACE_REFERENCE:
            return replace(r, start, end, self.content, self.n_content)
        if end:
            place_of(r.old, char_before(r.old.text, end), end, &source, &source_end)
        keep_to(r, start)
        put_at(r.out, self.content, self.n_content, source, source_end)
        r.kept = end
        return r.out.n <= r.max_bytes


    cdef bint is_same(self, const uint8_t* p, int tracing) noexcept nogil:
        """Whether replacing as many bytes as the content has would change neither them nor their place."""
        return (
            (tracing == TRACE_NOTHING or char_bytes(p[0]) == self.n_content)
            and memcmp(p, self.content, self.n_content) == 0
        )


cdef class ReplaceLiteral(ReplaceNormalizer):
    """Literal text."""

    cdef bytes utf8
    cdef const uint8_t* literal
    cdef size_t n_literal

    cdef int hold_literal(self, bytes utf8) except -1:
        self.utf8 = utf8
        self.literal = <const uint8_t*>PyBytes_AS_STRING(utf8)
        self.n_literal = PyBytes_GET_SIZE(utf8)
        return 0

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        cdef const uint8_t* p = r.old.text
        cdef const uint8_t* found
        cdef size_t at = 0
        if self.n_literal == 1 and r.old.tracing == TRACE_NOTHING and self.n_content <= MAX_AT_ONCE:
            return self.replace_byte(r)
        while True:
            found = <const uint8_t*>memmem(p + at, r.old.n - at, self.literal, self.n_literal)
            if found == NULL:
                return DONE
            at = found - p
            if not self.put(r, at, at + self.n_literal):
                return GREW_TOO_LONG
            at += self.n_literal

    cdef int replace_byte(self, Rewrite* r) noexcept nogil:
        """As `rewrite`, for the usual case: one character of ASCII, a little content, and no places asked for."""
        cdef const uint8_t* p = r.old.text
        cdef size_t n = r.old.n, i, n_found = 0, n_new, run
        cdef uint8_t byte = self.literal[0]
        cdef uint8_t content[MAX_AT_ONCE]
        cdef uint8_t* q
        cdef uint64_t bytes_of, x
        for i in range(n):
            n_found += p[i] == byte
        if n_found == 0:
            return DONE
        n_new = n - n_found + n_found * self.n_content
        if n_new > r.max_bytes:
            return GREW_TOO_LONG
        begin(r.out, TRACE_NOTHING)
        r.has_changed = True
        r.kept = n
        if not reserve_text(r.out, n_new):
            return NO_MEMORY
        r.out.n = n_new
        memcpy(content, self.content, self.n_content)
        bytes_of = <uint64_t>0x0101010101010101 * byte
        q = r.out.text
        i = 0
        # Eight bytes are written where fewer count: there is padding behind both texts.
        while i < n:
            memcpy(q, p + i, 8)
            x = tw_load64(p + i) ^ bytes_of
            x = (x - <uint64_t>0x0101010101010101) & ~x & <uint64_t>0x8080808080808080
            run = <size_t>__builtin_ctzll(x) >> 3 if x else 8
            i += run
            q += run
            if x and i < n:
                memcpy(q, content, MAX_AT_ONCE)
                q += self.n_content
                i += 1
        return DONE


cdef class ReplaceByTable(ReplaceNormalizer):
    """A regular expression with a table."""

    cdef TableMatcher matcher

    def __init__(self, TableMatcher matcher):
        self.matcher = matcher

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        cdef Matching m
        cdef int status
        if r.old.n == 0:
            return DONE
        begin_matching(&m, r.old.text, 0, r.old.n, &s.work[0])
        while True:
            status = self.matcher.next_match(&m)
            if status != DONE:
                return status
            if not m.found:
                return DONE
            if not self.put(r, m.start, m.end):
                return GREW_TOO_LONG


cdef class ReplaceByRegex(ReplaceNormalizer):
    """Any other regular expression, on the `regex` module."""

    cdef object pattern, alphabet

    def __init__(self, expression):
        rewritten = rewritten_pattern(expression)
        self.pattern = regex.compile(rewritten.pattern, regex.V0)
        self.alphabet = rewritten.alphabet

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        if r.old.n == 0:
            return DONE
        if r.old.n > max_regex_bytes:
            return GREW_TOO_LONG     # as it came it was not: the chain says so beforehand
        with gil:
            try:
                return self.replace_matches(s, r)
            except MemoryError:
                return NO_MEMORY
            except KeyboardInterrupt:
                PyErr_SetInterrupt()     # once more, where it can be raised
                return TOO_SLOW

    cdef int replace_matches(self, Scratch* s, Rewrite* r) except -1:
        cdef size_t byte_start, byte_end = 0
        cdef Py_ssize_t start, end, at = 0
        cdef str text = PyBytes_FromStringAndSize(<const char*>r.old.text, r.old.n).decode()
        for start, end in matches_by_regex(self.pattern, self.alphabet.symbols(text), s.give_up_at_s):
            if start < 0:
                return TOO_SLOW
            byte_start = byte_end + len(text[at:start].encode())
            byte_end = byte_start + len(text[start:end].encode())
            if not self.put(r, byte_start, byte_end):
                return GREW_TOO_LONG
            at = end
        return DONE
