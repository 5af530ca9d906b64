"""The ids of one text, or of a pair, and where they stand in it.

Where tokens follow each other in the text byte for byte, places need no work while encoding: they are the running sum
of the tokens' lengths. Elsewhere the text is encoded once more with places, when they are asked for: who wants ids
alone pays nothing for them. Other units are one more pass over the text.
"""

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_WRITABLE
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_ITEM, PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.memoryview cimport PyMemoryView_FromObject
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tokenwire_core.reference_offsets import in_unit, trimmed
from tokenwire_core.spec import PipelineSpec, RankFileSpec
from tokenwire_core.template import TextRun

from tokenwire_core.utf8 cimport to_sent
from tokenwire_core.vocab cimport Vocab, tw_prefetch

cdef const char* ID_FORMAT = "I"
cdef tuple UNITS = ("byte", "codepoint", "utf16")


cdef enum:
    AHEAD = 16               # how far ahead the objects of ids are fetched


cdef list id_list(list integers, const uint32_t* ids, Py_ssize_t n):
    """The ids as ints that there are already: 2 ns each, where a new one costs 12."""
    cdef list result = PyList_New(n)
    cdef Py_ssize_t i
    cdef PyObject* value
    for i in range(n):
        if i + AHEAD < n:
            tw_prefetch(PyList_GET_ITEM(integers, ids[i + AHEAD]))
        value = PyList_GET_ITEM(integers, ids[i])
        Py_INCREF(<object>value)
        PyList_SET_ITEM(result, i, <object>value)
    return result


cdef list to_list(const uint32_t* values, Py_ssize_t n):
    cdef list result = PyList_New(n)
    cdef Py_ssize_t i
    cdef object value
    for i in range(n):
        value = PyLong_FromUnsignedLong(values[i])
        Py_INCREF(value)
        PyList_SET_ITEM(result, i, value)
    return result


