# How one family of tokenizers turns a text into tokens.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.scratch cimport Scratch
from tokenwire_core.special cimport ControlMatcher
from tokenwire_core.vocab cimport Vocab

cdef enum:
    GIL_BYTES = 2048         # texts from here on are worth releasing the GIL for

cdef class Engine:
    cdef readonly dict control_tokens     # spelling to id
    cdef ControlMatcher controls          # of all of them
    cdef Vocab vocab                      # of models that take bytes: the bytes of each id
    cdef dict spellings                   # of other models: the same
    cdef readonly list integers           # by id: the id, so that a list of ids makes no new numbers
    cdef readonly object decoder          # a decoders.Decoder
    cdef readonly size_t n_unreachable    # entries that no merges lead to
    cdef readonly bint runs_regex         # pieces are found by the `regex` module
    cdef readonly object max_text_bytes   # the longest text, or None
    # `vocab`, where the tokens of every text follow each other in it byte for byte: places are then running sums of
    # the lengths that it knows.
    cdef readonly Vocab tiling
    # The same of every text that no normalizer changes.
    cdef readonly Vocab tiling_as_sent

    # Whether a number is an id of the tokenizer.
    cpdef bint has(self, id) except -1
    # The bytes of an id that it has: of byte-level models what it stands for, of others its spelling.
    cpdef bytes bytes_of(self, uint32_t id)
    # What `encode` takes for a set of control tokens that may come from the text, or all for None.
    cdef object allowing(self, object spellings)
    # Append the tokens of s.text[start:end], a text of its own, to s; with s.tracing their places in s.text. `allowed`:
    # from `allowing`, or None. Stops once there are more than `limit`.
    cdef int encode(self, Scratch* s, size_t start, size_t end, object allowed, uint64_t limit) except -1
    # The same of a text, not empty, in which no control token is looked for.
    cdef int encode_run(self, Scratch* s, size_t start, size_t end, uint64_t limit) except -1
    # Prepare the caches of a new scratch.
    cdef void seed(self, Scratch* s) noexcept
    # The control tokens that are spelled in s.text[start:end]: (id, start, end) in order.
    cdef list find(self, Scratch* s, size_t start, size_t end)

# Raise what a Status says.
cdef int check(Scratch* s, int status) except -1

# The number of the next piece of a text that is traced.
cdef inline uint32_t next_word(const Scratch* s) noexcept nogil:
    return (<const uint32_t*>s.words.p)[s.n_ids - 1] + 1 if s.tracing and s.n_ids else 0
