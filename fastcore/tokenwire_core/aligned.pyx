"""Text on its way through the stages, and where in the source each character came from.

A text is a run of stretches. In most of them the bytes are those of the source, so one number places them all; where a
stage has changed something, the new characters stand as a whole for a range of the source. A text that no stage has
changed is one stretch, whatever its length, and where nobody asks for places there is none.

A stage reads one text from left to right and writes another with the functions here, which carry the places over: the
new text points into the same source. Writing never fails at once: what did not fit is remembered and `finish` says so.

Cost: linear in what is written; a look-up of a place takes a binary search over the stretches.
"""

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from tokenwire_core.split cimport TEXT_PADDING


cdef void begin(Aligned* a, int tracing) noexcept nogil:
    a.n = 0
    a.n_stretches = 0
    a.tracing = tracing
    a.no_memory = False


cdef void free_aligned(Aligned* a) noexcept nogil:
    free(a.text)
    free(a.stretches)
    memset(a, 0, sizeof(Aligned))


cdef size_t stretch_at(const Aligned* a, size_t at) noexcept nogil:
    """The index of the stretch that the byte at `at` is in; there is one at least."""
    cdef size_t low = 0, high = a.n_stretches, middle
    while high - low > 1:
        middle = (low + high) >> 1
        if a.stretches[middle].start <= at:
            low = middle
        else:
            high = middle
    return low


cdef void view_of(Aligned* a, Stretch* one, const Aligned* whole, size_t start, size_t end) noexcept nogil:
    memset(a, 0, sizeof(Aligned))
    a.text = whole.text + start
    a.n = end - start
    a.tracing = whole.tracing
    one.start = 0
    one.source = whole.stretches[0].source + <uint32_t>start if whole.n_stretches else <uint32_t>start
    one.source_end = SAME
    a.stretches = one
    a.n_stretches = 1


cdef bint finish(Aligned* a) noexcept nogil:
    if not reserve_text(a, 0):
        return False
    memset(a.text + a.n, 0, TEXT_PADDING)
    return not a.no_memory


cdef bint reserve_text(Aligned* a, size_t n) noexcept nogil:
    cdef size_t capacity = a.n + n + TEXT_PADDING
    cdef void* grown
    if capacity <= a.capacity:
        return True
    capacity += capacity >> 1
    grown = realloc(a.text, capacity)
    if grown == NULL:
        a.no_memory = True
        return False
    a.text = <uint8_t*>grown
    a.capacity = capacity
    return True


cdef bint new_stretch(Aligned* a, uint32_t source, uint32_t source_end) noexcept nogil:
    """Begin a stretch at the end of the text, unless the last one goes on just so."""
    cdef Stretch* last
    cdef void* grown
    cdef size_t capacity
    if a.n_stretches:
        last = &a.stretches[a.n_stretches - 1]
        if last.source_end != SAME and last.source == source and last.source_end == source_end:
            return True
        if last.source_end == SAME and source_end == SAME and source - last.source == a.n - last.start:
            return True
    if a.n_stretches == a.stretches_capacity:
        capacity = a.stretches_capacity + (a.stretches_capacity >> 1) + 16
        grown = realloc(a.stretches, capacity * sizeof(Stretch))
        if grown == NULL:
            a.no_memory = True
            return False
        a.stretches = <Stretch*>grown
        a.stretches_capacity = capacity
    a.stretches[a.n_stretches].start = <uint32_t>a.n
    a.stretches[a.n_stretches].source = source
    a.stretches[a.n_stretches].source_end = source_end
    a.n_stretches += 1
    return True


cdef void append(Aligned* a, const uint8_t* p, size_t n) noexcept nogil:
    if n and reserve_text(a, n):
        memcpy(a.text + a.n, p, n)
        a.n += n


cdef void put_at(Aligned* a, const uint8_t* p, size_t n, uint32_t source, uint32_t source_end) noexcept nogil:
    if a.no_memory or n == 0 or (a.tracing and not new_stretch(a, source, source_end)):
        return
    append(a, p, n)


cdef void put_for(Aligned* a, const uint8_t* p, size_t n, const Aligned* old, size_t start, size_t end) noexcept nogil:
    cdef uint32_t source = 0, source_end = 0
    if a.tracing:
        if start < end:
            place_of(old, start, end, &source, &source_end)
        elif start < old.n:
            place_of(old, start, start + 1, &source, &source_end)
            source_end = source
        elif old.n:
            place_of(old, start - 1, start, &source, &source_end)
            source = source_end
    put_at(a, p, n, source, source_end)


cdef void put_like(Aligned* a, const uint8_t* p, size_t n, const Aligned* old, size_t start) noexcept nogil:
    cdef size_t k, at = start, end = start + n, until
    cdef const Stretch* stretch
    if a.no_memory:
        return
    if not a.tracing:
        append(a, p, n)
        return
    k = stretch_at(old, start) if n else 0
    while at < end:
        stretch = &old.stretches[k]
        until = min(end, old.stretches[k + 1].start if k + 1 < old.n_stretches else old.n)
        if stretch.source_end == SAME:
            if not new_stretch(a, stretch.source + <uint32_t>(at - stretch.start), SAME):
                return
        elif not new_stretch(a, stretch.source, stretch.source_end):
            return
        append(a, p + (at - start), until - at)
        at = until
        k += 1


cdef void put_same(Aligned* a, const Aligned* old, size_t start, size_t end) noexcept nogil:
    put_like(a, old.text + start, end - start, old, start)


cdef void place_of(const Aligned* a, size_t start, size_t end, uint32_t* source, uint32_t* source_end) noexcept nogil:
    cdef const Stretch* first = &a.stretches[stretch_at(a, start)]
    cdef const Stretch* last = first
    if last.source_end != SAME or end > last.start:
        last = &a.stretches[stretch_at(a, end - 1)]
    source[0] = first.source + (<uint32_t>start - first.start if first.source_end == SAME else 0)
    source_end[0] = last.source + <uint32_t>end - last.start if last.source_end == SAME else last.source_end


cdef void token_place(
    const Aligned* a, size_t start, size_t end, bint whole, uint32_t* source, uint32_t* source_end
) noexcept nogil:
    if whole:
        while start and (a.text[start] & 0xC0) == 0x80:
            start -= 1
        while end < a.n and (a.text[end] & 0xC0) == 0x80:
            end += 1
    place_of(a, start, end, source, source_end)
