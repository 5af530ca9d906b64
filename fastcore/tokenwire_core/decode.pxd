# Ids to bytes and text.
from tokenwire_core.vocab cimport Vocab

# The bytes that ids (an iterable or a buffer of integers) stand for.
cpdef bytes decode_ids(Vocab vocab, object ids, bint skip_special)

cdef class Decoder:
    cdef Vocab vocab
    cdef bint skip_special
    cdef bytes pending           # at most 3 bytes that begin a character
