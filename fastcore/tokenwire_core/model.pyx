"""What every model can do: a piece to tokens.

The models are in `byte_bpe`, `char_bpe`, `unigram` and `wordpiece`; each is one compiled class with one method. A
token's place is in bytes of the piece, as the reference implementation has it.
"""

from tokenwire_core.scratch cimport DONE


cdef class Model:
    """A model of some family, made from its description in `pipeline` or `sentencepiece_spec`."""

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        return DONE
