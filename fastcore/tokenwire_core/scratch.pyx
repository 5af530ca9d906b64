"""What one running call writes to: its text, its tokens, its caches and buffers.

An encoder keeps a few of these and gives one to each call, so that a call allocates little and two calls share nothing.
The word cache outlives the call: it knows words of one encoder. An idle scratch holds its caches, 6 MiB, and buffers of
about 1 MiB each at most.
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from tokenwire_core.aligned cimport Stretch, free_aligned
from tokenwire_core.bpe cimport free_merge_scratch
from tokenwire_core.long_pieces cimport free_long_pieces
from tokenwire_core.split cimport TEXT_PADDING
from tokenwire_core.vocab cimport tw_new_table


cdef Scratch* new_scratch() noexcept nogil:
    cdef Scratch* s = <Scratch*>calloc(1, sizeof(Scratch))
    if s == NULL:
        return NULL
    s.cache = <WordSlot*>tw_new_table((<size_t>2 << CACHE_BITS) * sizeof(WordSlot))
    if s.cache == NULL:
        free(s)
        return NULL
    return s


cdef void free_scratch(Scratch* s) noexcept nogil:
    free(s.cache)
    free_long_pieces(&s.long_pieces)
    free(s.text)
    free(s.ids)
    free_merge_scratch(&s.merge)
    free_buffers(s, 0)
    free(s)


cdef void trim_scratch(Scratch* s) noexcept nogil:
    """Free what a large text has left behind."""
    if s.text_capacity > KEEP_BYTES:
        free(s.text)
        s.text = NULL
        s.text_capacity = 0
    if s.ids_capacity * sizeof(uint32_t) > KEEP_BYTES:
        free(s.ids)
        s.ids = NULL
        s.ids_capacity = 0
    if s.merge.tree_capacity * sizeof(uint64_t) > KEEP_BYTES:
        free_merge_scratch(&s.merge)
    free_buffers(s, KEEP_BYTES)


cdef void free_buffers(Scratch* s, size_t above) noexcept nogil:
    """Free the buffers of more than `above` bytes."""
    cdef size_t i
    free_buffer(&s.starts, above)
    free_buffer(&s.ends, above)
    free_buffer(&s.words, above)
    for i in range(2):
        if s.normalized[i].capacity > above or s.normalized[i].stretches_capacity * sizeof(Stretch) > above:
            free_aligned(&s.normalized[i])
        if s.pre_tokenized[i].capacity > above or s.pre_tokenized[i].stretches_capacity * sizeof(Stretch) > above:
            free_aligned(&s.pre_tokenized[i])
        free_buffer(&s.ranges[i], above)
    for i in range(N_WORK):
        free_buffer(&s.work[i], above)


cdef void free_buffer(Buffer* buffer, size_t above) noexcept nogil:
    if buffer.capacity > above:
        free(buffer.p)
        buffer.p = NULL
        buffer.capacity = 0


cdef bint hold_text(Scratch* s, const uint8_t* text, size_t n) noexcept nogil:
    cdef size_t capacity = n + TEXT_PADDING
    if s.text_capacity < capacity:
        capacity += capacity >> 2
        free(s.text)
        s.text = <uint8_t*>malloc(capacity)
        s.text_capacity = capacity if s.text != NULL else 0
        if s.text == NULL:
            return False
    memcpy(s.text, text, n)
    memset(s.text + n, 0, TEXT_PADDING)
    return True


cdef bint reserve(Buffer* buffer, size_t n_bytes) noexcept nogil:
    cdef void* grown
    if buffer.capacity >= n_bytes:
        return True
    n_bytes += n_bytes >> 1
    grown = realloc(buffer.p, n_bytes)
    if grown == NULL:
        return False
    buffer.p = grown
    buffer.capacity = n_bytes
    return True


cdef bint reserve_tokens(Scratch* s, size_t n) noexcept nogil:
    cdef void* grown
    if s.ids_capacity < n:
        n += n >> 1
        grown = realloc(s.ids, n * sizeof(uint32_t))
        if grown == NULL:
            return False
        s.ids = <uint32_t*>grown
        s.ids_capacity = n
    if not s.tracing:
        return True
    n = s.ids_capacity * sizeof(uint32_t)
    return reserve(&s.starts, n) and reserve(&s.ends, n) and reserve(&s.words, n)
