r"""Splitting by a pattern: the four ways to find its matches.

| pattern | its matches are found by | cost of a byte |
|---|---|---|
| one of `split.FAMILIES` | the masks of `split` | 1 ns |
| literal text | `memmem` | below 1 ns |
| one with a table (`pattern_table`) | that table, a look at each character | 2 ns |
| any other | the `regex` module, with the GIL and a deadline | 100 ns |

An empty match counts, except where the one before it has ended. All but the last way are linear.
"""

import time

import regex

from tokenwire_core.pattern import rewrite
from tokenwire_core.pattern_table import pattern_table
from tokenwire_core.split import pattern_id

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stddef cimport size_t
from libc.stdint cimport uint32_t
from libc.string cimport memset

from tokenwire_core.cuts cimport (
    CONTIGUOUS,
    REMOVED,
    Cuts,
    Pieces,
    add_piece,
    begin_cuts,
    begin_parts,
    end_cuts,
    end_parts,
    put_match,
)
from tokenwire_core.scratch cimport DONE, NO_MEMORY, TOO_SLOW, Range, Scratch, reserve
from tokenwire_core.split cimport PIECES_PER_CHUNK, SPLIT_SLACK, split_chunk
from tokenwire_core.unicode_class cimport code_point_at

cdef extern from "<string.h>" nogil:
    void* memmem(const void* haystack, size_t n_haystack, const void* needle, size_t n_needle)

cdef enum:
    QUIET_BYTES = 32         # read on without a match; from there on it is remembered where a table has been
    NOWHERE = 0xFFFFFFFF     # behind every text


cdef PreTokenizer split_by(object pattern, Cutting how):
    cdef object table
    if isinstance(pattern, str):
        return literal_split(pattern, how)
    if pattern_id(pattern.pattern) >= 0:
        return family_split(pattern_id(pattern.pattern), how)
    table = pattern_table(pattern.pattern)
    return regex_split(pattern.pattern, how) if table is None else table_split(table, how)


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
    stage.table = table
    stage.blocks = <const uint16_t*>PyBytes_AS_STRING(table.blocks)
    stage.symbols = <const uint8_t*>PyBytes_AS_STRING(table.symbols)
    stage.steps = <const uint32_t*>PyBytes_AS_STRING(table.steps)
    stage.long_states = <const uint8_t*>PyBytes_AS_STRING(table.long_states)
    stage.n_symbols = table.n_symbols
    stage.n_long_states = max(table.long_states)
    stage.how = how
    return stage


cdef inline unsigned symbol_at(TableSplit stage, const uint8_t* p, size_t i, size_t* after) noexcept nogil:
    cdef uint32_t c = code_point_at(p, i, after)
    return stage.symbols[<size_t>stage.blocks[c >> 8] << 8 | (c & 0xFF)]


cdef class TableSplit(PreTokenizer):
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        cdef size_t i, at, end, ended, match_end, place, patience, after = 0
        cdef size_t width = self.n_symbols + 1, base = pieces.ranges[0].start
        cdef const uint8_t* p = pieces.text.text
        cdef uint8_t* been = NULL      # bits: for each place behind `base`, one for each long state
        cdef unsigned symbol, number
        cdef uint32_t step
        cdef Cuts cuts
        begin_cuts(&cuts, s, pieces)
        for i in range(pieces.n):
            at = pieces.ranges[i].start
            end = pieces.ranges[i].end
            ended = NOWHERE
            begin_parts(&cuts, self.how, at)
            while True:
                match_end = NOWHERE
                place = at
                patience = at + QUIET_BYTES
                step = <uint32_t>width << 1
                while True:
                    symbol = symbol_at(self, p, place, &after) if place < end else <unsigned>self.n_symbols
                    step = self.steps[(step >> 1) + symbol]
                    if step & 1:
                        match_end = place
                        patience = place + QUIET_BYTES
                    if step <= 1:
                        break
                    place = after
                    if place > patience:
                        number = self.long_states[(step >> 1) // width]
                        if number:
                            if been == NULL:
                                been = nowhere_yet(s, pieces, self.n_long_states)
                                if been == NULL:
                                    return NO_MEMORY
                            if was_there(been, (place - base) * self.n_long_states + number - 1):
                                break
                if match_end != NOWHERE and not (match_end == at and ended == at):
                    put_match(&cuts, at, match_end)
                    at = match_end
                    ended = match_end
                elif at == end:
                    break
                else:
                    symbol_at(self, p, at, &after)
                    at = after
            end_parts(&cuts, end)
        return end_cuts(&cuts, pieces)

cdef uint8_t* nowhere_yet(Scratch* s, const Pieces* pieces, size_t n_long_states) noexcept nogil:
    """A bit for each long state at each place of the text, and none set."""
    cdef size_t n_places = pieces.ranges[pieces.n - 1].end - pieces.ranges[0].start + 1
    cdef size_t n_bytes = (n_places * n_long_states >> 3) + 1
    if not reserve(&s.work[0], n_bytes):
        return NULL
    memset(s.work[0].p, 0, n_bytes)
    return <uint8_t*>s.work[0].p


cdef inline bint was_there(uint8_t* been, size_t bit) noexcept nogil:
    """Whether the bit was set; now it is. Set on the way to a match it does no harm: nothing comes back before that."""
    cdef uint8_t mask = <uint8_t>(1 << (bit & 7))
    cdef bint was = been[bit >> 3] & mask != 0
    been[bit >> 3] |= mask
    return was


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
        for start, end in _matches(stage.pattern, stage.alphabet.symbols(text), give_up_at_s):
            if start < 0:
                return TOO_SLOW
            byte_start = byte_at + len(text[at:start].encode())
            byte_at = byte_start + len(text[start:end].encode())
            put_match(cuts, byte_start, byte_at)
            at = end
        end_parts(cuts, byte_end)
    return DONE


def _matches(pattern, symbols, give_up_at_s):
    """The matches of a text in order, empty ones among them; (-1, -1) where the time is over."""
    at = 0
    ended = -1
    while at <= len(symbols):
        left_s = give_up_at_s - time.thread_time()
        if left_s <= 0:
            yield -1, -1
            return
        try:
            match = pattern.search(symbols, at, concurrent=True, timeout=left_s)
        except TimeoutError:
            continue  # the module counts the work of all threads, and this one may have time left
        if match is None:
            return
        start, end = match.span()
        if start == end == ended:
            at += 1
        else:
            yield start, end
            at = ended = end
