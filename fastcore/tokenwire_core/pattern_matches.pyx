"""Where the matches of a pattern are, one after the other: by its table, or by the `regex` module.

An empty match counts, except where the one before it has ended: the search then goes on a character further.

Cost: of a table, 2 ns a character that a match may begin at, and 1 ns any other; linear. Of the module, 2 microseconds
a match and 0.1 a character, if the pattern does not backtrack.
"""

import time

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint32_t
from libc.string cimport memset

from tokenwire_core.scratch cimport DONE, NO_MEMORY, reserve
from tokenwire_core.unicode_class cimport code_point_at

cdef enum:
    QUIET_BYTES = 32         # without a match; from here on it is remembered where a table has been


cdef void begin_matching(Matching* m, const uint8_t* text, size_t first, size_t limit, Buffer* work) noexcept nogil:
    m.text = text
    m.first = first
    m.limit = limit
    m.at = first
    m.ended = limit + 1
    m.work = work
    m.been = NULL


cdef class TableMatcher:
    """The table of a pattern, as `pattern_table` gives it."""

    def __init__(self, table):
        self.table = table
        self.blocks = <const uint16_t*>PyBytes_AS_STRING(table.blocks)
        self.symbols = <const uint8_t*>PyBytes_AS_STRING(table.symbols)
        self.steps = <const uint32_t*>PyBytes_AS_STRING(table.steps)
        self.long_states = <const uint8_t*>PyBytes_AS_STRING(table.long_states)
        self.width = table.n_symbols + 1
        self.n_long_states = max(table.long_states)
        for c in range(128):
            self.begins[c] = self.steps[self.width + symbol_of(self, c)] != 0

    cdef int next_match(self, Matching* m) noexcept nogil:
        cdef const uint8_t* p = m.text
        cdef size_t at = m.at
        cdef int status
        while True:
            while at < m.limit and p[at] < 128 and not self.begins[p[at]]:
                at += 1
            status = match_at(self, m, at)
            if status != DONE:
                return status
            if m.found and not (m.end == at and m.ended == at):
                m.start = at
                m.at = m.end
                m.ended = m.end
                return DONE
            if at == m.limit:
                m.found = False
                return DONE
            code_point_at(p, at, &at)


cdef inline unsigned symbol_of(TableMatcher table, uint32_t c) noexcept nogil:
    return table.symbols[<size_t>table.blocks[c >> 8] << 8 | (c & 0xFF)]


cdef int match_at(TableMatcher table, Matching* m, size_t at) noexcept nogil:
    """The match that begins at `at`, if there is one; a Status."""
    cdef size_t place = at, after = at, patience = at + QUIET_BYTES, row = table.width
    cdef unsigned symbol, number
    cdef uint32_t step
    m.found = False
    while True:
        symbol = <unsigned>table.width - 1
        if place < m.limit:
            symbol = symbol_of(table, code_point_at(m.text, place, &after))
        step = table.steps[row + symbol]
        row = step >> 1
        if step & 1:
            m.found = True
            m.end = place
            patience = place + QUIET_BYTES
        if row == 0:
            return DONE
        place = after
        if place > patience:
            number = table.long_states[row // table.width]
            if number:
                if m.been == NULL and not remember(table, m):
                    return NO_MEMORY
                if was_there(table, m, place, number):
                    return DONE


cdef bint remember(TableMatcher table, Matching* m) noexcept nogil:
    """From now on know where the table has been: nowhere yet."""
    cdef size_t n_bytes = ((m.limit - m.first + 1) * table.n_long_states >> 3) + 1
    if not reserve(m.work, n_bytes):
        return False
    memset(m.work.p, 0, n_bytes)
    m.been = <uint8_t*>m.work.p
    return True


cdef inline bint was_there(TableMatcher table, Matching* m, size_t place, unsigned number) noexcept nogil:
    """Whether the table was in this long state at this place. Now it was; on the way to a match this does no harm, for
    nothing comes back before that."""
    cdef size_t bit = (place - m.first) * table.n_long_states + number - 1
    cdef uint8_t mask = <uint8_t>(1 << (bit & 7))
    cdef bint was = m.been[bit >> 3] & mask != 0
    m.been[bit >> 3] |= mask
    return was


def matches_by_regex(pattern, symbols, give_up_at_s):
    """The matches in order, as ranges of characters; (-1, -1) where the time is over.

    Args:
        pattern: compiled.
        symbols: the text in the symbols of the pattern's alphabet.
        give_up_at_s: on the clock of `time.thread_time`.
    """
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
