"""Ids as they come from Python: any iterable of integers, or a buffer of them, checked against a vocabulary.

Cost: 1 ns an id of a contiguous buffer of native 4- or 8-byte integers, 8 ns where it is a Python int.
"""

from cpython.buffer cimport (
    PyBUF_FULL_RO,
    PyBuffer_IsContiguous,
    PyBuffer_Release,
    PyObject_CheckBuffer,
    PyObject_GetBuffer,
)
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int32_t, int64_t

from operator import index as as_int

from tokenwire_core.errors import IdOutOfRangeError

from tokenwire_core.vocab cimport PRESENT, TW_NO_ID


cdef inline uint32_t checked(const uint8_t* flags, uint32_t vocab_size, int64_t value) noexcept nogil:
    """`value` as an id, or TW_NO_ID where the vocabulary has none."""
    if value < 0 or value >= vocab_size or not flags[value] & PRESENT:
        return TW_NO_ID
    return <uint32_t>value


cdef Py_ssize_t convert_objects(const uint8_t* flags, uint32_t vocab_size, tuple ids, uint32_t* out) except -2:
    """Write ids to out. Returns the index of the first that is none, or -1."""
    cdef Py_ssize_t i
    cdef int overflow
    cdef int64_t value
    for i in range(PyTuple_GET_SIZE(ids)):
        item = <object>PyTuple_GET_ITEM(ids, i)
        if type(item) is not int:
            item = as_int(item)
        value = PyLong_AsLongLongAndOverflow(item, &overflow)
        out[i] = checked(flags, vocab_size, -1 if overflow else value)
        if out[i] == TW_NO_ID:
            return i
    return -1


cdef Py_ssize_t convert_integers(
    const uint8_t* flags,
    uint32_t vocab_size,
    const void* data,
    Py_ssize_t n,
    size_t itemsize,
    bint signed,
    uint32_t* out,
) noexcept nogil:
    """As convert_objects, for n integers of 4 or 8 bytes. An unsigned one above 2**63 reads as negative."""
    cdef Py_ssize_t i
    cdef int64_t value
    for i in range(n):
        if itemsize == 8:
            value = (<const int64_t*>data)[i]
        elif signed:
            value = (<const int32_t*>data)[i]
        else:
            value = (<const uint32_t*>data)[i]
        out[i] = checked(flags, vocab_size, value)
        if out[i] == TW_NO_ID:
            return i
    return -1


cdef int make_room(Ids* taken, Py_ssize_t n) except -1:
    taken.n = n
    taken.p = taken.small
    if n > N_SMALL:
        taken.p = <uint32_t*>PyMem_Malloc(n * sizeof(uint32_t))
        if taken.p == NULL:
            raise MemoryError
    return 0


cdef int take_ids(Ids* taken, object ids, const uint8_t* flags, uint32_t vocab_size) except -1:
    """Fill `taken`.

    Raises:
        IdOutOfRangeError: an id is negative, past the vocabulary or in a hole of it, of any size.
        TypeError: something in `ids` is no integer.
    """
    cdef Py_buffer view
    cdef tuple items
    cdef Py_ssize_t bad = -1
    cdef bint is_packed = False
    taken.p = NULL
    if PyObject_CheckBuffer(ids):
        PyObject_GetBuffer(ids, &view, PyBUF_FULL_RO)
        try:
            is_packed = (
                view.ndim == 1
                and PyBuffer_IsContiguous(&view, b"C")
                and view.format in (b"i", b"I", b"l", b"L", b"q", b"Q")
            )
            if is_packed:
                make_room(taken, view.shape[0])
                bad = convert_integers(
                    flags, vocab_size, view.buf, taken.n, view.itemsize, view.format[0] in b"ilq", taken.p
                )
        finally:
            PyBuffer_Release(&view)
    if not is_packed:
        items = tuple(ids)               # a list could change under an __index__ that runs Python
        make_room(taken, PyTuple_GET_SIZE(items))
        bad = convert_objects(flags, vocab_size, items, taken.p)
    if bad >= 0:
        raise IdOutOfRangeError(bad, vocab_size)
    return 0


cdef void drop_ids(Ids* taken) noexcept:
    if taken.p != taken.small:
        PyMem_Free(taken.p)
    taken.p = NULL
