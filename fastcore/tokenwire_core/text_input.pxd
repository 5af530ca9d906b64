# A text as a caller sends it, made well-formed.
from libc.stdint cimport uint8_t

cdef class TextInput:
    cdef readonly object text        # str or bytes
    cdef readonly bytes replaced     # the ill-formed parts that became U+FFFD, as utf8.repair gives them
    cdef readonly list parts         # (byte_end, policy) of each segment; None of a text without
    cdef readonly object policy      # that of a text without segments
    cdef Py_ssize_t view(self, const uint8_t** p) except -1
    cpdef bytes utf8(self)

# `text` is a str, bytes or a sequence of Segment; `policy` that of a text without segments.
cdef TextInput read_text(object text, object policy, str invalid)
