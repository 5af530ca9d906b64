# The ids of one text, or of a pair, and where they stand in it.
from libc.stdint cimport uint32_t

cdef class Encoding:
    cdef object encoder          # what made it
    cdef list integers           # by id: the id
    cdef bytes packed            # ids as native uint32
    cdef tuple inputs            # the Input of each text
    cdef tuple layout            # what the ids are made of, see template.Layout
    cdef tuple sizes             # how many tokens each text has
    cdef Py_ssize_t n_ids        # for a buffer's shape: how many, once one was asked for
    cdef bint is_rewritten       # a normalizer has changed one of them, or may have
    cdef list id_list
    cdef dict traces             # None, or (number of the text, reference): what Encoder.trace gave

    cdef tuple trace(self, int text, bint reference)
    cdef int edges(self, uint32_t* starts, uint32_t* ends) except -1
