"""Cutting by what a character is: one look at each, in tables.

Cost: about 2 ns a byte of ASCII.
"""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.char_kinds cimport BLANK, NUMBER, PUNCTUATION, WORD, kinds_at, tw_piece_script, tw_piece_script_block
from tokenwire_core.cuts cimport (
    REMOVED,
    Cuts,
    Cutting,
    Pieces,
    PreTokenizer,
    add_piece,
    begin_cuts,
    begin_parts,
    cutting_of,
    end_cuts,
    end_parts,
    put_match,
)
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.unicode_class cimport code_point_at


cdef class CharSplit(PreTokenizer):
    """Characters of some kinds are delimiters, each by itself."""

    cdef unsigned kinds
    cdef Cutting how

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
    """Runs of word characters, and runs of what is neither that nor blank."""

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
    """What lies between blanks, punctuation apart."""

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
    """Runs of one script."""

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


cdef class LengthSplit(PreTokenizer):
    """So many characters."""

    cdef size_t n_characters

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


cdef CharSplit char_split(unsigned kinds, str behavior):
    cdef CharSplit step = CharSplit()
    step.kinds = kinds
    step.how = cutting_of(behavior, False)
    return step


def whitespace(stage) -> PreTokenizer:
    return WordSplit()


def whitespace_split(stage) -> PreTokenizer:
    return char_split(BLANK, "Removed")


def bert(stage) -> PreTokenizer:
    return BertSplit()


def digits(stage) -> PreTokenizer:
    return char_split(NUMBER, "Isolated" if stage.individual else "Contiguous")


def punctuation(stage) -> PreTokenizer:
    return char_split(PUNCTUATION, stage.behavior)


def unicode_scripts(stage) -> PreTokenizer:
    return ScriptSplit()


def fixed_length(stage) -> PreTokenizer:
    cdef LengthSplit step = LengthSplit()
    if stage.length < 1:
        raise ValueError("pieces of no characters")
    step.n_characters = stage.length
    return step
