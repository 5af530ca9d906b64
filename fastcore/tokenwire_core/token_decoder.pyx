"""Ids to bytes and text by tables, all at once or as they arrive.

Most tokenizers give each token a text of its own, and another one where it comes first: a row of a table each. What
that leaves to do is a matter of bytes that are no whole characters (`Joining`), and sometimes of the ends of the text,
which a filter looks after. `decoders` makes the tables.

Cost: 4 ns an id as bytes and 6 to 12 as text, 9 more where it comes as a Python int; a push of one id 0.1
microseconds, 0.5 with a filter.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove

from tokenwire_core.errors import ArtifactError, TextTooLongError, TokenizerError

from tokenwire_core.ids cimport Ids, drop_ids, take_ids
from tokenwire_core.scratch cimport reserve
from tokenwire_core.utf8 cimport first_ill_formed, ill_formed_length
from tokenwire_core.vocab cimport CONTROL, PRESENT, Vocab

cdef extern from "Python.h":
    str PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    str PyUnicode_DecodeUTF8Stateful(const char*, Py_ssize_t, const char*, Py_ssize_t*)

cdef enum:
    GIL_IDS = 512            # from here on the GIL is released
    HELD_BYTES = 1 << 20     # the most that a stream holds back

MAX_HELD_BYTES = HELD_BYTES
JOININGS = {"lossy text": LOSSY_TEXT, "byte runs": BYTE_RUNS, "single bytes": SINGLE_BYTES}


cdef inline bint put(Buffer* out, size_t* n, const uint8_t* p, size_t size) noexcept nogil:
    """Append to the n bytes in out; p is readable 16 bytes from its start. False when memory ran out."""
    if out.capacity < n[0] + size + 16 and not reserve(out, n[0] + size + 16):
        return False
    if size <= 16:
        memcpy(<uint8_t*>out.p + n[0], p, 16)      # two instructions; what is too much is overwritten
    else:
        memcpy(<uint8_t*>out.p + n[0], p, size)
    n[0] += size
    return True


cdef bint put_replacements(Buffer* out, size_t* n, size_t count) noexcept nogil:
    """Append U+FFFD `count` times."""
    cdef size_t i
    cdef uint8_t* p
    if out.capacity < n[0] + 3 * count and not reserve(out, n[0] + 3 * count):
        return False
    p = <uint8_t*>out.p + n[0]
    for i in range(count):
        memcpy(p + 3 * i, b"\xef\xbf\xbd", 3)
    n[0] += 3 * count
    return True


cdef Py_ssize_t character(const uint8_t* p, size_t n) noexcept nogil:
    """The size of the character at p[:n], n > 0; 0 where there is none, -1 where more bytes may make one."""
    cdef size_t size = first_ill_formed(p, n, 0)
    if size:
        return size
    if ill_formed_length(p, n, 0) == n and 0xC2 <= p[0] <= 0xF4:
        return -1
    return 0


cdef bint take_byte(Joining joining, DecodeState* s, uint8_t byte, Buffer* out, size_t* n) noexcept nogil:
    """A token of one byte: what is certain by it is written, the rest waits."""
    cdef uint8_t* p
    cdef Py_ssize_t size
    if s.is_ill_formed:
        return put_replacements(out, n, 1)
    if not reserve(&s.waiting, s.n_waiting + 17):
        return False
    p = <uint8_t*>s.waiting.p
    p[s.n_waiting] = byte
    s.n_waiting += 1
    if joining == BYTE_RUNS:
        size = character(p + s.n_whole, s.n_waiting - s.n_whole)
        if size > 0:
            s.n_whole += size
        elif size == 0:
            s.is_ill_formed = True
            size = s.n_waiting
            s.n_waiting = s.n_whole = 0
            return put_replacements(out, n, size)
        return True
    while s.n_waiting:
        size = character(p, s.n_waiting)
        if size < 0:
            break
        if not (put(out, n, p, size) if size else put_replacements(out, n, 1)):
            return False
        size = max(size, 1)
        s.n_waiting -= size
        memmove(p, p + size, s.n_waiting)
    return True


cdef bint end_run(Joining joining, DecodeState* s, Buffer* out, size_t* n) noexcept nogil:
    """No byte follows: what waits is written."""
    cdef size_t n_waiting = s.n_waiting
    cdef bint is_text = joining == BYTE_RUNS and s.n_whole == n_waiting and n_waiting > 0
    s.n_waiting = s.n_whole = 0
    s.is_ill_formed = False
    if is_text:
        return put(out, n, <const uint8_t*>s.waiting.p, n_waiting)
    return put_replacements(out, n, n_waiting)


cdef void begin(DecodeState* s, const DecodeTable* t) noexcept nogil:
    """Before the first id; `waiting` keeps its memory."""
    s.first = t.first
    s.is_ill_formed = False
    s.n_waiting = s.n_whole = 0


cdef bint join(
    const DecodeTable* t,
    DecodeState* s,
    const uint32_t* ids,
    Py_ssize_t n_ids,
    bint skip_special,
    bint raw,
    Buffer* out,
    size_t* n,
) noexcept nogil:
    """Append what ids give. `raw`: tokens of one byte give it as it is. False when memory ran out."""
    cdef uint8_t skipped = CONTROL if skip_special else 0
    cdef uint8_t of_byte = 0 if raw else ONE_BYTE
    cdef uint8_t flags
    cdef const uint32_t* row
    cdef Py_ssize_t i
    for i in range(n_ids):
        flags = t.flags[ids[i]]
        if flags & skipped:
            continue
        row = t.starts + ids[i] + s.first
        if flags & of_byte:
            s.first = 0
            if not take_byte(t.joining, s, t.blob[row[0]], out, n):
                return False
            continue
        if (s.n_waiting or s.is_ill_formed) and not end_run(t.joining, s, out, n):
            return False
        if not put(out, n, t.blob + row[0], row[1] - row[0]):
            return False
        if row[1] > row[0] or not flags & STAYS_FIRST:
            s.first = 0
    return True


@cython.final
cdef class TokenDecoder:
    """What ids stand for. Immutable, and safe to use from many threads at once.

    Made by `decoders`. Arguments and errors that the methods share:

        ids: an iterable of int; fastest is a contiguous buffer of native 4- or 8-byte integers.
        skip_special: leave out special tokens.

        IdOutOfRangeError: an id is negative, past the vocabulary or in a hole of it, of any size.
        TypeError: something in `ids` is no integer.
    """

    def __dealloc__(self):
        if self.owns_table:
            free(<void*>self.table.blob)
            free(<void*>self.table.starts)
            free(<void*>self.table.flags)

    @property
    def vocab_size(self) -> int:
        """The highest id + 1."""
        return self.table.vocab_size

    cdef int run(self, object ids, bint skip_special, bint raw, Buffer* out) except -1:
        """All that ids give in `out`, to be freed; its capacity is its size."""
        cdef Ids taken
        cdef DecodeState s
        cdef size_t n = 0
        cdef bint is_done = False
        begin(&s, &self.table)
        s.waiting.p = out.p = NULL
        s.waiting.capacity = out.capacity = 0
        try:
            take_ids(&taken, ids, self.table.flags, self.table.vocab_size)
            if taken.n < GIL_IDS:
                is_done = join(&self.table, &s, taken.p, taken.n, skip_special, raw, out, &n)
            elif reserve(out, 4 * taken.n):
                with nogil:
                    is_done = join(&self.table, &s, taken.p, taken.n, skip_special, raw, out, &n)
        finally:
            drop_ids(&taken)
        is_done = is_done and end_run(self.table.joining, &s, out, &n)
        free(s.waiting.p)
        if not is_done:
            free(out.p)
            raise MemoryError
        out.capacity = n
        return 0

    cdef object filtered(self, object text, bint raw):
        filter = self.new_filter(raw, None)
        return filter.push(text) + filter.flush()

    def decode_bytes(self, ids, bint skip_special=False) -> bytes:
        """The bytes that `ids` stand for, which need not be well-formed UTF-8.

        Of a byte-level tokenizer those of its tokens, joined. Of others the UTF-8 of `decode`, except that tokens of
        one byte give that byte, also where `decode` has U+FFFD for it; what the decoder does to the ends of the text
        is done around such bytes. With a SentencePiece denormalizer, which works on text, just the UTF-8 of `decode`.
        """
        cdef Buffer out
        cdef bytes joined
        if self.new_filter is not None and self.table.joining == SINGLE_BYTES:
            return self.decode(ids, skip_special).encode()
        self.run(ids, skip_special, True, &out)
        try:
            joined = PyBytes_FromStringAndSize(<char*>out.p, out.capacity)
        finally:
            free(out.p)
        if self.new_filter is None:
            return joined
        return self.filtered(joined.decode("utf-8", "surrogateescape"), True).encode("utf-8", "surrogateescape")

    def decode(self, ids, bint skip_special=False) -> str:
        """The text that `ids` stand for, as the format's reference implementation gives it."""
        cdef Buffer out
        cdef str text
        self.run(ids, skip_special, False, &out)
        try:
            text = PyUnicode_DecodeUTF8(<char*>out.p, out.capacity, b"replace")
        finally:
            free(out.p)
        return text if self.new_filter is None else self.filtered(text, False)

    def stream(self, bint skip_special=False) -> TokenStream:
        """A new `TokenStream`, for ids that arrive bit by bit."""
        cdef TokenStream stream = TokenStream.__new__(TokenStream)
        stream.decoder = self
        stream.skip_special = skip_special
        stream.renew()
        return stream


