"""How one family of tokenizers turns a text into tokens: what engines have in common.

There is one for each format: `rank_engine`, `pipeline_engine`, `sentencepiece_engine`. An engine never changes after
construction, so any number of threads may use one; what a call writes to is the scratch that it is given.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize

from tokenwire_core import regex_split
from tokenwire_core.errors import NormalizedTooLongError, PatternTooSlowError, UnknownTextError

from tokenwire_core.scratch cimport GREW_TOO_LONG, NO_MEMORY, TOO_SLOW, UNKNOWN_TEXT


cdef bytes bytes_of(Vocab vocab, uint32_t id):
    cdef const uint32_t* at = vocab.tables.starts + id
    return PyBytes_FromStringAndSize(<const char*>vocab.tables.blob + at[0], at[1] - at[0])


cdef int check(Scratch* s, int status) except -1:
    if status == NO_MEMORY:
        raise MemoryError
    if status == UNKNOWN_TEXT:
        raise UnknownTextError
    if status == GREW_TOO_LONG:
        raise NormalizedTooLongError
    if status == TOO_SLOW:
        raise PatternTooSlowError(regex_split.TIMEOUT_S)
    return 0


cdef class Engine:
    """The part of an encoder that depends on the artifact's format."""

    cpdef bytes bytes_of(self, uint32_t id):
        raise NotImplementedError

    cdef object allowing(self, object spellings):
        raise NotImplementedError

    cdef int encode(self, Scratch* s, size_t start, size_t end, object allowed, uint64_t limit) except -1:
        raise NotImplementedError

    cdef list find(self, Scratch* s, size_t start, size_t end):
        raise NotImplementedError
