r"""Splitting by a pattern: the four ways to find its matches.

| pattern | its matches are found by | cost of a byte |
|---|---|---|
| one of `split.FAMILIES` | the masks of `split` | 1 ns |
| literal text | `memmem` | below 1 ns |
| one with a table (`pattern_table`) | that table, a look at each character | 2 ns |
| any other | the `regex` module, with the GIL and a deadline | 100 ns |

An empty match counts, except where the one before it has ended. All but the last way are linear.
"""

import regex

from tokenwire_core.pattern import rewrite
from tokenwire_core.pattern_matches import matches_by_regex
from tokenwire_core.pattern_table import pattern_table
from tokenwire_core.split import pattern_id

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stddef cimport size_t
from libc.stdint cimport uint32_t

from tokenwire_core.cuts cimport (
    CONTIGUOUS,
    REMOVED,
    Cuts,
    Pieces,
    add_piece,
    begin_cuts,
    begin_parts,
    cutting_of,
    end_cuts,
    end_parts,
    put_match,
)
from tokenwire_core.pattern_matches cimport Matching, TableMatcher, begin_matching
from tokenwire_core.scratch cimport DONE, NO_MEMORY, TOO_SLOW, Scratch
from tokenwire_core.split cimport PIECES_PER_CHUNK, SPLIT_SLACK, split_chunk
from tokenwire_core.split_scalar cimport GPT2
from tokenwire_core.text_stages cimport ByteAlphabet, PrefixBlank

cdef extern from "<string.h>" nogil:
    void* memmem(const void* haystack, size_t n_haystack, const void* needle, size_t n_needle)


cdef PreTokenizer split_by(object pattern, Cutting how):
    cdef object table
    if isinstance(pattern, str):
        return literal_split(pattern, how)
    if pattern_id(pattern.pattern) >= 0:
        return family_split(pattern_id(pattern.pattern), how)
    table = pattern_table(pattern.pattern)
    return regex_split(pattern.pattern, how) if table is None else table_split(table, how)


def split(stage) -> PreTokenizer:
    return split_by(stage.pattern, cutting_of(stage.behavior, stage.invert))


def char_delimiter_split(stage) -> PreTokenizer:
    return split_by(stage.delimiter, cutting_of("Removed", False))


def byte_level(stage) -> list[PreTokenizer]:
    cdef list steps = [PrefixBlank()] if stage.add_prefix_space else []
    if stage.use_regex:
        steps.append(family_split(GPT2, cutting_of("Isolated", False)))
    return [*steps, ByteAlphabet()]


cdef FamilySplit family_split(int family, Cutting how):
    cdef FamilySplit stage = FamilySplit.__new__(FamilySplit)
    stage.family = family
    stage.how = how
    if how.behavior == REMOVED:
        stage.plain = how.invert
    else:
        stage.plain = how.behavior != CONTIGUOUS
    return stage


cdef class FamilySplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef uint32_t ends[PIECES_PER_CHUNK + SPLIT_SLACK + 8]
        cdef const uint8_t* p
        cdef size_t i, j, k, n, first, start, position
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            first = pieces.ranges[i].start
            n = pieces.ranges[i].end - first
            p = pieces.text.text + first
            begin_parts(&cuts, self.how, first)
            position = 0
            start = first
            while position < n:
                k = split_chunk(self.family, p, n, &position, ends)
                for j in range(k):
                    if self.plain:
                        add_piece(&cuts, start, first + ends[j])
                    else:
                        put_match(&cuts, start, first + ends[j])
                    start = first + ends[j]
            if not self.plain:
                end_parts(&cuts, start)
        return end_cuts(&cuts, pieces)


cdef TableSplit table_split(object table, Cutting how):
    cdef TableSplit stage = TableSplit.__new__(TableSplit)
    stage.table = TableMatcher(table)
    stage.how = how
    return stage


cdef class TableSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef size_t i
        cdef int status
        cdef Matching match
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            begin_matching(&match, pieces.text.text, pieces.ranges[i].start, pieces.ranges[i].end, &s.work[0])
            begin_parts(&cuts, self.how, match.first)
            while True:
                status = self.table.next_match(&match)
                if status != DONE:
                    return status
                if not match.found:
                    break
                put_match(&cuts, match.start, match.end)
            end_parts(&cuts, match.limit)
        return end_cuts(&cuts, pieces)


cdef LiteralSplit literal_split(str literal, Cutting how):
    cdef LiteralSplit stage = LiteralSplit.__new__(LiteralSplit)
    if not literal:
        raise ValueError("literal text to split at is empty")
    stage.literal = literal.encode()
    stage.p = <const uint8_t*>PyBytes_AS_STRING(stage.literal)
    stage.n = PyBytes_GET_SIZE(stage.literal)
    stage.how = how
    return stage


cdef class LiteralSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef const uint8_t* p = pieces.text.text
        cdef const uint8_t* found
        cdef size_t i, at, end
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            at = pieces.ranges[i].start
            end = pieces.ranges[i].end
            begin_parts(&cuts, self.how, at)
            while True:
                found = <const uint8_t*>memmem(p + at, end - at, self.p, self.n)
                if found == NULL:
                    break
                at = found - p
                put_match(&cuts, at, at + self.n)
                at += self.n
            end_parts(&cuts, end)
        return end_cuts(&cuts, pieces)


cdef RegexSplit regex_split(str pattern, Cutting how):
    cdef RegexSplit stage = RegexSplit.__new__(RegexSplit)
    cdef object rewritten = rewrite(pattern)
    stage.pattern = regex.compile(rewritten.pattern, regex.V0)
    stage.alphabet = rewritten.alphabet
    stage.how = how
    return stage


cdef class RegexSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef Cuts cuts
        cdef int status
        begin_cuts(&cuts, s, pieces)
        with gil:
            try:
                status = cut_by_regex(self, &cuts, pieces, s.give_up_at_s)
            except MemoryError:
                status = NO_MEMORY
        return end_cuts(&cuts, pieces) if status == DONE else status


cdef int cut_by_regex(RegexSplit stage, Cuts* cuts, const Pieces* pieces, double give_up_at_s) except -1:
    cdef size_t i, byte_start, byte_end, byte_at
    cdef Py_ssize_t start, end, at
    cdef bytes utf8
    cdef str text
    for i in range(pieces.n):
        byte_start = pieces.ranges[i].start
        byte_end = pieces.ranges[i].end
        utf8 = PyBytes_FromStringAndSize(<const char*>pieces.text.text + byte_start, byte_end - byte_start)
        text = utf8.decode()
        begin_parts(cuts, stage.how, byte_start)
        at = 0
        byte_at = byte_start
        for start, end in matches_by_regex(stage.pattern, stage.alphabet.symbols(text), give_up_at_s):
            if start < 0:
                return TOO_SLOW
            byte_start = byte_at + len(text[at:start].encode())
            byte_at = byte_start + len(text[start:end].encode())
            put_match(cuts, byte_start, byte_at)
            at = end
        end_parts(cuts, byte_end)
    return DONE
