"""What every normalizer can do: a text to another text, of which most is often the same.

A stage looks for what it would change and replaces that. Nothing is copied before the first change, so that a text
which is normalized already costs a look at each byte; from there on, what lies between changes is copied in one go.

Cost: linear, and where places are traced a binary search for each change.
"""

from tokenwire_core.aligned cimport begin, finish, place_of, put_at, put_for, put_like, put_same
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY


cdef class Normalizer:
    """One stage. Each kind is a subclass."""

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        return DONE


cdef void keep_to(Rewrite* r, size_t at) noexcept nogil:
    if not r.has_changed:
        r.has_changed = True
        begin(r.out, r.old.tracing)
    if at > r.kept:
        put_same(r.out, r.old, r.kept, at)
        r.kept = at


cdef bint replace(Rewrite* r, size_t start, size_t end, const uint8_t* p, size_t n) noexcept nogil:
    keep_to(r, start)
    put_for(r.out, p, n, r.old, start, end)
    r.kept = end
    return r.out.n <= r.max_bytes


cdef void replace_alike(Rewrite* r, size_t start, const uint8_t* p, size_t n) noexcept nogil:
    keep_to(r, start)
    put_like(r.out, p, n, r.old, start)
    r.kept = start + n


cdef int end_rewrite(Rewrite* r) noexcept nogil:
    if not r.has_changed:
        return DONE
    keep_to(r, r.old.n)
    if not finish(r.out):
        return NO_MEMORY
    return DONE if r.out.n <= r.max_bytes else GREW_TOO_LONG


cdef void put_change(Rewrite* r, size_t* at, const uint8_t* p, size_t n, int change) noexcept nogil:
    cdef const Aligned* old = r.old
    cdef uint32_t source = r.nowhere, source_end = r.nowhere
    cdef size_t start = at[0], end = start
    if change <= 0:
        end += char_bytes(old.text[start])
        place_of(old, start, end, &source, &source_end)
        while change < 0 and end < old.n:
            end += char_bytes(old.text[end])
            change += 1
        at[0] = end
    elif start:
        place_of(old, char_before(old.text, start), end, &source, &source_end)
    put_at(r.out, p, n, source, source_end)
