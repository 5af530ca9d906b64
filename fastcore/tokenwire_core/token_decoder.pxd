# Ids to bytes and text by tables: of each id its bytes, and what they mean beside others.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.scratch cimport Buffer

# What stands between bytes and text.
cdef enum Joining:
    LOSSY_TEXT = 0           # the bytes of all tokens are one text: U+FFFD for each maximal ill-formed part
    BYTE_RUNS = 1            # tokens are text but for tokens of one byte; U+FFFD for each of a run that is ill-formed
    SINGLE_BYTES = 2         # the same, but U+FFFD only for those that are part of no character

# Flags of an id, beside PRESENT and CONTROL of vocab.
cdef enum:
    ONE_BYTE = 4             # a token of one byte, in any joining but LOSSY_TEXT
    STAYS_FIRST = 8          # where it comes first and gives nothing, the next token comes first, too

cdef struct DecodeTable:
    Joining joining
    uint32_t vocab_size      # highest id + 1
    uint32_t first           # id + first is the row of what an id gives as the first token; 0 where that is the same
    const uint8_t* blob      # what all rows give, readable 16 bytes past the end
    const uint32_t* starts   # where in blob each row begins, then the end
    const uint8_t* flags     # per id

# Where decoding stands between two ids.
cdef struct DecodeState:
    uint32_t first           # added to the next id: table.first or 0
    bint is_ill_formed       # the open run of bytes is, and what it gives is written
    Buffer waiting           # bytes that are not written since what follows decides what they are
    size_t n_waiting
    size_t n_whole           # how many of them are whole characters

cdef class TokenDecoder:
    cdef DecodeTable table
    cdef bint owns_table     # not told by `owner`: that is gone when the collector breaks a cycle
    cdef object owner        # of the memory in table, where that is not the decoder itself
    cdef object new_filter
    cdef int run(self, object ids, bint skip_special, bint raw, Buffer* out) except -1
    cdef object filtered(self, object text, bint raw)

cdef class TokenStream:
    cdef TokenDecoder decoder
    cdef DecodeState state
    cdef bint skip_special
    cdef object filter
    cdef void renew(self) except *
    cdef int hold(self, const uint8_t* p, size_t n) except -1
