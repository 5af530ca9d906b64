"""Pre-tokenizers' changes of the text: every piece is written anew, and where its characters came from goes along.

What is put before a piece is at the empty place there; in the reference's own places at that of its first character.
Cost: linear; with no places asked for 1 ns a byte and some 20 ns for each change.
"""

from tokenwire_core.byte_alphabet import CHAR_OF_BYTE

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stddef cimport size_t
from libc.string cimport memcmp, memcpy

from tokenwire_core.aligned cimport TRACE_REFERENCE, finish, place_of, put_for, put_same, reserve_text
from tokenwire_core.cuts cimport Cuts, add_piece, begin_cuts, end_cuts, new_text
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


def metaspace(stage) -> PreTokenizer:
    cdef MetaspaceStage step = MetaspaceStage()
    if len(stage.replacement) != 1:
        raise ValueError(f"Metaspace replaces by one character, not by {len(stage.replacement)}")
    step.replacement = stage.replacement.encode()
    step.p = <const uint8_t*>PyBytes_AS_STRING(step.replacement)
    step.n = PyBytes_GET_SIZE(step.replacement)
    step.splits = stage.split
    step.puts_first = stage.prepend_scheme != "never"
    step.only_at_source_start = stage.prepend_scheme == "first"
    return step


cdef bint is_at_source_start(const Aligned* text, size_t at) noexcept nogil:
    cdef uint32_t source = <uint32_t>at, source_end
    if text.tracing:
        place_of(text, at, at + 1, &source, &source_end)
    return source == 0


cdef inline bint is_replacement(MetaspaceStage stage, const uint8_t* p, size_t at, size_t end) noexcept nogil:
    return p[at] == stage.p[0] and end - at >= stage.n and memcmp(p + at, stage.p, stage.n) == 0


cdef inline bint lacks_first(MetaspaceStage stage, const Aligned* text, size_t at, size_t end) noexcept nogil:
    """Whether the replacement is put before text[at:end]."""
    return (
        stage.puts_first
        and text.text[at] != c" "
        and not is_replacement(stage, text.text, at, end)
        and (not stage.only_at_source_start or is_at_source_start(text, at))
    )


cdef class MetaspaceStage(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef Aligned* new = new_text(s, pieces)
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        if pieces.text.tracing:
            write_traced(self, new, pieces, &cuts)
        elif not write_plain(self, new, pieces, &cuts):
            return NO_MEMORY
        return written(new, pieces) or end_cuts(&cuts, pieces)


cdef void write_traced(MetaspaceStage stage, Aligned* new, const Pieces* pieces, Cuts* cuts) noexcept nogil:
    cdef const Aligned* old = pieces.text
    cdef size_t i, at, end, start, copied
    for i in range(pieces.n):
        at = pieces.ranges[i].start
        end = pieces.ranges[i].end
        start = new.n
        if lacks_first(stage, old, at, end):
            put_before(new, stage.p, stage.n, old, at)
        copied = at
        while at < end:
            if old.text[at] == c" ":
                put_same(new, old, copied, at)
                if stage.splits:
                    add_piece(cuts, start, new.n)
                    start = new.n
                put_for(new, stage.p, stage.n, old, at, at + 1)
                copied = at + 1
            elif stage.splits and is_replacement(stage, old.text, at, end):
                put_same(new, old, copied, at)
                add_piece(cuts, start, new.n)
                start = new.n
                copied = at
            at += 1
        put_same(new, old, copied, end)
        add_piece(cuts, start, new.n)


cdef bint write_plain(MetaspaceStage stage, Aligned* new, const Pieces* pieces, Cuts* cuts) noexcept nogil:
    """As write_traced, where no places are kept: byte by byte, into room that is there. False when memory ran out."""
    cdef const uint8_t* p = pieces.text.text
    cdef uint8_t* out
    cdef size_t i, at, end, start, n = 0, n_blanks = 0
    for i in range(pieces.n):
        for at in range(pieces.ranges[i].start, pieces.ranges[i].end):
            n_blanks += p[at] == c" "
        n += pieces.ranges[i].end - pieces.ranges[i].start
    if not reserve_text(new, n + (n_blanks + pieces.n) * stage.n):
        return False
    out = new.text
    n = 0
    for i in range(pieces.n):
        at = pieces.ranges[i].start
        end = pieces.ranges[i].end
        start = n
        if lacks_first(stage, pieces.text, at, end):
            memcpy(out + n, stage.p, stage.n)
            n += stage.n
        while at < end:
            if p[at] == c" ":
                if stage.splits:
                    add_piece(cuts, start, n)
                    start = n
                memcpy(out + n, stage.p, stage.n)
                n += stage.n
            else:
                if stage.splits and is_replacement(stage, p, at, end):
                    add_piece(cuts, start, n)
                    start = n
                out[n] = p[at]
                n += 1
            at += 1
        add_piece(cuts, start, n)
    new.n = n
    return True


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
