"""Pieces of a text, and what every pre-tokenizer does with them: cut them.

Pieces are ranges of one text. A stage reads them in one of the two buffers of a scratch and writes new ones to the
other; one that changes the text writes it likewise. Cost: linear in the pieces.
"""

from tokenwire_core.aligned cimport begin
from tokenwire_core.scratch cimport DONE, NO_MEMORY, reserve

_BEHAVIORS = {
    "Removed": REMOVED,
    "Isolated": ISOLATED,
    "MergedWithPrevious": MERGED_WITH_PREVIOUS,
    "MergedWithNext": MERGED_WITH_NEXT,
    "Contiguous": CONTIGUOUS,
}


cdef class PreTokenizer:
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil:
        return DONE


cdef Cutting cutting_of(str behavior, bint invert):
    cdef Cutting how
    how.behavior = _BEHAVIORS[behavior]
    how.invert = invert
    return how


cdef void begin_cuts(Cuts* c, Scratch* s, const Pieces* pieces) noexcept nogil:
    c.buffer = &s.ranges[1] if pieces.ranges == <Range*>s.ranges[0].p else &s.ranges[0]
    c.ranges = <Range*>c.buffer.p
    c.room = c.buffer.capacity // sizeof(Range)
    c.n = 0
    c.waits = False
    c.no_memory = False


cdef bint grow_cuts(Cuts* c) noexcept nogil:
    if c.no_memory or not reserve(c.buffer, (c.n + 64) * sizeof(Range)):
        c.no_memory = True
        return False
    c.ranges = <Range*>c.buffer.p
    c.room = c.buffer.capacity // sizeof(Range)
    return True


cdef int end_cuts(Cuts* c, Pieces* pieces) noexcept nogil:
    pieces.ranges = c.ranges
    pieces.n = c.n
    return NO_MEMORY if c.no_memory else DONE


cdef Aligned* new_text(Scratch* s, const Pieces* pieces) noexcept nogil:
    cdef Aligned* text = &s.pre_tokenized[1] if pieces.text == &s.pre_tokenized[0] else &s.pre_tokenized[0]
    begin(text, pieces.text.tracing)
    return text
