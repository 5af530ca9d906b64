# Pieces of a text, and what every pre-tokenizer does with them: cut them.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.aligned cimport Aligned
from tokenwire_core.scratch cimport Buffer, Range, Scratch

# Pieces in order, apart, none of them empty.
cdef struct Pieces:
    const Aligned* text      # where they lie: the text given, or the one that a stage has made in s.pre_tokenized
    Range* ranges            # in s.ranges
    size_t n

# What becomes of a delimiter.
cdef enum Behavior:
    REMOVED
    ISOLATED
    MERGED_WITH_PREVIOUS
    MERGED_WITH_NEXT
    CONTIGUOUS

# A piece is cut into parts: matches, which are the delimiters, and what lies between them; with `invert` the other way
# round.
cdef struct Cutting:
    int behavior
    bint invert

# New pieces while a stage finds them.
cdef struct Cuts:
    Buffer* buffer
    Range* ranges
    size_t n
    size_t room
    Cutting how
    size_t at                # where the last match has ended
    size_t start             # the part before, perhaps already joined to others, which the next one may join
    size_t end
    bint waits               # whether there is one
    bint was_match
    bint no_memory           # a range did not fit, and none after it was kept

# A stage, or a part of one. It never changes after construction: any number of threads may run it.
cdef class PreTokenizer:
    # Cut, and perhaps change, each piece as a text of its own. Returns a Status. There is one piece at least.
    cdef int run(self, Scratch* s, Pieces* pieces) noexcept nogil

# Begin pieces in the buffer that `pieces` are not in; at the end let `pieces` be them. Returns a Status.
cdef void begin_cuts(Cuts* c, Scratch* s, const Pieces* pieces) noexcept nogil
cdef int end_cuts(Cuts* c, Pieces* pieces) noexcept nogil
cdef bint grow_cuts(Cuts* c) noexcept nogil
# The text for a stage to write that reads pieces.text: begun.
cdef Aligned* new_text(Scratch* s, const Pieces* pieces) noexcept nogil
# Read a behavior and `invert`.
cdef Cutting cutting_of(str behavior, bint invert)

# Add a piece, unless it is empty.
cdef inline void add_piece(Cuts* c, size_t start, size_t end) noexcept nogil:
    if start < end:
        if c.n == c.room and not grow_cuts(c):
            return
        c.ranges[c.n].start = <uint32_t>start
        c.ranges[c.n].end = <uint32_t>end
        c.n += 1

cdef inline void put_part(Cuts* c, size_t start, size_t end, bint is_match) noexcept nogil:
    cdef bint joins
    is_match = is_match != c.how.invert
    if c.how.behavior == ISOLATED:
        add_piece(c, start, end)
    elif c.how.behavior == REMOVED:
        if not is_match:
            add_piece(c, start, end)
    else:
        if c.how.behavior == CONTIGUOUS:
            joins = is_match == c.was_match
        elif c.how.behavior == MERGED_WITH_PREVIOUS:
            joins = is_match and not c.was_match
        else:
            joins = c.was_match and not is_match
        if not (c.waits and joins):
            if c.waits:
                add_piece(c, c.start, c.end)
            c.start = start
            c.waits = True
        c.end = end
        c.was_match = is_match

# Of one piece after the other: begin with where it starts, put its matches in order, end with where it ends.
cdef inline void begin_parts(Cuts* c, Cutting how, size_t start) noexcept nogil:
    c.how = how
    c.at = start
    c.waits = False

cdef inline void put_match(Cuts* c, size_t start, size_t end) noexcept nogil:
    if c.at < start:
        put_part(c, c.at, start, False)
    put_part(c, start, end, True)
    c.at = end

cdef inline void end_parts(Cuts* c, size_t end) noexcept nogil:
    if c.at < end:
        put_part(c, c.at, end, False)
    if c.waits:
        add_piece(c, c.start, c.end)
