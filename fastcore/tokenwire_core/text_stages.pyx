"""Pre-tokenizers' changes of the text: every piece is written anew, and where its characters came from goes along.

What is put before a piece is at the empty place there; in the reference's own places at that of its first character.
Cost: linear; with no places asked for 1 ns a byte and some 20 ns for each change.
"""

from tokenwire_core.byte_alphabet import CHAR_OF_BYTE

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stddef cimport size_t
from libc.string cimport memchr, memcmp

from tokenwire_core.aligned cimport TRACE_REFERENCE, finish, place_of, put_for, put_same
from tokenwire_core.cuts cimport new_text
from tokenwire_core.scratch cimport DONE, NO_MEMORY
from tokenwire_core.unicode_class cimport code_point_at

# The UTF-8 of each byte's character: one byte or two.
cdef uint8_t spelling[256][2]
cdef uint8_t n_spelling[256]


cdef void fill_spellings():
    cdef int byte
    cdef bytes utf8
    for byte in range(256):
        utf8 = CHAR_OF_BYTE[byte].encode()
        n_spelling[byte] = <uint8_t>len(utf8)
        spelling[byte][0] = utf8[0]
        spelling[byte][1] = utf8[len(utf8) - 1]


fill_spellings()


cdef inline void put_before(Aligned* new, const uint8_t* p, size_t n, const Aligned* old, size_t at) noexcept nogil:
    """Append what stands before the character old.text[at:]."""
    cdef size_t after = at
    if old.tracing == TRACE_REFERENCE:
        code_point_at(old.text, at, &after)
    put_for(new, p, n, old, at, after)


cdef int written(Aligned* new, Pieces* pieces) noexcept nogil:
    pieces.text = new
    return DONE if finish(new) else NO_MEMORY


cdef class PrefixBlank(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const Aligned* old = pieces.text
        cdef Aligned* new
        cdef size_t i, start, n_without = 0
        for i in range(pieces.n):
            n_without += old.text[pieces.ranges[i].start] != c" "
        if not n_without:
            return DONE
        new = new_text(s, pieces)
        for i in range(pieces.n):
            start = new.n
            if old.text[pieces.ranges[i].start] != c" ":
                put_before(new, <const uint8_t*>b" ", 1, old, pieces.ranges[i].start)
            put_same(new, old, pieces.ranges[i].start, pieces.ranges[i].end)
            pieces.ranges[i].start = <uint32_t>start
            pieces.ranges[i].end = <uint32_t>new.n
        return written(new, pieces)


cdef class ByteAlphabet(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const Aligned* old = pieces.text
        cdef Aligned* new = new_text(s, pieces)
        cdef uint8_t spelled[8]
        cdef size_t i, j, k, at, end, start, after = 0
        for i in range(pieces.n):
            at = pieces.ranges[i].start
            end = pieces.ranges[i].end
            start = new.n
            while at < end:
                after = at
                while after < end and n_spelling[old.text[after]] == 1 and old.text[after] < 0x80:
                    after += 1
                if after > at:
                    put_same(new, old, at, after)
                    at = after
                    continue
                code_point_at(old.text, at, &after)
                k = 0
                for j in range(at, after):
                    spelled[k] = spelling[old.text[j]][0]
                    spelled[k + 1] = spelling[old.text[j]][1]
                    k += n_spelling[old.text[j]]
                put_for(new, spelled, k, old, at, after)
                at = after
            pieces.ranges[i].start = <uint32_t>start
            pieces.ranges[i].end = <uint32_t>new.n
        return written(new, pieces)


cdef MetaspaceText metaspace_text(str replacement, str prepend_scheme):
    cdef MetaspaceText stage = MetaspaceText.__new__(MetaspaceText)
    if len(replacement) != 1:
        raise ValueError(f"Metaspace replaces by one character, not by {len(replacement)}")
    stage.replacement = replacement.encode()
    stage.p = <const uint8_t*>PyBytes_AS_STRING(stage.replacement)
    stage.n = PyBytes_GET_SIZE(stage.replacement)
    stage.puts_first = prepend_scheme != "never"
    stage.only_at_source_start = prepend_scheme == "first"
    return stage


cdef bint is_at_source_start(const Aligned* text, size_t at) noexcept nogil:
    cdef uint32_t source = <uint32_t>at, source_end
    if text.tracing:
        place_of(text, at, at + 1, &source, &source_end)
    return source == 0


cdef class MetaspaceText(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const Aligned* old = pieces.text
        cdef Aligned* new = new_text(s, pieces)
        cdef const uint8_t* p = old.text
        cdef const uint8_t* blank
        cdef size_t i, at, end, start
        for i in range(pieces.n):
            at = pieces.ranges[i].start
            end = pieces.ranges[i].end
            start = new.n
            if (
                self.puts_first
                and p[at] != c" "
                and not (end - at >= self.n and memcmp(p + at, self.p, self.n) == 0)
                and (not self.only_at_source_start or is_at_source_start(old, at))
            ):
                put_before(new, self.p, self.n, old, at)
            while True:
                blank = <const uint8_t*>memchr(p + at, c" ", end - at)
                if blank == NULL:
                    break
                put_same(new, old, at, blank - p)
                at = blank - p
                put_for(new, self.p, self.n, old, at, at + 1)
                at += 1
            put_same(new, old, at, end)
            pieces.ranges[i].start = <uint32_t>start
            pieces.ranges[i].end = <uint32_t>new.n
        return written(new, pieces)


cdef int close_gaps(Scratch* s, Pieces* pieces) noexcept nogil:
    cdef const Aligned* old = pieces.text
    cdef Aligned* new = new_text(s, pieces)
    cdef size_t i, start
    for i in range(pieces.n):
        start = new.n
        put_same(new, old, pieces.ranges[i].start, pieces.ranges[i].end)
        pieces.ranges[i].start = <uint32_t>start
        pieces.ranges[i].end = <uint32_t>new.n
    return written(new, pieces)


cdef void to_bytes(Pieces* pieces, const Aligned* spelled) noexcept nogil:
    cdef const uint8_t* p = pieces.text.text
    cdef size_t i, at = 0, byte = 0
    for i in range(pieces.n):
        while at < pieces.ranges[i].start:
            byte += p[at] & 0xC0 != 0x80
            at += 1
        pieces.ranges[i].start = <uint32_t>byte
        while at < pieces.ranges[i].end:
            byte += p[at] & 0xC0 != 0x80
            at += 1
        pieces.ranges[i].end = <uint32_t>byte
    pieces.text = spelled
