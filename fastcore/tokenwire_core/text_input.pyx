"""A text as a caller sends it: a str, bytes or segments, made well-formed, with what may come of control tokens."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE

from tokenwire_core.errors import InvalidUtf8Error, TokenizerError
from tokenwire_core.segment import Segment
from tokenwire_core.utf8 import repair

from tokenwire_core.utf8 cimport first_ill_formed, moved

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL
    const char* utf8_or_null "PyUnicode_AsUTF8AndSize"(object, Py_ssize_t*)
    void PyErr_Clear()


cdef tuple well_formed(object text, str invalid):
    """The text as an exact str or bytes with nothing ill-formed in it, and what of it was replaced.

    A subclass could answer for its length or encoding as it likes, so it is made what it is a subclass of.
    """
    cdef Py_ssize_t n
    if isinstance(text, str):
        text = text if type(text) is str else str.__str__(text)
        try:
            PyUnicode_AsUTF8AndSize(text, &n)
        except UnicodeEncodeError as error:
            if invalid == "error":
                raise InvalidUtf8Error(len(text[: error.start].encode())) from None
            # A lone surrogate is one code point, so it becomes one U+FFFD; no bytes were sent, so nothing is mapped.
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), b""
        return text, b""
    if not isinstance(text, bytes):
        raise TypeError(f"text must be str, bytes or a sequence of Segment, not {type(text).__name__}")
    if type(text) is not bytes:
        text = PyBytes_FromStringAndSize(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    n = PyBytes_GET_SIZE(text)
    cdef size_t at = first_ill_formed(<const uint8_t*>PyBytes_AS_STRING(text), n, 0)
    if at == <size_t>n:
        return text, b""
    if invalid == "error":
        raise InvalidUtf8Error(at)
    return repair(text)


cdef list segments_of(object text):
    """The segments of a sequence of them."""
    cdef list segments = list(text) if isinstance(text, (list, tuple)) else None
    if segments is None or not all([isinstance(segment, Segment) for segment in segments]):
        raise TypeError(f"text must be str, bytes or a sequence of Segment, not {type(text).__name__}")
    return segments


cdef Py_ssize_t view_text(object text, const uint8_t** p) except -1:
    """The UTF-8 of a well-formed str or bytes, and its size."""
    cdef Py_ssize_t n
    if isinstance(text, str):
        p[0] = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        return n
    p[0] = <const uint8_t*>PyBytes_AS_STRING(text)
    return PyBytes_GET_SIZE(text)


@cython.final
@cython.no_gc            # nothing that it refers to refers to it
@cython.freelist(8)
cdef class TextInput:
    cdef Py_ssize_t view(self, const uint8_t** p) except -1:
        """The UTF-8 of the text, and its size."""
        return view_text(self.text, p)

    cpdef bytes utf8(self):
        return self.text.encode() if isinstance(self.text, str) else self.text


cdef bint is_encodable(object text) noexcept:
    """Whether a str has no lone surrogate. Most have none, and this is quicker than to catch an exception."""
    cdef Py_ssize_t n
    if utf8_or_null(text, &n) == NULL:
        PyErr_Clear()
        return False
    return True


cdef TextInput read_text(object text, object policy, str invalid):
    cdef TextInput made = TextInput.__new__(TextInput)
    if invalid != "error" and invalid != "replace":
        raise TokenizerError("invalid must be error or replace")
    if type(text) is str and is_encodable(text):
        made.text = text
        made.replaced = b""
    elif isinstance(text, (str, bytes)):
        made.text, made.replaced = well_formed(text, invalid)
    else:
        join_segments(made, segments_of(text), invalid)
        return made
    made.policy = policy
    return made


cdef int join_segments(TextInput made, list segments, str invalid) except -1:
    cdef bytes replaced = b"", part_replaced
    cdef list texts = []
    cdef Py_ssize_t end = 0, sent = 0
    cdef const uint8_t* p
    made.parts = []
    for segment in segments:
        joined, part_replaced = well_formed(segment.text, invalid)
        replaced += moved(part_replaced, sent)
        sent += bytes.__len__(segment.text) if isinstance(segment.text, bytes) else view_text(joined, &p)
        utf8 = joined.encode() if isinstance(joined, str) else joined
        end += len(utf8)
        texts.append(utf8)
        made.parts.append((end, segment.special))
    made.text = b"".join(texts)
    made.replaced = replaced
    return 0
