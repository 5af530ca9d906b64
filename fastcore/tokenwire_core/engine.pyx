"""How one family of tokenizers turns a text into tokens: what engines have in common.

There is one for each format: `rank_engine`, `pipeline_engine`, `sentencepiece_engine`. An engine never changes after
construction, so any number of threads may use one; what a call writes to is the scratch that it is given.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize

from tokenwire_core import regex_split
from tokenwire_core.errors import NormalizedTooLongError, PatternTooSlowError, UnknownTextError

from tokenwire_core.scratch cimport GREW_TOO_LONG, NO_MEMORY, TOO_SLOW, UNKNOWN_TEXT, append_token
from tokenwire_core.special cimport ControlMatch
from tokenwire_core.vocab cimport PRESENT


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
    """The part of an encoder that depends on the artifact's format.

    Control tokens are cut out of the text where they are allowed, leftmost first, then longest, and what lies between
    goes to `encode_run`. A tokenizer.json has rules of its own for that, so its engine does it all in `encode`.
    """

    def __init__(self, spec):
        self.control_tokens = {token: spec.special_tokens[token] for token in spec.control_tokens}
        self.controls = ControlMatcher(self.control_tokens)

    cpdef bint has(self, id) except -1:
        if self.vocab is None:
            return id in self.spellings
        return 0 <= id < self.vocab.tables.vocab_size and self.vocab.tables.flags[<uint32_t>id] & PRESENT

    cpdef bytes bytes_of(self, uint32_t id):
        cdef const uint32_t* at
        if self.vocab is None:
            return self.spellings[id]
        at = self.vocab.tables.starts + id
        return PyBytes_FromStringAndSize(<const char*>self.vocab.tables.blob + at[0], at[1] - at[0])

    cdef object allowing(self, object spellings):
        if spellings is None:
            return self.controls
        return ControlMatcher({token: self.control_tokens[token] for token in spellings})

    cdef void seed(self, Scratch* s) noexcept:
        pass

    cdef list find(self, Scratch* s, size_t start, size_t end):
        cdef ControlMatch match
        cdef list found = []
        while self.controls.find(s.text, end, start, &match):
            found.append((match.id, match.start, match.end))
            start = match.end
        return found

    cdef int encode(self, Scratch* s, size_t start, size_t end, object allowed, uint64_t limit) except -1:
        cdef ControlMatcher matcher = allowed
        cdef ControlMatch match
        cdef uint32_t word
        while matcher is not None and matcher.find(s.text, end, start, &match):
            if start < match.start:
                self.encode_run(s, start, match.start, limit)
            word = next_word(s)
            if not append_token(s, match.id, match.start, match.end):
                raise MemoryError
            if s.tracing:
                (<uint32_t*>s.words.p)[s.n_ids - 1] = word
            start = match.end
            if s.n_ids > limit:
                return 0
        if start < end:
            self.encode_run(s, start, end, limit)
        return 0

    cdef int encode_run(self, Scratch* s, size_t start, size_t end, uint64_t limit) except -1:
        raise NotImplementedError
