"""SentencePiece's normalizer: what its models see of a text, as `reference_sentencepiece_normalizer.py` defines it.

Most bytes begin no user-defined symbol, no key of the charsmap and are no blanks; runs of them are copied. Many ASCII
letters do begin keys, but only such that go on with a combining mark, so a byte's class says what may follow it. All
else is looked at one by one.

Places by our rule (TRACE_SPANS): what the charsmap replaced covers its whole key; a run of blanks of which one is left
is covered by that one; blanks that are removed at the ends are covered by nobody; a dummy blank is empty, at its
place; symbols are text like any other. Places of the reference (TRACE_REFERENCE) are where the source of each byte
begins: all bytes of a replacement or a symbol have one place, and behind the last byte there is one more, for the end.

Cost: about 1 ns a byte of English, 5 ns a character that may begin a key.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset, strlen

from tokenwire_core.sentencepiece_spec import PieceType

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
from tokenwire_core.split cimport TEXT_PADDING

cdef enum:
    MAX_KEY_MATCHES = 32     # the library looks at no more keys at one place, the shortest first
    PLAIN_BYTES = 512        # of plain text are written between looks at the room there is
    FREE_BYTES = 1 << 20     # a text may grow to this,
    MAX_GROWTH = 16          # or to so many times its bytes

cdef const uint8_t* REPLACEMENT = b"\xef\xbf\xbd"


cdef enum Kind:
    CHARACTER = 0            # itself
    SYMBOL = 1               # itself
    REPLACED = 2             # by a key, or as part of no character

# What stands for the `taken` bytes of text that begin at a place.
cdef struct Found:
    const uint8_t* p
    size_t n
    size_t taken
    Kind kind


cdef inline uint32_t offset(uint32_t unit) noexcept nogil:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)


cdef inline uint32_t longest_key(const uint32_t* units, const uint8_t* p, size_t n, size_t* taken) noexcept nogil:
    """Where the replacement of the longest key at p is; `taken` are the bytes of the key, 0 where there is none."""
    cdef uint32_t place = offset(units[0]), index, unit, value = 0
    cdef size_t i
    cdef int n_matches = 0
    taken[0] = 0
    for i in range(n):
        index = place ^ p[i]
        unit = units[index]
        if unit & 0x800000FFu != p[i]:
            break
        place = index ^ offset(unit)
        if unit & 1 << 8:
            value = units[place] & 0x7FFFFFFFu
            taken[0] = i + 1
            n_matches += 1
            if n_matches == MAX_KEY_MATCHES:
                break
    return value


cdef inline void find(const NormalizerTables* t, const uint8_t* p, size_t n, Found* found) noexcept nogil:
    """What stands for what begins at p; n >= 1 bytes are text."""
    cdef uint32_t value
    found.p = p
    found.kind = SYMBOL
    if t.symbols.exist:
        found.taken = longest_symbol(&t.symbols, p, n)
        if found.taken:
            found.n = found.taken
            return
    if t.units != NULL:
        value = longest_key(t.units, p, n, &found.taken)
        if found.taken:
            found.p = t.replacements + value
            found.n = strlen(<const char*>found.p)
            found.kind = REPLACED
            return
    if p[0] & 0xC0 == 0x80:              # a key has taken the begin of a character
        found.p = REPLACEMENT
        found.n = 3
        found.taken = 1
        found.kind = REPLACED
        return
    found.kind = CHARACTER
    found.taken = found.n = character_bytes(p[0])


cdef inline uint32_t code_point(const uint8_t* p) noexcept nogil:
    """Of a character of two or three bytes."""
    if p[0] < 0xE0:
        return <uint32_t>(p[0] & 0x1F) << 6 | (p[1] & 0x3F)
    return <uint32_t>(p[0] & 0xF) << 12 | <uint32_t>(p[1] & 0x3F) << 6 | (p[2] & 0x3F)


cdef inline bint is_looked_at(const NormalizerTables* t, const uint8_t* p) noexcept nogil:
    """Whether something that is more than one byte may begin a symbol or a key."""
    cdef uint32_t c
    if p[0] >= 0xF0:
        return t.looks_at_others
    c = code_point(p)
    return t.looked_at[c >> 6] >> (c & 63) & 1


cdef size_t end_of_plain(const NormalizerTables* t, const uint8_t* p, size_t n, size_t at) noexcept nogil:
    """The end of the characters from `at` on that begin nothing and are no blanks."""
    while at < n:
        if p[at] < 0x80:
            if t.classes[p[at]] & (BLANK | BEFORE_ASCII | (p[at + 1] >> 6 & BEFORE_OTHERS)):
                break
        elif is_looked_at(t, p + at):
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
                kind = t.classes[c]
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
            elif is_looked_at(t, p + at):
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
            find(t, p + at, n - at, &found)
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
        find(t, p + at, n - at, &found)
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
        cdef Py_buffer units
        rules = model.normalizer
        self.symbols = SymbolTable(model)
        self.charsmap = rules.charsmap
        t.symbols = self.symbols.symbols
        if rules.charsmap is not None:
            # The array of a Charsmap is never resized, and `self.charsmap` keeps it.
            PyObject_GetBuffer(rules.charsmap.units, &units, PyBUF_SIMPLE)
            t.units = <const uint32_t*>units.buf
            PyBuffer_Release(&units)
            t.replacements = <const uint8_t*>PyBytes_AS_STRING(rules.charsmap.replacements)
        space = "\u2581".encode() if rules.escape_whitespaces else b" "
        t.space_bytes = len(space)
        memcpy(t.space, PyBytes_AS_STRING(space), t.space_bytes)
        t.add_dummy_prefix = rules.add_dummy_prefix
        t.remove_extra_whitespaces = rules.remove_extra_whitespaces
        t.whitespace_is_suffix = rules.treat_whitespace_as_suffix
        t.looked_at = <uint64_t*>calloc(0x10000 >> 6, sizeof(uint64_t))
        if t.looked_at == NULL:
            raise MemoryError
        set_classes(t)

    def __dealloc__(self):
        free(self.tables.looked_at)

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


cdef class SymbolTable:
    """The user-defined symbols of a `SentencePieceModel`. Raises as `Trie`."""

    def __cinit__(self, model):
        # A NUL is in no table of the library.
        symbols = {
            piece.text.encode(): id_
            for id_, piece in enumerate(model.pieces)
            if piece.type is PieceType.USER_DEFINED and piece.text != "\0"
        }
        self.trie = Trie(symbols)
        self.symbols.exist = len(symbols) > 0
        self.symbols.nodes = self.trie.nodes
        self.symbols.root = self.trie.root


cdef void set_classes(NormalizerTables* t) noexcept:
    """Find out which characters may begin something."""
    cdef uint8_t utf8[4]
    cdef uint32_t c
    cdef unsigned after
    utf8[1] = 0
    for c in range(0x80):
        utf8[0] = <uint8_t>c
        t.classes[c] = BLANK if c == c" " else 0
        for after in range(256):
            utf8[1] = <uint8_t>after
            if begins_with(t, utf8, 1) == 2 or begins_with(t, utf8, 2):
                t.classes[c] |= BEFORE_ASCII if after < 0x80 else BEFORE_OTHERS
    for c in range(0x80, 0x10000):
        if c < 0x800:
            utf8[0] = <uint8_t>(0xC0 | c >> 6)
            utf8[1] = <uint8_t>(0x80 | c & 0x3F)
        else:
            utf8[0] = <uint8_t>(0xE0 | c >> 12)
            utf8[1] = <uint8_t>(0x80 | c >> 6 & 0x3F)
            utf8[2] = <uint8_t>(0x80 | c & 0x3F)
        if begins_with(t, utf8, 2 if c < 0x800 else 3):
            t.looked_at[c >> 6] |= <uint64_t>1 << (c & 63)
    for c in range(0xF0, 0xF5):
        utf8[0] = <uint8_t>c
        t.looks_at_others |= begins_with(t, utf8, 1) > 0


cdef int begins_with(const NormalizerTables* t, const uint8_t* p, size_t n) noexcept nogil:
    """2: some symbol or key is, or ends in, the n bytes at p; 1: some begin with them; 0: none."""
    cdef Node node = t.symbols.root
    cdef uint32_t place, index
    cdef size_t i
    cdef int found = 0
    if t.symbols.exist:
        found = 1
        for i in range(n):
            if not step(t.symbols.nodes, &node, p[i]):
                found = 0
                break
            if node.value != NO_VALUE:
                return 2
    if t.units == NULL:
        return found
    place = offset(t.units[0])
    for i in range(n):
        index = place ^ p[i]
        if t.units[index] & 0x800000FFu != p[i]:
            return found
        if t.units[index] & 1 << 8:
            return 2
        place = index ^ offset(t.units[index])
    return 1