cdef inline bint starts_surrogate(const uint8_t* p, size_t n) noexcept:
    """Whether p[:n] is what Python holds back for the sake of `surrogatepass`, though it is no part of a character."""
    return n == 2 and p[0] == 0xED and p[1] >= 0xA0


@cython.final
cdef class TokenStream:
    """Text of ids that arrive bit by bit: all that `push` returns and then `flush`, joined, is the text of all ids.

    What is certain is returned at once; held back is only what later ids can change: bytes that may still become a
    character (of a tokenizer.json with byte fallback all byte tokens in a row, since one that fits to no character
    makes U+FFFD of each), and what the decoder does to the ends of the text. A stream belongs to one thread at a time.
    """

    def __dealloc__(self):
        free(self.state.waiting.p)

    cdef void renew(self) except *:
        begin(&self.state, &self.decoder.table)
        self.filter = None
        if self.decoder.new_filter is not None:
            self.filter = self.decoder.new_filter(False, MAX_HELD_BYTES)

    def push(self, ids) -> str:
        """The text that is certain after these ids. Cost: linear in `ids`, whatever came before.

        Raises:
            IdOutOfRangeError, TypeError: as decoding all at once; nothing of `ids` is taken then.
            TextTooLongError: what is held back is over 1 MiB. The stream is then as new.
        """
        cdef const DecodeTable* t = &self.decoder.table
        cdef Ids taken
        cdef Buffer out
        cdef size_t n = 0, n_waiting
        cdef Py_ssize_t n_decoded
        cdef str text
        out.p = NULL
        out.capacity = 0
        try:
            take_ids(&taken, ids, t.flags, t.vocab_size)
            # Not without the GIL: a stream that threads share by mistake must not break memory.
            if t.joining == LOSSY_TEXT and self.state.n_waiting:
                n_waiting = self.state.n_waiting
                self.state.n_waiting = 0
                if not put(&out, &n, <const uint8_t*>self.state.waiting.p, n_waiting):
                    raise MemoryError
            if not join(t, &self.state, taken.p, taken.n, self.skip_special, False, &out, &n):
                raise MemoryError
            if t.joining != LOSSY_TEXT:
                text = PyUnicode_DecodeUTF8(<char*>out.p, n, b"replace")
            else:
                text = PyUnicode_DecodeUTF8Stateful(<char*>out.p, n, b"replace", &n_decoded)
                if starts_surrogate(<const uint8_t*>out.p + n_decoded, n - n_decoded):
                    text += "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
                    n_decoded = n
                self.hold(<const uint8_t*>out.p + n_decoded, n - n_decoded)
        finally:
            drop_ids(&taken)
            free(out.p)
        try:
            if self.state.n_waiting > HELD_BYTES and t.joining == BYTE_RUNS:
                raise TextTooLongError(self.state.n_waiting, HELD_BYTES)
            return text if self.filter is None else self.filter.push(text)
        except TokenizerError:
            self.renew()
            raise

    cdef int hold(self, const uint8_t* p, size_t n) except -1:
        if n and not reserve(&self.state.waiting, n + 16):
            raise MemoryError
        if n:
            memcpy(self.state.waiting.p, p, n)
        self.state.n_waiting = n
        return 0

    def flush(self) -> str:
        """The rest, of a stream that has ended. The stream is then as new."""
        cdef Buffer out
        cdef size_t n = 0
        cdef str text
        out.p = NULL
        out.capacity = 0
        if self.decoder.table.joining == LOSSY_TEXT:
            text = PyUnicode_DecodeUTF8(<char*>self.state.waiting.p, self.state.n_waiting, b"replace")
        else:
            try:
                if not end_run(self.decoder.table.joining, &self.state, &out, &n):
                    raise MemoryError
                text = PyUnicode_DecodeUTF8(<char*>out.p, n, b"replace")
            finally:
                free(out.p)
        try:
            return text if self.filter is None else self.filter.push(text) + self.filter.flush()
        finally:
            self.renew()


