"""The ids of one text and where they stand in it.

Byte spans need no work while encoding: the bytes of byte-level tokens follow each other in the text, so they are the
running sum of the tokens' lengths. Two things break the sum and are noted as they happen: text that a pattern does not
match and the reference leaves out, and ill-formed bytes that were replaced. Other units are one more pass over the
text. Everything is computed when it is asked for.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_ITEM, PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc

from tokenwire_core.utf8 cimport to_sent


cdef Encoding new_encoding(Vocab vocab, const uint32_t* ids, size_t n, object text, list resyncs, bytes replaced):
    cdef Encoding e = Encoding.__new__(Encoding)
    e.vocab = vocab
    e.packed = PyBytes_FromStringAndSize(<const char*>ids, n * sizeof(uint32_t))
    e.text = text
    e.resyncs = resyncs
    e.replaced = replaced
    return e


cdef list id_list(Vocab vocab, const uint32_t* ids, Py_ssize_t n):
    cdef list result = PyList_New(n)
    cdef Py_ssize_t i
    cdef PyObject* value
    for i in range(n):
        value = PyList_GET_ITEM(vocab.integers, ids[i])
        Py_INCREF(<object>value)
        PyList_SET_ITEM(result, i, <object>value)
    return result


cdef list to_list(const uint32_t* values, Py_ssize_t n):
    cdef list result = PyList_New(n)
    cdef Py_ssize_t i
    cdef object value
    for i in range(n):
        value = PyLong_FromUnsignedLong(values[i])
        Py_INCREF(value)
        PyList_SET_ITEM(result, i, value)
    return result


@cython.final
cdef class Encoding:
    """The ids of one text, and where they stand in it. Immutable.

    Attributes:
        ids: list of n ids. Made once; do not change it.
        ids_u32: the same as a read-only memoryview of format "I".
    """

    def __cinit__(self):
        self.packed = b""
        self.text = b""

    @property
    def ids(self) -> list[int]:
        if self.id_list is None:
            self.id_list = id_list(self.vocab, <const uint32_t*>PyBytes_AS_STRING(self.packed), len(self))
        return self.id_list

    @property
    def ids_u32(self) -> memoryview:
        return memoryview(self.packed).cast("I")

    @property
    def n_bytes(self) -> int:
        """How many bytes of UTF-8 the text has, after any replacement."""
        return PyBytes_GET_SIZE(self.utf8())

    def __len__(self):
        return PyBytes_GET_SIZE(self.packed) // <Py_ssize_t>sizeof(uint32_t)

    def __repr__(self):
        return f"<Encoding of {len(self)} tokens>"

    def spans(self, unit="byte", reference=False) -> tuple[list[int], list[int]]:
        """Where each token starts and ends, as two lists of n numbers in `unit`.

        Args:
            unit: `byte` of the UTF-8 as sent, `codepoint` or `utf16` code unit. In the last two a token covers
                every character it touches, so spans overlap where tokens share a character. Where ill-formed bytes
                were replaced, these two count in the repaired text.
            reference: spans as the format's reference implementation has them; for rank files these are the same.

        Raises:
            ValueError: an unknown unit.
        """
        cdef Py_ssize_t n = len(self)
        cdef uint32_t* starts
        if unit not in ("byte", "codepoint", "utf16"):
            raise ValueError(f"unit must be byte, codepoint or utf16, not {unit!r}")
        starts = <uint32_t*>malloc((2 * n + 1) * sizeof(uint32_t))
        if starts == NULL:
            raise MemoryError
        try:
            self.edges(starts, starts + n)
            if unit == "byte":
                if self.replaced:
                    to_sent(self.replaced, starts, n)
                    to_sent(self.replaced, starts + n, n)
            else:
                to_characters(self.utf8(), starts, n, 2 if unit == "utf16" else 1)
            return to_list(starts, n), to_list(starts + n, n)
        finally:
            free(starts)

    def offsets(self, unit="byte", reference=False) -> list[tuple[int, int]]:
        """As `spans`, as n pairs (start, end)."""
        return list(zip(*self.spans(unit, reference)))

    def partial_tokens(self) -> list[int]:
        """The indices of the tokens that begin or end inside a character."""
        cdef Py_ssize_t n = len(self), i
        cdef bytes utf8 = self.utf8()
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(utf8)
        cdef uint32_t* starts = <uint32_t*>malloc((2 * n + 1) * sizeof(uint32_t))
        if starts == NULL:
            raise MemoryError
        try:
            self.edges(starts, starts + n)
            # bytes end in a NUL, so p[len] may be read
            return [i for i in range(n) if (p[starts[i]] & 0xC0) == 0x80 or (p[starts[n + i]] & 0xC0) == 0x80]
        finally:
            free(starts)

    def token_bytes(self) -> list[bytes]:
        """The bytes of each token; not always whole characters."""
        cdef const uint32_t* ids = <const uint32_t*>PyBytes_AS_STRING(self.packed)
        cdef const uint32_t* at = self.vocab.tables.starts
        cdef const char* blob = <const char*>self.vocab.tables.blob
        cdef Py_ssize_t i
        return [
            PyBytes_FromStringAndSize(blob + at[ids[i]], at[ids[i] + 1] - at[ids[i]]) for i in range(len(self))
        ]

    cdef bytes utf8(self):
        if isinstance(self.text, str):
            return self.text.encode()
        return self.text

    cdef int edges(self, uint32_t* starts, uint32_t* ends) except -1:
        """The byte each token starts and ends at, in the text that was encoded."""
        cdef const uint32_t* ids = <const uint32_t*>PyBytes_AS_STRING(self.packed)
        cdef const uint32_t* at = self.vocab.tables.starts
        cdef Py_ssize_t n = len(self), i = 0, until
        cdef uint32_t position = 0
        for index, byte_start in [*(self.resyncs or ()), (n, 0)]:
            until = index
            while i < until:
                starts[i] = position
                position += at[ids[i] + 1] - at[ids[i]]
                ends[i] = position
                i += 1
            position = byte_start
        return 0


cdef int to_characters(bytes utf8, uint32_t* starts, Py_ssize_t n, int astral) except -1:
    """Turn byte edges (starts, then ends) into characters touched; a four-byte character counts `astral`."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(utf8)
    cdef uint32_t* ends = starts + n
    cdef Py_ssize_t i
    # `before` counts the characters that begin before `position`; the last of them is `width` wide.
    cdef uint32_t position = 0, before = 0, width = 0
    for i in range(n):
        while position <= starts[i]:
            if (p[position] & 0xC0) != 0x80:
                width = astral if p[position] >= 0xF0 else 1
                before += width
            position += 1
        starts[i] = before - width
    position = 0
    before = 0
    for i in range(n):
        while position < ends[i]:
            if (p[position] & 0xC0) != 0x80:
                before += astral if p[position] >= 0xF0 else 1
            position += 1
        ends[i] = before
    return 0
