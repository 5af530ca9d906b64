# The ids of one text and where they stand in it.
from libc.stdint cimport uint32_t

from tokenwire_core.vocab cimport Vocab

cdef class Encoding:
    cdef Vocab vocab
    cdef bytes packed            # ids as native uint32
    cdef object text             # what was encoded: well-formed str or bytes
    cdef list resyncs            # (index of a token, byte it starts at) wherever the text before was left out
    cdef bytes replaced          # the ill-formed parts that became U+FFFD, as utf8.repair gives them
    cdef list id_list

    cdef bytes utf8(self)
    cdef int edges(self, uint32_t* starts, uint32_t* ends) except -1

cdef Encoding new_encoding(Vocab vocab, const uint32_t* ids, size_t n, object text, list resyncs, bytes replaced)
