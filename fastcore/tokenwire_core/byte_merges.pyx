"""Byte-pair merging of a piece of bytes: what it begins with.

By the rule merging begins with single bytes. For ASCII that is what happens, and the merge of each two bytes comes
from a table of its own. Outside ASCII half of all merges only put characters together, so a character begins as what
its own bytes merge into, wherever `char_starts` has proven at load that this changes nothing: 8 to 9 characters in 10
(with cl100k's vocabulary of Chinese, Japanese, Russian or Arabic, all of Thai or Tamil, 7 of Korean), which leaves 1.0
to 1.8 symbols a character instead of two or three. That made new text of many languages twice as fast, and three times
Chinese. So it goes with emoji, and all else below U+20000, whose four bytes become two or one
(`python -m tests.bench --kind "1 MB"` races them).

**Runs of one byte**, the longest pieces there are, have a closed form. Tokens are the result if and only if all neighbours
are compatible (see `bpe`). So where two of the token T that a run begins with are what that many bytes merge into, and a
shorter run that differs from the long one by whole Ts begins with T too, T is repeated in front of the latter.

Cost: linear, a look into two tables for each character; the rest is `bpe`.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp, memmove

from tokenwire_core.bpe cimport (
    ID_LIMIT,
    LONG_SYMBOLS,
    SHORT_SYMBOLS,
    key_of_merge,
    merge_by_keys,
    merge_long_ids,
    merge_many_ids,
)
from tokenwire_core.utf8 cimport char_bytes
from tokenwire_core.vocab cimport TW_NO_ID

cdef enum:
    SAMPLE_BYTES = 256       # longer than nearly every token of one byte repeated


cdef inline size_t merge_single_bytes(const ByteTables* t, const uint8_t* p, size_t n, uint32_t* out) noexcept nogil:
    cdef int32_t keys[SHORT_SYMBOLS]
    cdef size_t i
    for i in range(n - 1):
        out[i] = t.byte_ids[p[i]]
        keys[i] = key_of_merge(t.byte_pairs[<uint32_t>p[i] << 8 | p[i + 1]], i)
    out[n - 1] = t.byte_ids[p[n - 1]]
    return merge_by_keys(t.merges, out, keys, n)


cdef inline uint32_t character_at(const uint8_t* p, size_t n, size_t* size) noexcept nogil:
    """The character that the n bytes at p begin with, or TW_NO_ID where that is ill-formed."""
    cdef uint32_t c = p[0]
    size[0] = char_bytes(p[0])
    if c < 0x80:
        return c
    if c < 0xC2 or c >= 0xF8 or n < size[0] or (p[1] & 0xC0) != 0x80:
        return TW_NO_ID
    if c < 0xE0:
        return (c & 0x1F) << 6 | (p[1] & 0x3F)
    if (p[2] & 0xC0) != 0x80:
        return TW_NO_ID
    if c < 0xF0:
        c = (c & 0x0F) << 12 | <uint32_t>(p[1] & 0x3F) << 6 | (p[2] & 0x3F)
        return c if c >= 0x800 else TW_NO_ID
    if (p[3] & 0xC0) != 0x80:
        return TW_NO_ID
    c = (c & 0x07) << 18 | <uint32_t>(p[1] & 0x3F) << 12 | <uint32_t>(p[2] & 0x3F) << 6 | (p[3] & 0x3F)
    return c if c >= 0x10000 else TW_NO_ID


cdef size_t begin_with_characters(const ByteTables* t, const uint8_t* p, size_t n, uint32_t* out) noexcept nogil:
    """`begin`, 0 if p[:n] is ill-formed."""
    cdef size_t i = 0, j, k = 0, start, size, joined
    cdef uint32_t entry, left = 0, char = 0, right = character_at(p, n, &size)
    while i < n:
        start = i
        i += size
        left = char
        char = right
        if char == TW_NO_ID:
            return 0
        if i < n:
            right = character_at(p + i, n - i, &size)
        entry = t.chars[char] if 0x80 <= char < N_CHARS else SINGLE
        if entry & HAS_LEFT_EDGES and start and has_edge(t, left, char, True):
            entry = SINGLE
        if entry & HAS_END_EDGES and start and has_end_edge(t, left, char):
            entry = SINGLE
        if entry & HAS_RIGHT_EDGES and i < n and has_edge(t, char, right, False):
            entry = SINGLE
        if entry != SINGLE:
            joined = start + (entry >> BEFORE_SHIFT & 3)
            for j in range(start, joined):
                out[k] = t.byte_ids[p[j]]
                k += 1
            out[k] = entry & (ID_LIMIT - 1)
            k += 1
            start = joined + (entry >> JOINED_SHIFT & 7)
        for j in range(start, i):
            out[k] = t.byte_ids[p[j]]
            k += 1
    return k


cdef size_t begin(const ByteTables* t, const uint8_t* p, size_t n, uint32_t* out) noexcept nogil:
    """Write the symbols that merging begins with to out. Returns how many."""
    cdef size_t i, k = begin_with_characters(t, p, n, out) if t.chars != NULL else 0
    if k:
        return k
    for i in range(n):
        out[i] = t.byte_ids[p[i]]
    return n


cdef inline bint is_ascii(const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t i
    cdef uint8_t bits = 0
    for i in range(n):
        bits |= p[i]
    return bits < 0x80


cdef Py_ssize_t merge_any(
    const ByteTables* t, MergeScratch* scratch, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil:
    cdef size_t k
    cdef Py_ssize_t n_out
    if n <= SHORT_SYMBOLS and (t.chars == NULL or is_ascii(p, n)):
        return <Py_ssize_t>merge_single_bytes(t, p, n, out)
    k = begin(t, p, n, out)
    if k > LONG_SYMBOLS:
        n_out = merge_long_ids(t.merges, scratch, out, k)
        if n_out:
            return n_out
        k = begin(t, p, n, out)
    return merge_many_ids(t.merges, scratch, out, k)


cdef Py_ssize_t merge_run(
    const ByteTables* t, MergeScratch* scratch, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil:
    """Merge n > 4 * SAMPLE_BYTES equal bytes. Returns how many ids there are, 0 if this cannot tell, -1 as above."""
    cdef Py_ssize_t k = merge_any(t, scratch, p, SAMPLE_BYTES, out)
    cdef uint32_t id
    cdef size_t size, tail, n_before, i
    if k < 0:
        return k
    id = out[0]
    size = t.starts[id + 1] - t.starts[id]
    if size > SAMPLE_BYTES:
        return 0
    k = merge_any(t, scratch, p, 2 * size, out)
    if k < 0:
        return k
    if k != 2 or out[0] != id or out[1] != id:
        return 0
    tail = 2 * size + n % size
    k = merge_any(t, scratch, p, tail, out)
    if k < 0:
        return k
    if out[0] != id:
        return 0
    n_before = (n - tail) // size
    memmove(out + n_before, out, k * sizeof(uint32_t))
    for i in range(n_before):
        out[i] = id
    return <Py_ssize_t>n_before + k


cdef Py_ssize_t merge_bytes(
    const ByteTables* t, MergeScratch* scratch, const uint8_t* p, size_t n, uint32_t* out
) noexcept nogil:
    cdef Py_ssize_t k = 0
    if n > 4 * SAMPLE_BYTES and memcmp(p, p + 1, n - 1) == 0:
        k = merge_run(t, scratch, p, n, out)
    return k if k else merge_any(t, scratch, p, n, out)
