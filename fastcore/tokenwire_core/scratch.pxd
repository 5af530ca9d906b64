# What one running call writes to: its text, its tokens, its caches.
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenwire_core.aligned cimport Aligned
from tokenwire_core.bpe cimport MergeScratch
from tokenwire_core.long_pieces cimport LongPieces
from tokenwire_core.split cimport PIECES_PER_CHUNK, SPLIT_SLACK
from tokenwire_core.vocab cimport WordSlot

cdef extern from "caches.h" nogil:
    enum:
        CACHES "TW_CACHES"               # whether there are any
        CACHE_BITS "TW_CACHE_BITS"       # sets of two slots

cdef enum:
    CHUNK_CAPACITY = PIECES_PER_CHUNK + SPLIT_SLACK + 8
    KEEP_BYTES = 1 << 20     # buffers above this are freed when a scratch goes back
    N_WORK = 6

# How a step of a call ended.
cdef enum Status:
    DONE = 0
    NO_MEMORY = 1
    UNKNOWN_TEXT = 2         # a character that the model has no token for, not even an unknown one
    GREW_TOO_LONG = 3        # normalized, the text is over its bound
    TOO_SLOW = 4             # a pattern's timeout

cdef struct Buffer:
    void* p
    size_t capacity          # in bytes

# Half-open, in bytes.
cdef struct Range:
    uint32_t start
    uint32_t end

# Never shared while in use.
cdef struct Scratch:
    WordSlot* cache
    uint8_t* text            # a copy of the text with readable padding behind it
    size_t text_capacity
    # The tokens so far. With `tracing` (see aligned), `starts`, `ends` and `words` (the number of the piece) stand
    # beside the ids. Where ids are not kept they are only counted.
    size_t n_ids
    uint32_t* ids
    size_t ids_capacity
    bint keep
    int tracing
    bint is_rewritten        # a normalizer has changed the text, or may have
    Buffer starts
    Buffer ends
    Buffer words
    # For the stages of a pipeline.
    Aligned normalized[2]
    Aligned pre_tokenized[2]
    Buffer ranges[2]
    Buffer work[N_WORK]      # for whatever runs now: nobody's contents last from one step to the next
    double give_up_at_s      # when patterns time out, on the clock of time.thread_time
    MergeScratch merge
    uint32_t chunk_ends[CHUNK_CAPACITY]
    uint64_t key_lo[CHUNK_CAPACITY]
    uint64_t key_hi[CHUNK_CAPACITY]
    uint64_t hash[CHUNK_CAPACITY]
    LongPieces long_pieces   # none but for models that use them

cdef Scratch* new_scratch() noexcept nogil
cdef void free_scratch(Scratch* s) noexcept nogil
cdef void trim_scratch(Scratch* s) noexcept nogil
# Copy n bytes to s.text, zero padding behind; False when memory ran out.
cdef bint hold_text(Scratch* s, const uint8_t* text, size_t n) noexcept nogil
# Room for n_bytes in all; what is there stays.
cdef bint reserve(Buffer* buffer, size_t n_bytes) noexcept nogil
# Room for n tokens in all, kept or only written for a moment.
cdef bint reserve_tokens(Scratch* s, size_t n) noexcept nogil

# Append a token at start..end of the piece, in bytes. False when memory ran out.
cdef inline bint append_token(Scratch* s, uint32_t id, size_t start, size_t end) noexcept nogil:
    if s.keep:
        if s.n_ids + 1 > s.ids_capacity and not reserve_tokens(s, s.n_ids + 1):
            return False
        s.ids[s.n_ids] = id
        if s.tracing:
            (<uint32_t*>s.starts.p)[s.n_ids] = <uint32_t>start
            (<uint32_t*>s.ends.p)[s.n_ids] = <uint32_t>end
    s.n_ids += 1
    return True
