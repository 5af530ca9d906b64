"""What every normalizer can do: a text to another text, of which most is often the same.

A stage looks for what it would change and replaces that. Nothing is copied before the first change, so that a text
which is normalized already costs a look at each byte; from there on, what lies between changes is copied in one go.

Cost: linear, and where places are traced a binary search for each change.
"""

from libc.string cimport memcpy

from tokenwire_core.aligned cimport (
    TRACE_NOTHING,
    begin,
    finish,
    place_of,
    put_at,
    put_for,
    put_like,
    put_same,
    reserve_text,
)
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY
from tokenwire_core.split cimport TEXT_PADDING
from tokenwire_core.utf8 cimport char_bytes


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
    if r.old.tracing == TRACE_NOTHING and r.has_changed:
        replace_text(r, start, p, n)
    else:
        keep_to(r, start)
        put_for(r.out, p, n, r.old, start, end)
    r.kept = end
    return r.out.n <= r.max_bytes


cdef inline void replace_text(Rewrite* r, size_t start, const uint8_t* p, size_t n) noexcept nogil:
    """What is kept up to `start`, and n bytes; no places."""
    cdef Aligned* out = r.out
    cdef size_t n_kept = start - r.kept, n_new = n_kept + n
    if out.capacity < out.n + n_new + TEXT_PADDING and not reserve_text(out, n_new):
        return
    memcpy(out.text + out.n, r.old.text + r.kept, n_kept)
    memcpy(out.text + out.n + n_kept, p, n)
    out.n += n_new


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