def byte_level_decoder(Vocab vocab not None) -> TokenDecoder:
    """A decoder of the tokens of `vocab`, whose tables it shares; its control tokens are the special ones."""
    cdef TokenDecoder decoder = TokenDecoder.__new__(TokenDecoder)
    decoder.owner = vocab
    decoder.table.joining = LOSSY_TEXT
    decoder.table.vocab_size = vocab.tables.vocab_size
    decoder.table.blob = vocab.tables.blob
    decoder.table.starts = vocab.tables.starts
    decoder.table.flags = vocab.tables.flags
    return decoder


def table_decoder(
    list rows, list first_rows, str joining, *, special_ids=(), byte_ids=(), staying_ids=(), new_filter=None
) -> TokenDecoder:
    """A decoder by tables.

    Args:
        rows: by id the bytes that it gives, None in holes.
        first_rows: the same of ids that come first, or None where it is no different.
        joining: one of JOININGS.
        special_ids: what `skip_special` leaves out.
        byte_ids: tokens of one byte.
        staying_ids: those that leave the next token the first one if they give nothing.
        new_filter: makes what all text goes through. It takes whether there are lone surrogates for bytes that are no
            text, and how much may be held back in bytes, or None; its result has `push(text)` and `flush()`.

    Raises:
        ArtifactError: TOO_LARGE: the rows are 1 GiB or more.
    """
    cdef TokenDecoder decoder = TokenDecoder.__new__(TokenDecoder)
    cdef DecodeTable* t = &decoder.table
    cdef list all_rows = rows + (first_rows or [])
    cdef size_t i, at = 0, n_bytes = 0, n_rows = len(all_rows)
    cdef uint32_t* starts
    cdef uint8_t* blob
    cdef uint8_t* flags
    for row in all_rows:
        n_bytes += PyBytes_GET_SIZE(row) if row is not None else 0
    if n_bytes >> 30:
        raise ArtifactError("TOO_LARGE", "the texts of its tokens have 1 GiB or more")
    decoder.owns_table = True
    t.joining = JOININGS[joining]
    t.vocab_size = len(rows)
    t.first = len(rows) if first_rows else 0
    t.blob = blob = <uint8_t*>calloc(n_bytes + 16, 1)
    t.starts = starts = <uint32_t*>calloc(n_rows + 1, sizeof(uint32_t))
    t.flags = flags = <uint8_t*>calloc(t.vocab_size + 1, 1)
    if blob == NULL or starts == NULL or flags == NULL:
        raise MemoryError
    for i in range(n_rows):
        starts[i] = <uint32_t>at
        row = all_rows[i]
        if row is None:
            continue
        memcpy(blob + at, PyBytes_AS_STRING(row), PyBytes_GET_SIZE(row))
        at += PyBytes_GET_SIZE(row)
        if i < t.vocab_size:
            flags[i] = PRESENT
    starts[n_rows] = <uint32_t>at
    for ids, flag in ((special_ids, CONTROL), (byte_ids, ONE_BYTE), (staying_ids, STAYS_FIRST)):
        for i in ids:
            if i < t.vocab_size:
                flags[i] |= flag
    decoder.new_filter = new_filter
    return decoder
