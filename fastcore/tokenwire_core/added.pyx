"""Finding the added tokens of a tokenizer.json in a text: before everything else, in two passes.

First those that are looked for in the text as it came; then what lies between is normalized, and the others are looked
for there, in their own normalized spelling. In each pass they are found from the left, the longest where several begin
at one place. A token that does not count (a control token that the caller has not allowed, a `single_word` one inside a
word) is text, and so is all that is in it. `lstrip` and `rstrip` take the blanks beside it along.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdlib cimport calloc, free

from tokenwire_core.charset import perl_class

from tokenwire_core.special cimport ControlMatch
from tokenwire_core.unicode_class cimport SPACE, class_at, code_point_at


cdef class AddedTokens:
    """Of `tokens` (pipeline.AddedToken) with their `spellings`, the normalized ones normalized. Immutable.

    A token is known by its index in `tokens`.
    """

    def __cinit__(self, tokens, spellings):
        cdef size_t i
        cdef list edges = [edge for pair in perl_class("w").ranges for edge in pair]
        self.n_tokens = len(tokens)
        self.tokens = <AddedToken*>calloc(self.n_tokens + 1, sizeof(AddedToken))
        self.word_edges = <uint32_t*>calloc(len(edges) + 1, sizeof(uint32_t))
        if self.tokens == NULL or self.word_edges == NULL:
            raise MemoryError
        for i, token in enumerate(tokens):
            self.tokens[i].id = token.id
            self.tokens[i].special = token.special
            self.tokens[i].single_word = token.single_word
            self.tokens[i].lstrip = token.lstrip
            self.tokens[i].rstrip = token.rstrip
        self.n_word_edges = len(edges)
        for i in range(self.n_word_edges):
            self.word_edges[i] = edges[i]
        passes = [{}, {}]
        for index, (token, spelling) in enumerate(zip(tokens, spellings, strict=True)):
            passes[token.normalized][spelling] = index
        self.as_it_came, self.normalized = map(ControlMatcher, passes)

    def __dealloc__(self):
        free(self.tokens)
        free(self.word_edges)

    cdef bint find(
        self, int number, const uint8_t* text, size_t n, const uint8_t* allowed, Search* search
    ) noexcept nogil:
        cdef ControlMatch match
        cdef const AddedToken* token
        cdef size_t start, end, before, after
        while (
            self.normalized.find(text, n, search.next, &match) if number
            else self.as_it_came.find(text, n, search.next, &match)
        ):
            search.next = match.end
            token = &self.tokens[match.id]
            start = match.start
            end = match.end
            if not allowed[match.id]:
                continue
            if token.single_word:
                if start and self.is_word_at(text, character_before(text, start)):
                    continue
                if end < n and self.is_word_at(text, end):
                    continue
            if token.lstrip:
                while start > search.taken:
                    before = character_before(text, start)
                    if not class_at(text, before, &after) & SPACE:
                        break
                    start = before
                start = max(start, search.taken)
            if token.rstrip:
                # Blanks that were passed before are not passed again.
                if not search.blanks <= end < search.blanks_end:
                    search.blanks = search.blanks_end = end
                    while search.blanks_end < n and class_at(text, search.blanks_end, &after) & SPACE:
                        search.blanks_end = after
                end = search.blanks_end
            if start >= end:
                search.taken = end
                continue
            search.start = start
            search.end = end
            search.id = token.id
            return True
        return False

    cdef bint is_word_at(self, const uint8_t* text, size_t at) noexcept nogil:
        cdef size_t after, low = 0, high = self.n_word_edges, middle
        cdef uint32_t c = code_point_at(text, at, &after)
        while low < high:                # how many edges are at or before c
            middle = (low + high) >> 1
            if self.word_edges[middle] <= c:
                low = middle + 1
            else:
                high = middle
        return low & 1


cdef inline size_t character_before(const uint8_t* text, size_t at) noexcept nogil:
    at -= 1
    while (text[at] & 0xC0) == 0x80:
        at -= 1
    return at
