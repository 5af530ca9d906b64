"""Cutting by what a character is: one look at each, in tables.

Cost: about 2 ns a byte of ASCII.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.char_kinds cimport BLANK, PUNCTUATION, WORD, kinds_at, tw_piece_script, tw_piece_script_block
from tokenwire_core.cuts cimport REMOVED, Cuts, Pieces, add_piece, begin_cuts, begin_parts, end_cuts, end_parts, put_match
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.unicode_class cimport code_point_at


cdef CharSplit char_split(unsigned kinds, Cutting how):
    cdef CharSplit stage = CharSplit.__new__(CharSplit)
    stage.kinds = kinds
    stage.how = how
    return stage


cdef class CharSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const uint8_t* p = pieces.text.text
        cdef size_t i, at, end, start, after = 0
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            at = pieces.ranges[i].start
            end = pieces.ranges[i].end
            if self.how.behavior == REMOVED and not self.how.invert:
                start = at
                while at < end:
                    if kinds_at(p, at, &after) & self.kinds:
                        add_piece(&cuts, start, at)
                        start = after
                    at = after
                add_piece(&cuts, start, end)
                continue
            begin_parts(&cuts, self.how, at)
            while at < end:
                if kinds_at(p, at, &after) & self.kinds:
                    put_match(&cuts, at, after)
                at = after
            end_parts(&cuts, end)
        return end_cuts(&cuts, pieces)


cdef class WordSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const uint8_t* p = pieces.text.text
        cdef size_t i, at, end, start, after = 0
        cdef unsigned kind, kind_before
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            at = pieces.ranges[i].start
            end = pieces.ranges[i].end
            start = at
            kind_before = BLANK
            while at < end:
                kind = kinds_at(p, at, &after) & (WORD | BLANK)
                if kind != kind_before:
                    if kind_before != BLANK:
                        add_piece(&cuts, start, at)
                    start = at
                    kind_before = kind
                at = after
            if kind_before != BLANK:
                add_piece(&cuts, start, end)
        return end_cuts(&cuts, pieces)


cdef class BertSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const uint8_t* p = pieces.text.text
        cdef size_t i, at, end, start, after = 0
        cdef unsigned kinds
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            at = pieces.ranges[i].start
            end = pieces.ranges[i].end
            start = at
            while at < end:
                kinds = kinds_at(p, at, &after)
                if kinds & (BLANK | PUNCTUATION):
                    add_piece(&cuts, start, at)
                    if not kinds & BLANK:
                        add_piece(&cuts, at, after)
                    start = after
                at = after
            add_piece(&cuts, start, end)
        return end_cuts(&cuts, pieces)


cdef class ScriptSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const uint8_t* p = pieces.text.text
        cdef size_t i, at, end, start, after = 0
        cdef uint32_t c
        cdef unsigned script, script_before
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            at = pieces.ranges[i].start
            end = pieces.ranges[i].end
            start = at
            script_before = 0
            while at < end:
                c = code_point_at(p, at, &after)
                script = tw_piece_script[<uint32_t>tw_piece_script_block[c >> 8] << 8 | (c & 0xFF)]
                if script and script != script_before:
                    # What stands before the first script is lost, as in the library.
                    if script_before:
                        add_piece(&cuts, start, at)
                    start = at
                    script_before = script
                at = after
            if script_before:
                add_piece(&cuts, start, end)
        return end_cuts(&cuts, pieces)


cdef LengthSplit length_split(size_t n_characters):
    cdef LengthSplit stage = LengthSplit.__new__(LengthSplit)
    if n_characters == 0:
        raise ValueError("pieces of no characters")
    stage.n_characters = n_characters
    return stage


cdef class LengthSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const uint8_t* p = pieces.text.text
        cdef size_t i, at, end, start, n
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            start = pieces.ranges[i].start
            end = pieces.ranges[i].end
            n = 0
            for at in range(start, end):
                if p[at] & 0xC0 != 0x80:
                    if n == self.n_characters:
                        add_piece(&cuts, start, at)
                        start = at
                        n = 0
                    n += 1
            add_piece(&cuts, start, end)
        return end_cuts(&cuts, pieces)
