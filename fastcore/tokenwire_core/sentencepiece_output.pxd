# What SentencePiece's models give out: pieces, and what text without one becomes.
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core.aligned cimport TRACE_REFERENCE
from tokenwire_core.one_piece cimport put
from tokenwire_core.scratch cimport Scratch, reserve_tokens
from tokenwire_core.sentencepiece_rules cimport character_bytes
from tokenwire_core.trie cimport NO_VALUE
from tokenwire_core.vocab cimport WORD_IDS

# What text without a piece becomes.
cdef struct Fallback:
    uint32_t unk             # or NO_VALUE: the pieces of its bytes
    uint32_t byte_ids[256]

# The tokens of a text, on their way to a scratch.
cdef struct Output:
    Scratch* s
    const Fallback* fallback
    const uint8_t* p         # the text
    uint32_t* first          # since the last `open_output`
    uint32_t* next
    bint after_unknown       # the last one is the unknown piece, and takes unknown text that follows

cdef inline void begin_output(Output* o, Scratch* s, const Fallback* fallback, const uint8_t* p) noexcept nogil:
    o.s = s
    o.fallback = fallback
    o.p = p
    o.after_unknown = False

# Make room for the tokens of n bytes, and WORD_IDS more. Where they are only counted they have always the same place.
# False when memory ran out.
cdef inline bint open_output(Output* o, size_t n) noexcept nogil:
    cdef size_t first = o.s.n_ids if o.s.keep else 0
    if not reserve_tokens(o.s, first + n + WORD_IDS):
        return False
    o.first = o.next = o.s.ids + first
    return True

# Count what was put since then.
cdef inline void close_output(Output* o) noexcept nogil:
    o.s.n_ids += o.next - o.first

# Put the piece `id` for p[start:end].
cdef inline void put_piece(Output* o, size_t start, size_t end, uint32_t id) noexcept nogil:
    o.next = put(o.s, o.next, id, start, end)
    o.after_unknown = False

# Put what stands for p[start:end], which is no piece.
cdef void put_unknown(Output* o, size_t start, size_t end) noexcept nogil

cdef inline void put_cut(Output* o, size_t start, size_t end, uint32_t id) noexcept nogil:
    if id != NO_VALUE:
        put_piece(o, start, end, id)
    else:
        put_unknown(o, start, end)

cdef class FallbackTable:
    cdef Fallback fallback