@cython.final
@cython.no_gc            # nothing that it refers to refers to it
@cython.freelist(8)
cdef class Encoding:
    """The ids of one text, and where they stand in it. Immutable.

    Of a pair, the ids of both texts; a token's place is in the text that it comes from. Tokens of the template have an
    empty place, where the token before them ends.

    It is a buffer of its ids, which `memoryview` and `numpy.frombuffer` take.

    Attributes:
        ids: list of n ids. Made once; do not change it.
        ids_u32: the same as a read-only memoryview of format "I".
    """

    def __cinit__(self):
        self.packed = b""

    def __getbuffer__(self, Py_buffer* view, int flags):
        """The ids as read-only uint32, native."""
        if flags & PyBUF_WRITABLE == PyBUF_WRITABLE:
            raise BufferError("the ids of an Encoding are read-only")
        self.n_ids = len(self)
        view.buf = PyBytes_AS_STRING(self.packed)
        view.obj = self
        view.len = PyBytes_GET_SIZE(self.packed)
        view.readonly = True
        view.itemsize = sizeof(uint32_t)
        view.format = <char*>ID_FORMAT if flags & PyBUF_FORMAT else NULL
        view.ndim = 1
        view.shape = &self.n_ids
        view.strides = &view.itemsize
        view.suboffsets = NULL
        view.internal = NULL

    @property
    def ids(self) -> list[int]:
        if self.id_list is None:
            self.id_list = id_list(self.integers, <const uint32_t*>PyBytes_AS_STRING(self.packed), len(self))
        return self.id_list

    @property
    def ids_u32(self) -> memoryview:
        return PyMemoryView_FromObject(self)

    @property
    def n_bytes(self) -> int:
        """How many bytes of UTF-8 the text, or both texts have, after any replacement."""
        return sum([len(each.utf8()) for each in self.inputs])

    @property
    def type_ids(self) -> list[int]:
        """For each token the number that the template gives to its text or to itself; 0 without a template."""
        cdef list result = []
        for run in self.layout:
            result += [run.type_id] * self._size(run)
        return result

    @property
    def sequence_ids(self) -> list[int | None]:
        """For each token which text it comes from, 0 or 1; None for those of the template."""
        cdef list result = []
        for run in self.layout:
            result += [run.text if isinstance(run, TextRun) else None] * self._size(run)
        return result

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens that the template has put in, 0 for all others."""
        return [int(sequence is None) for sequence in self.sequence_ids]

    @property
    def word_ids(self) -> list[int | None]:
        """For each token the number of its piece (pre-token) in its text; None for those of the template.

        Of SentencePiece models, which have no pre-tokenizer, all of a text is one piece, up to an allowed control token.
        """
        cdef list result = []
        for run in self.layout:
            if isinstance(run, TextRun):
                result += memoryview(self.trace(run.text, False)[2]).cast("I").tolist()
            else:
                result += [None] * len(run.ids)
        return result

    def __len__(self):
        return PyBytes_GET_SIZE(self.packed) // <Py_ssize_t>sizeof(uint32_t)

    def __repr__(self):
        return f"<Encoding of {len(self)} tokens>"

    def spans(self, unit="byte", reference=False) -> tuple[list[int], list[int]]:
        """Where each token starts and ends, as two lists of n numbers in `unit`.

        Args:
            unit: `byte` of the UTF-8 as sent, `codepoint` or `utf16` code unit. In the last two a token covers
                every character it touches, so spans overlap where tokens share a character. Where ill-formed bytes
                were replaced, these two count in the repaired text.
            reference: spans as the format's reference implementation has them, oddities included; those of rank files
                are the same. They refer to the text after any replacement.

        Raises:
            ValueError: an unknown unit.
            TokenizerError: the reference's spans are not known for this tokenizer.
        """
        cdef Py_ssize_t n = len(self), first = 0, size
        cdef uint32_t* starts
        cdef list all_starts = [], all_ends = []
        if unit not in UNITS:
            raise ValueError(f"unit must be byte, codepoint or utf16, not {unit!r}")
        if reference and not isinstance(self.encoder.spec, RankFileSpec):
            return self._reference_spans(unit)
        starts = <uint32_t*>malloc((2 * n + 1) * sizeof(uint32_t))
        if starts == NULL:
            raise MemoryError
        try:
            self.edges(starts, starts + n)
            for run in self.layout:
                size = self._size(run)
                source = self.inputs[run.text if isinstance(run, TextRun) else 0]
                if isinstance(run, TextRun):
                    if unit == "byte":
                        if source.replaced:
                            to_sent(source.replaced, starts + first, size)
                            to_sent(source.replaced, starts + n + first, size)
                    else:
                        to_characters(
                            source.utf8(), starts + first, starts + n + first, size, 2 if unit == "utf16" else 1
                        )
                elif first:
                    for i in range(size):
                        starts[first + i] = starts[n + first + i] = starts[n + first - 1]
                first += size
            return to_list(starts, n), to_list(starts + n, n)
        finally:
            free(starts)

    def offsets(self, unit="byte", reference=False) -> list[tuple[int, int]]:
        """As `spans`, as n pairs (start, end)."""
        return list(zip(*self.spans(unit, reference)))

    def partial_tokens(self) -> list[int]:
        """The indices of the tokens that begin or end inside a character."""
        cdef Py_ssize_t n = len(self), i, first = 0, size
        cdef bytes utf8
        cdef const uint8_t* p
        cdef list found = []
        cdef uint32_t* starts = <uint32_t*>malloc((2 * n + 1) * sizeof(uint32_t))
        if starts == NULL:
            raise MemoryError
        try:
            self.edges(starts, starts + n)
            for run in self.layout:
                size = self._size(run)
                if isinstance(run, TextRun):
                    utf8 = self.inputs[run.text].utf8()
                    p = <const uint8_t*>PyBytes_AS_STRING(utf8)
                    for i in range(first, first + size):
                        # bytes end in a NUL, so p[len] may be read
                        if (p[starts[i]] & 0xC0) == 0x80 or (p[starts[n + i]] & 0xC0) == 0x80:
                            found.append(i)
                first += size
            return found
        finally:
            free(starts)

    def token_bytes(self) -> list[bytes]:
        """The bytes of each token: of byte-level models what it stands for, not always whole characters; of others
        its spelling in the vocabulary."""
        return self.encoder.token_bytes(self.ids_u32)

    def tally(self):
        """How many tokens belong to each script, and how many stand for what the vocabulary lacks: a `Tally`."""
        return self.encoder.tally_of(self)

    def _size(self, run):
        """How many tokens a run of the layout has."""
        return self.sizes[run.text] if isinstance(run, TextRun) else len(run.ids)

    cdef tuple trace(self, int text, bint reference):
        """Starts and ends in bytes of the text that was encoded, and piece numbers: of each the packed uint32."""
        key = (text, reference)
        if self.traces is None:
            self.traces = {}
        if key not in self.traces:
            traced = self.encoder.trace(self.inputs[text], reference)
            if len(traced[0]) != self.sizes[text] * sizeof(uint32_t):
                raise AssertionError("a text had another number of tokens when it was encoded with places")
            self.traces[key] = traced
        return self.traces[key]

    def _reference_spans(self, unit):
        cdef list starts = [], ends = [], ids
        for run in self.layout:
            if not isinstance(run, TextRun):
                starts += [0] * len(run.ids)
                ends += [0] * len(run.ids)
                continue
            ids = self.ids[len(starts) : len(starts) + self.sizes[run.text]]
            utf8 = self.inputs[run.text].utf8()
            packed_starts, packed_ends, _ = self.trace(run.text, True)
            places = list(zip(memoryview(packed_starts).cast("I"), memoryview(packed_ends).cast("I")))
            placed = in_unit(utf8, places, unit)
            if isinstance(self.encoder.spec, PipelineSpec):
                placed = trimmed(self.encoder.spec.pipeline, utf8, places, ids, placed)
            else:
                # What is empty at the end, as the blank behind a text, is no corner of sentencepiece.
                ((_, n_units),) = in_unit(utf8, [(0, len(utf8))], unit)
                placed = [(min(start, n_units), min(end, n_units)) for start, end in placed]
            starts += [start for start, _ in placed]
            ends += [end for _, end in placed]
        return starts, ends

    cdef int edges(self, uint32_t* starts, uint32_t* ends) except -1:
        """The byte each token starts and ends at, in the text that was encoded; the template's are at 0."""
        cdef const uint32_t* ids = <const uint32_t*>PyBytes_AS_STRING(self.packed)
        cdef const uint32_t* lengths
        cdef Py_ssize_t i = 0, end
        cdef uint32_t position
        cdef Vocab vocab = self.encoder.engine.tiling
        for run in self.layout:
            end = i + self._size(run)
            position = 0
            if not isinstance(run, TextRun):
                while i < end:
                    starts[i] = ends[i] = 0
                    i += 1
            elif vocab is not None:
                lengths = vocab.tables.starts
                while i < end:
                    starts[i] = position
                    position += lengths[ids[i] + 1] - lengths[ids[i]]
                    ends[i] = position
                    i += 1
            else:
                packed_starts, packed_ends, _ = self.trace(run.text, False)
                memcpy(starts + i, PyBytes_AS_STRING(packed_starts), (end - i) * sizeof(uint32_t))
                memcpy(ends + i, PyBytes_AS_STRING(packed_ends), (end - i) * sizeof(uint32_t))
                i = end
        return 0


cdef int to_characters(bytes utf8, uint32_t* starts, uint32_t* ends, Py_ssize_t n, int astral) except -1:
    """Turn byte edges into characters touched; a four-byte character counts `astral`."""
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(utf8)
    cdef Py_ssize_t n_bytes = PyBytes_GET_SIZE(utf8), i
    cdef uint32_t at, count = 0
    cdef uint32_t* before = <uint32_t*>malloc((n_bytes + 1) * sizeof(uint32_t))   # what begins before each byte
    if before == NULL:
        raise MemoryError
    with nogil:
        for i in range(n_bytes):
            before[i] = count
            if (p[i] & 0xC0) != 0x80:
                count += astral if p[i] >= 0xF0 else 1
        before[n_bytes] = count
        for i in range(n):
            at = starts[i]
            while (p[at] & 0xC0) == 0x80:
                at -= 1
            starts[i] = before[at]
            ends[i] = before[ends[i]]
    free(before)
    return 0
