"""The normalizers that change a text at its ends: Strip and Prepend. Cost: what they take away or put there."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.aligned cimport TRACE_REFERENCE, place_of, put_at
from tokenwire_core.character_maps cimport is_blank
from tokenwire_core.rewriting cimport Normalizer, Rewrite, char_before, keep_to, replace
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, Scratch
from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.utf8 cimport char_bytes


cdef class StripNormalizer(Normalizer):
    """Blanks removed at the ends."""

    cdef bint left, right

    def __init__(self, stage):
        self.left = stage.left
        self.right = stage.right

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        cdef const uint8_t* p = r.old.text
        cdef size_t start = 0, end = r.old.n, after = 0, before
        while self.left and start < end and is_blank(code_point_at(p, start, &after)):
            start = after
        while self.right and end > start:
            before = char_before(p, end)
            if not is_blank(code_point_at(p, before, &after)):
                break
            end = before
        if start:
            replace(r, 0, start, b"", 0)
        if end < r.old.n:
            replace(r, end, r.old.n, b"", 0)
        return DONE


cdef class PrependNormalizer(Normalizer):
    """Text put before a text that is not empty.

    In the reference it takes the place of the first character, which then shares that.
    """

    cdef bytes utf8
    cdef const uint8_t* p
    cdef size_t n

    def __init__(self, stage):
        self.utf8 = stage.text.encode()
        self.p = <const uint8_t*>PyBytes_AS_STRING(self.utf8)
        self.n = PyBytes_GET_SIZE(self.utf8)

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        cdef uint32_t source = r.nowhere, source_end = r.nowhere
        if r.old.n == 0:
            return DONE
        if r.old.tracing != TRACE_REFERENCE:
            return DONE if self.n == 0 or replace(r, 0, 0, self.p, self.n) else GREW_TOO_LONG
        keep_to(r, 0)
        r.kept = char_bytes(r.old.text[0])
        if self.n:
            place_of(r.old, 0, r.kept, &source, &source_end)
            put_at(r.out, self.p, self.n, source, source_end)
        put_at(r.out, r.old.text, r.kept, source, source_end)
        return DONE
