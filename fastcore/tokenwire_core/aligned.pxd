# Text on its way through the stages, and where in the source each character came from.
from libc.stdint cimport uint8_t, uint32_t

cdef enum Tracing:
    TRACE_NOTHING = 0        # ids alone are asked for; no places are kept
    TRACE_SPANS = 1          # places by our rule: what replaces characters covers them all
    TRACE_REFERENCE = 2      # places as the reference implementation keeps them

cdef enum:
    SAME = 0xFFFFFFFF        # a stretch whose bytes are those of the source

# A stretch of a text; it ends where the next one begins.
cdef struct Stretch:
    uint32_t start           # its first byte in the text
    uint32_t source          # the first byte of its source
    uint32_t source_end      # SAME, or: every character of the stretch stands for all of source..source_end

cdef struct Aligned:
    uint8_t* text            # well-formed UTF-8; TEXT_PADDING bytes behind it are readable
    size_t n
    size_t capacity
    Stretch* stretches       # in order, the first at 0; none where nothing is traced or the text is empty
    size_t n_stretches
    size_t stretches_capacity
    int tracing
    bint no_memory           # a write has failed; all that came after it did nothing

# Make an empty text of it, or free what it has.
cdef void begin(Aligned* a, int tracing) noexcept nogil
cdef void free_aligned(Aligned* a) noexcept nogil
# text[start:end] as it is in `whole`, with `one` as its stretch. Not to be written to or freed.
cdef void view_of(Aligned* a, Stretch* one, const Aligned* whole, size_t start, size_t end) noexcept nogil
# Room for n bytes more, and TEXT_PADDING behind them. False when memory has run out.
cdef bint reserve_text(Aligned* a, size_t n) noexcept nogil
# Zero the padding: after the last write. False when memory has run out.
cdef bint finish(Aligned* a) noexcept nogil

# Append n bytes that stand as a whole for source..source_end.
cdef void put_at(Aligned* a, const uint8_t* p, size_t n, uint32_t source, uint32_t source_end) noexcept nogil
# Append n bytes that stand as a whole for the characters old.text[start:end]; where that is empty, for the empty place
# before old.text[start].
cdef void put_for(Aligned* a, const uint8_t* p, size_t n, const Aligned* old, size_t start, size_t end) noexcept nogil
# Append n bytes in place of as many of old.text[start:], whose characters begin at the same bytes: each has its place.
cdef void put_like(Aligned* a, const uint8_t* p, size_t n, const Aligned* old, size_t start) noexcept nogil
# Append old.text[start:end] as it is.
cdef void put_same(Aligned* a, const Aligned* old, size_t start, size_t end) noexcept nogil

# The place of the characters text[start:end], of which there is one at least.
cdef void place_of(const Aligned* a, size_t start, size_t end, uint32_t* source, uint32_t* source_end) noexcept nogil
# The place of a token of one byte or more. `whole`: of all characters that it touches, else byte by byte where the
# source has the same bytes.
cdef void token_place(
    const Aligned* a, size_t start, size_t end, bint whole, uint32_t* source, uint32_t* source_end
) noexcept nogil
