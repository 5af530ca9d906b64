"""SentencePiece's normalizer: what its models see of a text, as `reference_sentencepiece_normalizer.py` defines it.

Most characters stand for themselves; runs of them are copied, and blanks written between them, without a look at what
else might stand there. All others are looked at one by one (`sentencepiece_rules`).

Places by our rule (TRACE_SPANS): what the charsmap replaced covers its whole key; a run of blanks of which one is left
is covered by that one; blanks that are removed at the ends are covered by nobody; a dummy blank is empty, at its
place; symbols are text like any other. Places of the reference (TRACE_REFERENCE) are where the source of each byte
begins: all bytes of a replacement or a symbol have one place, and behind the last byte there is one more, for the end.

Cost: about 1 ns a byte of English, 5 ns a character that may begin a key.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint32_t
from libc.string cimport memcmp, memcpy, memset

from tokenwire_core.aligned cimport (
    SAME,
    TRACE_REFERENCE,
    TRACE_SPANS,
    Stretch,
    begin,
    finish,
    free_aligned,
    put_at,
    put_same,
    reserve_text,
    view_of,
)
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY
from tokenwire_core.sentencepiece_rules cimport (
    BEFORE_ASCII,
    BEFORE_OTHERS,
    BLANK,
    CHARACTER,
    REPLACED,
    SYMBOL,
    Found,
    character_bytes,
    find,
    is_looked_at,
)
from tokenwire_core.split cimport TEXT_PADDING

cdef enum:
    PLAIN_BYTES = 512        # of plain text are written between looks at the room there is
    FREE_BYTES = 1 << 20     # a text may grow to this,
    MAX_GROWTH = 16          # or to so many times its bytes



cdef size_t end_of_plain(const NormalizerTables* t, const uint8_t* p, size_t n, size_t at) noexcept nogil:
    """The end of the characters from `at` on that begin nothing and are no blanks."""
    while at < n:
        if p[at] < 0x80:
            if t.rules.classes[p[at]] & (BLANK | BEFORE_ASCII | (p[at + 1] >> 6 & BEFORE_OTHERS)):
                break
        elif is_looked_at(&t.rules, p + at):
            break
        at += character_bytes(p[at])
    return at


cdef size_t copy_plain(
    const NormalizerTables* t, const uint8_t* p, size_t n, size_t at, Aligned* out, bint* after_blank
) noexcept nogil:
    """Write the characters from `at` on that begin nothing, without places, up to where this returns."""
    cdef uint8_t* q
    cdef uint8_t c, kind
    cdef uint32_t space, blank, last = after_blank[0], removes = t.remove_extra_whitespaces
    cdef size_t end, size
    cdef bint ends = False
    memcpy(&space, t.space, 4)
    while at < n and not ends:
        end = min(n, at + PLAIN_BYTES)
        if not reserve_text(out, 3 * PLAIN_BYTES + 3):
            return at
        q = out.text + out.n
        while at < end:
            c = p[at]
            if c < 0x80:
                kind = t.rules.classes[c]
                if kind & (BEFORE_ASCII | (p[at + 1] >> 6 & BEFORE_OTHERS)):
                    ends = True
                    break
                # No branch: where words end is not to be foreseen.
                blank = kind >> 2
                size = space if blank else c
                memcpy(q, &size, 4)
                q += (t.space_bytes if blank else 1) if not (blank & last & removes) else 0
                last = blank
                at += 1
            elif is_looked_at(&t.rules, p + at):
                ends = True
                break
            else:
                memcpy(q, p + at, 4)
                size = character_bytes(c)
                q += size
                at += size
                last = 0
        out.n = q - out.text
    after_blank[0] = last & removes
    return at


cdef inline const Stretch* stretch_from(const Aligned* a, size_t* k, size_t at) noexcept nogil:
    """The stretch of the byte at `at`, sought from number k on."""
    while k[0] + 1 < a.n_stretches and a.stretches[k[0] + 1].start <= at:
        k[0] += 1
    return &a.stretches[k[0]]


cdef inline uint32_t source_at(const Stretch* stretch, size_t at) noexcept nogil:
    return stretch.source + (<uint32_t>at - stretch.start if stretch.source_end == SAME else 0)


cdef void write(
    const NormalizerTables* t, Aligned* out, const uint8_t* p, size_t n, uint32_t source, uint32_t source_end
) noexcept nogil:
    """Append n bytes with blanks as they are written, all standing for one place; or for SAME, byte by byte."""
    cdef size_t i, run
    cdef uint32_t at, until
    i = 0
    while i < n and not out.no_memory:
        run = 0
        while i + run < n and p[i + run] != c" ":
            run += 1
        if run:
            put_at(out, p + i, run, source + <uint32_t>i if source_end == SAME else source, source_end)
            i += run
        else:
            at = source + <uint32_t>i if source_end == SAME else source
            until = at + 1 if source_end == SAME else source_end
            put_at(out, t.space, t.space_bytes, at, until)
            i += 1


cdef void widen(const Aligned* text, uint32_t base, uint32_t* source, uint32_t* source_end) noexcept nogil:
    """Make a place that of whole characters."""
    while source[0] > base and text.text[source[0] - base] & 0xC0 == 0x80:
        source[0] -= 1
    while source_end[0] - base < text.n and text.text[source_end[0] - base] & 0xC0 == 0x80:
        source_end[0] += 1


cdef void move_blank(const NormalizerTables* t, Aligned* out, uint32_t source, uint32_t source_end) noexcept nogil:
    """Give the blank that `out` ends with another place."""
    out.n -= t.space_bytes
    if out.stretches[out.n_stretches - 1].start == out.n:
        out.n_stretches -= 1
    put_at(out, t.space, t.space_bytes, source, source_end)


cdef void trim(const NormalizerTables* t, Aligned* out, uint32_t* end) noexcept nogil:
    """Remove the blanks at the end; `end` is where in the source they begin, if there are any."""
    cdef size_t n = out.n
    while n >= t.space_bytes and memcmp(out.text + n - t.space_bytes, t.space, t.space_bytes) == 0:
        n -= t.space_bytes
    if n == out.n:
        return
    end[0] = out.stretches[0].source if out.n_stretches else 0
    if out.n_stretches:
        while out.n_stretches > 1 and out.stretches[out.n_stretches - 1].start > n:
            out.n_stretches -= 1
        end[0] = source_at(&out.stretches[out.n_stretches - 1], n)
    out.n = n
    if out.n_stretches and out.stretches[out.n_stretches - 1].start == n:
        out.n_stretches -= 1


cdef int normalize(const NormalizerTables* t, const Aligned* text, Aligned* out) noexcept nogil:
    cdef const uint8_t* p = text.text
    cdef size_t n = text.n, at = 0, start, skip
    cdef uint32_t base = text.stretches[0].source if text.n_stretches else 0
    cdef uint32_t end = base + <uint32_t>n, source, source_end
    cdef uint32_t blank = SAME           # where the source of the blank that `out` ends with begins
    cdef size_t max_bytes = max(<size_t>FREE_BYTES, n * MAX_GROWTH)
    cdef bint after_blank = t.remove_extra_whitespaces, in_character = False
    cdef Found found
    begin(out, text.tracing)
    if t.remove_extra_whitespaces:
        while at < n:
            find(&t.rules, p + at, n - at, &found)
            if found.n != 1 or found.p[0] != c" ":
                break
            at += found.taken
    if at == n:
        return DONE if finish(out) else NO_MEMORY
    if t.add_dummy_prefix and not t.whitespace_is_suffix:
        put_at(out, t.space, t.space_bytes, base + <uint32_t>at, base + <uint32_t>at)
    while at < n:
        if not in_character:
            start = at
            if text.tracing:
                at = end_of_plain(t, p, n, at)
                if at > start:
                    put_same(out, text, start, at)
                    after_blank = False
            else:
                at = copy_plain(t, p, n, at, out, &after_blank)
            if at == n or out.no_memory:
                break
        find(&t.rules, p + at, n - at, &found)
        source = base + <uint32_t>at
        at += found.taken
        source_end = base + <uint32_t>at
        in_character = at < n and p[at] & 0xC0 == 0x80
        if found.kind == REPLACED and text.tracing == TRACE_SPANS:
            widen(text, base, &source, &source_end)
        skip = 0
        if after_blank:
            while skip < found.n and found.p[skip] == c" ":
                skip += 1
        if skip == found.n:
            if skip and blank != SAME and text.tracing == TRACE_SPANS:
                move_blank(t, out, blank, source_end)
            continue
        after_blank = t.remove_extra_whitespaces and found.p[found.n - 1] == c" "
        if found.kind == CHARACTER or (found.kind == SYMBOL and text.tracing == TRACE_SPANS):
            blank = source_end - 1
            write(t, out, found.p + skip, found.n - skip, source + <uint32_t>skip, SAME)
        else:
            blank = source
            write(t, out, found.p + skip, found.n - skip, source, source_end)
        if out.n > max_bytes:
            return GREW_TOO_LONG
    if t.remove_extra_whitespaces:
        trim(t, out, &end)
    if t.add_dummy_prefix and t.whitespace_is_suffix:
        put_at(out, t.space, t.space_bytes, end, end)
    if text.tracing == TRACE_REFERENCE:
        put_at(out, t.space, 1, end, end)        # the place behind the last byte
        out.n -= 1
    if out.n > max_bytes:
        return GREW_TOO_LONG
    return DONE if finish(out) else NO_MEMORY


cdef class SentencePieceNormalizer:
    """The normalizer of a `SentencePieceModel`.

    Raises:
        ArtifactError: as `Trie`.
        MemoryError
    """

    def __cinit__(self, model):
        cdef NormalizerTables* t = &self.tables
        rules = model.normalizer
        self.rules = RuleTable(model)
        t.rules = self.rules.rules
        space = "\u2581".encode() if rules.escape_whitespaces else b" "
        t.space_bytes = len(space)
        memcpy(t.space, PyBytes_AS_STRING(space), t.space_bytes)
        t.add_dummy_prefix = rules.add_dummy_prefix
        t.remove_extra_whitespaces = rules.remove_extra_whitespaces
        t.whitespace_is_suffix = rules.treat_whitespace_as_suffix

    cdef int run(self, Scratch* s, const Aligned* text, Aligned* out) noexcept nogil:
        return normalize(&self.tables, text, out)

    cdef void place(self, Scratch* s, const Aligned* normalized, size_t first) noexcept nogil:
        cdef uint32_t* starts = <uint32_t*>s.starts.p
        cdef uint32_t* ends = <uint32_t*>s.ends.p
        cdef const Stretch* stretch
        cdef size_t i, k = 0, last = 0
        for i in range(first, s.n_ids):
            if normalized.tracing == TRACE_REFERENCE:
                ends[i] = source_at(stretch_from(normalized, &last, ends[i]), ends[i])
            else:
                stretch = stretch_from(normalized, &last, ends[i] - 1)
                ends[i] = source_at(stretch, ends[i]) if stretch.source_end == SAME else stretch.source_end
            starts[i] = source_at(stretch_from(normalized, &k, starts[i]), starts[i])

    def normalized(self, bytes utf8, int tracing=0):
        """The normalized form of a well-formed text, and its stretches: start, source and end of source of each."""
        cdef Aligned whole, view, out
        cdef Stretch one
        cdef bytes padded = utf8 + bytes(TEXT_PADDING)
        cdef size_t i
        cdef int status
        memset(&whole, 0, sizeof(whole))
        memset(&out, 0, sizeof(out))
        whole.text = <uint8_t*>PyBytes_AS_STRING(padded)
        whole.n = len(utf8)
        whole.tracing = tracing
        view_of(&view, &one, &whole, 0, whole.n)
        try:
            with nogil:
                status = self.run(NULL, &view, &out)
            if status != DONE:
                raise MemoryError
            stretches = [
                (out.stretches[i].start, out.stretches[i].source, out.stretches[i].source_end)
                for i in range(out.n_stretches)
            ]
            return out.text[:out.n], stretches
        finally:
            free_aligned(&out)
