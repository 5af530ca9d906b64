"""What every model can do: a piece to tokens.

The models are in `byte_bpe`, `char_bpe`, `unigram` and `wordpiece`; each is one compiled class with one method. A
token's place is in bytes of the piece, as the reference implementation has it.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint32_t

from tokenwire_core.errors import TokenizerError, UnknownTextError

from tokenwire_core.scratch cimport DONE, NO_MEMORY, UNKNOWN_TEXT, Scratch, free_scratch, new_scratch
from tokenwire_core.split cimport TEXT_PADDING


cdef int check(int status) except -1:
    if status == UNKNOWN_TEXT:
        raise UnknownTextError
    if status == NO_MEMORY:
        raise MemoryError
    if status != DONE:
        raise TokenizerError(f"a model ended with status {status}")
    return 0


cdef class Model:
    """A model of some family, made from its description in `pipeline` or `sentencepiece_spec`."""

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        return DONE

    def tokens(self, str piece not None, bint places=True) -> list[tuple[int, int, int]]:
        """The tokens of one piece, alone: (id, byte_start, byte_end) of each; without places (id, 0, 0).

        Raises:
            UnknownTextError, MemoryError
        """
        cdef Scratch* s = new_scratch()
        cdef bytes text = piece.encode()
        cdef size_t n = PyBytes_GET_SIZE(text), i
        cdef const uint8_t* p
        cdef int status = DONE
        if s == NULL:
            raise MemoryError
        try:
            text += bytes(TEXT_PADDING)
            p = <const uint8_t*>PyBytes_AS_STRING(text)
            s.keep = True
            s.tracing = places
            if n:
                with nogil:
                    status = self.encode(s, p, n)
            check(status)
            if not places:
                return [(s.ids[i], 0, 0) for i in range(s.n_ids)]
            return [
                (s.ids[i], (<uint32_t*>s.starts.p)[i], (<uint32_t*>s.ends.p)[i]) for i in range(s.n_ids)
            ]
        finally:
            free_scratch(s)

    def ids(self, list pieces not None, bint keep=True) -> list[int] | int:
        """The ids of pieces as if they were those of one text: the word cache knows those that come again.

        Not kept, they are counted.

        Raises:
            UnknownTextError, MemoryError
        """
        cdef Scratch* s = new_scratch()
        cdef bytes text
        cdef size_t i, n
        if s == NULL:
            raise MemoryError
        try:
            s.keep = keep
            for piece in pieces:
                text = piece.encode() + bytes(TEXT_PADDING)
                if piece:
                    n = PyBytes_GET_SIZE(text) - TEXT_PADDING
                    check(self.encode(s, <const uint8_t*>PyBytes_AS_STRING(text), n))
            return [s.ids[i] for i in range(s.n_ids)] if keep else s.n_ids
        finally:
            free_scratch(s)
