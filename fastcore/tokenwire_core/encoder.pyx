"""A compiled tokenizer: the pipeline from text to ids.

    text -> control tokens (special) -> pieces (split) -> ids (pieces: word cache, vocab, bpe) -> Encoding

An Encoder never changes after construction, so any number of threads may use one; what a call writes to is a scratch
taken from a small pool while the GIL is held and given back at its end. The GIL is released around texts of 2 KiB and
more; below that a release costs more than it gives. Cost: linear in the text and O(n log n) in the longest piece;
about 7 ns a byte of English, 50 of Russian or Chinese, whose pieces are long and not cached.
"""

from concurrent.futures import ThreadPoolExecutor
from operator import index as as_int

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core import truncate as truncation
from tokenwire_core.errors import (
    ControlTokenError,
    InvalidUtf8Error,
    TextTooLongError,
    TokenizerError,
    UnknownControlTokenError,
)
from tokenwire_core.regex_split import RegexSplitter
from tokenwire_core.segment import Segment
from tokenwire_core.utf8 import repair

from tokenwire_core.decode cimport Decoder, decode_ids
from tokenwire_core.encoding cimport Encoding, new_encoding
from tokenwire_core.pieces cimport (
    append_id,
    encode_pieces,
    free_scratch,
    hold_text,
    new_scratch,
    trim_scratch,
)
from tokenwire_core.special cimport ControlMatch
from tokenwire_core.split cimport pattern_id, split_chunk
from tokenwire_core.utf8 cimport first_ill_formed, moved, to_sent

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object, Py_ssize_t*) except NULL

cdef enum:
    GIL_BYTES = 2048                     # from here on the GIL is released
    MAX_TEXT_BYTES = (1 << 31) - 1       # positions are 32 bits wide

cdef uint64_t NO_LIMIT = 0xFFFFFFFFFFFFFFFF


cdef tuple well_formed(object text, str invalid):
    """The text as an exact str or bytes with nothing ill-formed in it, and what of it was replaced.

    A subclass could answer for its length or encoding as it likes, so it is made what it is a subclass of.
    """
    cdef Py_ssize_t n
    if isinstance(text, str):
        text = text if type(text) is str else str.__str__(text)
        try:
            PyUnicode_AsUTF8AndSize(text, &n)
        except UnicodeEncodeError as error:
            if invalid == "error":
                raise InvalidUtf8Error(len(text[: error.start].encode())) from None
            # A lone surrogate is one code point, so it becomes one U+FFFD; no bytes were sent, so nothing is mapped.
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), b""
        return text, b""
    if not isinstance(text, bytes):
        raise TypeError(f"text must be str, bytes or a sequence of Segment, not {type(text).__name__}")
    if type(text) is not bytes:
        text = PyBytes_FromStringAndSize(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    n = PyBytes_GET_SIZE(text)
    cdef size_t at = first_ill_formed(<const uint8_t*>PyBytes_AS_STRING(text), n, 0)
    if at == <size_t>n:
        return text, b""
    if invalid == "error":
        raise InvalidUtf8Error(at)
    return repair(text)


cdef list segments_of(object text):
    """The segments of a sequence of them."""
    cdef list segments = list(text) if isinstance(text, (list, tuple)) else None
    if segments is None or not all([isinstance(segment, Segment) for segment in segments]):
        raise TypeError(f"text must be str, bytes or a sequence of Segment, not {type(text).__name__}")
    return segments


cdef Py_ssize_t view(object text, const uint8_t** p) except -1:
    """The UTF-8 of a well-formed str or bytes, and its size."""
    cdef Py_ssize_t n
    if isinstance(text, str):
        p[0] = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
        return n
    p[0] = <const uint8_t*>PyBytes_AS_STRING(text)
    return PyBytes_GET_SIZE(text)


@cython.final
cdef class Encoder:
    """A compiled tokenizer: immutable, and safe to use from many threads at once.

    Made by `tokenwire_core.load`. Arguments that all methods on text share:

        text: str, bytes of UTF-8, or a sequence of `Segment`s, encoded so that nothing merges across their edges.
        special: what the spelling of a control token in the text becomes. `text`: ordinary text. `allow`: the control
            token. `reject`: an error. A frozenset of spellings: those become control tokens, the others stay text.
            A `Segment` has its own policy, and `special` does not concern it.
        add_special: add what the tokenizer's template puts around a text. Rank files have no template.
        invalid: ill-formed UTF-8 is an `error`, or each maximal part of it is `replace`d by U+FFFD.

    and the errors they share:

        InvalidUtf8Error, ControlTokenError, UnknownControlTokenError
        TextTooLongError: over 2 GiB, or over `max_text_bytes`.
        PatternTooSlowError: only where `splitter` is `regex`.
        TokenizerError: an option this tokenizer does not have.
    """

    def __cinit__(self, spec):
        self.spec = spec
        self.special_tokens = dict(spec.special_tokens)
        self.control_tokens = {token: spec.special_tokens[token] for token in spec.control_tokens}
        self.vocab = Vocab(spec.ranks, spec.special_tokens)
        self.merges = MergeTable(self.vocab)
        self.controls = ControlMatcher(self.control_tokens) if self.control_tokens else None
        self.pattern = pattern_id(spec.pattern)
        self.regex_splitter = RegexSplitter(spec.pattern) if self.pattern < 0 else None

    def __dealloc__(self):
        while self.n_pool:
            self.n_pool -= 1
            free_scratch(self.pool[self.n_pool])

    def __repr__(self):
        return f"<Encoder {self.spec.format} {self.spec.model} of {self.vocab_size} ids, digest {self.digest[:12]}>"

    @property
    def digest(self) -> str:
        """sha256 identity of everything that decides the ids, in hex."""
        return self.spec.digest

    @property
    def vocab_size(self) -> int:
        """The highest id + 1."""
        return self.vocab.tables.vocab_size

    @property
    def n_unreachable(self) -> int:
        """How many entries no merges lead to; they appear only where they are a whole piece."""
        return self.merges.n_unreachable

    @property
    def splitter(self) -> str:
        """How text is split into pieces: `compiled`, or `regex` for a pattern this version does not know."""
        return "regex" if self.pattern < 0 else "compiled"

    @property
    def max_text_bytes(self) -> int | None:
        """The longest text this tokenizer takes, in bytes, where that is less than what memory holds."""
        return self.regex_splitter.max_text_bytes if self.pattern < 0 else None

    def encode(self, text, pair=None, special="text", add_special=False, invalid="error"):
        """The ids of `text` and where they stand in it, as an `Encoding`."""
        cdef list resyncs = []
        cdef list parts
        cdef bytes replaced
        cdef Scratch* s
        if pair is not None:
            raise TokenizerError("this tokenizer has no template for a pair of texts; encode them one by one")
        joined, replaced, parts = self._parts(text, special, invalid)
        s = self.acquire()
        try:
            self.encode_parts(s, joined, parts, True, NO_LIMIT, resyncs, replaced)
            return new_encoding(self.vocab, s.ids, s.n_ids, joined, resyncs, replaced)
        finally:
            self.release(s)

    def encode_batch(self, texts, threads=1, special="text", add_special=False, invalid="error"):
        """`encode` of each text, as a list in the same order, on up to `threads` threads."""
        texts = list(texts)

        def encode(text):
            return self.encode(text, None, special, add_special, invalid)

        if threads <= 1 or len(texts) < 2:
            return [encode(text) for text in texts]
        with ThreadPoolExecutor(min(threads, len(texts))) as pool:
            return list(pool.map(encode, texts))

    def count(self, text, special="text", add_special=False, invalid="error", limit=None):
        """How many ids `encode` gives for the same arguments, without making them.

        Args:
            limit: stop as soon as there are more than this; the result is then some number above it.
        """
        cdef list resyncs = []
        cdef list parts
        cdef bytes replaced
        cdef Scratch* s
        if limit is not None and as_int(limit) < 0:
            raise TokenizerError("limit must be 0 or more")
        cdef uint64_t most = NO_LIMIT if limit is None else min(as_int(limit), MAX_TEXT_BYTES)
        joined, replaced, parts = self._parts(text, special, invalid)
        s = self.acquire()
        try:
            self.encode_parts(s, joined, parts, False, most, resyncs, replaced)
            return s.n_ids
        finally:
            self.release(s)

    def find_control_tokens(self, text, invalid="error"):
        """The spellings of control tokens in a str or bytes, leftmost-longest, whatever a policy makes of them.

        Returns:
            list of (spelling, id, byte_start, byte_end), in text order; positions are in the text as sent.
        """
        cdef const uint8_t* p
        cdef ControlMatch match
        cdef size_t at = 0, n
        cdef uint32_t edges[2]
        cdef list found = []
        cdef bytes replaced
        joined, replaced = well_formed(text, invalid)
        n = view(joined, &p)
        while self.controls is not None and self.controls.find(p, n, at, &match):
            at = match.end
            edges[0] = <uint32_t>match.start
            edges[1] = <uint32_t>match.end
            if replaced:
                to_sent(replaced, edges, 2)
            found.append((self._spelling(match.id), match.id, edges[0], edges[1]))
        return found

    def decode_bytes(self, ids, skip_special=False) -> bytes:
        """The bytes that `ids` stand for, which need not be well-formed UTF-8.

        Raises:
            IdOutOfRangeError: an id is negative, past the vocabulary or in a hole of it.
        """
        return decode_ids(self.vocab, ids, skip_special)

    def decode(self, ids, skip_special=False, reference=False) -> str:
        """`decode_bytes` as text; each maximal ill-formed part is one U+FFFD.

        Args:
            skip_special: leave control tokens out.
            reference: as the format's reference implementation; for rank files that is the same.
        """
        return decode_ids(self.vocab, ids, skip_special).decode("utf-8", "replace")

    def decoder(self, skip_special=False):
        """An incremental `Decoder` for ids that arrive bit by bit."""
        return Decoder(self.vocab, skip_special)

    def truncate(
        self, text, max_tokens, keep="start", cut="grapheme", ids_only=False, special="text", add_special=False,
        invalid="error",
    ):
        """The start or end of `text` that has at most `max_tokens` tokens; see `tokenwire_core.truncate`."""
        return truncation.truncate(self, text, max_tokens, keep, cut, ids_only, special, add_special, invalid)

    def _parts(self, text, special, invalid):
        """The joined well-formed text, what of it was replaced, and its parts: (byte_end, matcher, reject) of each."""
        cdef bytes replaced = b""
        cdef list parts = []
        cdef list texts
        cdef Py_ssize_t end = 0, sent = 0
        cdef const uint8_t* p
        if invalid not in ("error", "replace"):
            raise TokenizerError("invalid must be error or replace")
        if isinstance(text, (str, bytes)):
            joined, replaced = well_formed(text, invalid)
            return joined, replaced, [(view(joined, &p), *self.policy(special))]
        texts = []
        for segment in segments_of(text):
            joined, part_replaced = well_formed(segment.text, invalid)
            replaced += moved(part_replaced, sent)
            sent += bytes.__len__(segment.text) if isinstance(segment.text, bytes) else view(joined, &p)
            utf8 = joined.encode() if isinstance(joined, str) else joined
            end += len(utf8)
            texts.append(utf8)
            parts.append((end, *self.policy(segment.special)))
        return b"".join(texts), replaced, parts

    cdef tuple policy(self, object special):
        """What to look for, or None, and whether finding it is an error."""
        if special == "text":
            return None, False
        if special == "allow":
            return self.controls, False
        if special == "reject":
            return self.controls, True
        if not isinstance(special, (frozenset, set)):
            raise TokenizerError("special must be text, allow, reject or a frozenset of control tokens")
        if not special <= self.control_tokens.keys():
            raise UnknownControlTokenError(len(self.control_tokens))
        return (ControlMatcher({token: self.control_tokens[token] for token in special}) if special else None), False

    def _spelling(self, uint32_t id):
        cdef const uint32_t* starts = self.vocab.tables.starts
        return self.vocab.tables.blob[starts[id] : starts[id + 1]].decode()

    cdef Scratch* acquire(self) except NULL:
        cdef Scratch* s
        if self.n_pool:
            self.n_pool -= 1
            s = self.pool[self.n_pool]
        else:
            s = new_scratch()
            if s == NULL:
                raise MemoryError
        s.n_ids = 0
        return s

    cdef void release(self, Scratch* s) noexcept:
        if self.n_pool == POOL_SIZE:
            free_scratch(s)
            return
        trim_scratch(s)
        self.pool[self.n_pool] = s
        self.n_pool += 1

    cdef int encode_parts(
        self, Scratch* s, object text, list parts, bint keep, uint64_t limit, list resyncs, bytes replaced
    ) except -1:
        cdef const uint8_t* p
        cdef size_t n = view(text, &p), start = 0, end
        cdef ControlMatcher matcher
        cdef ControlMatch match
        cdef bint reject
        cdef uint32_t edges[2]
        cdef size_t max_bytes = MAX_TEXT_BYTES if self.pattern >= 0 else self.regex_splitter.max_text_bytes
        cdef object until_s = None if self.pattern >= 0 else self.regex_splitter.give_up_at_s()
        if n > max_bytes:
            raise TextTooLongError(n, max_bytes)
        if not hold_text(s, p, n):
            raise MemoryError
        for end, matcher, reject in parts:
            while matcher is not None and matcher.find(s.text, end, start, &match):
                if reject:
                    edges[0] = <uint32_t>match.start
                    edges[1] = <uint32_t>match.end
                    if replaced:
                        to_sent(replaced, edges, 2)
                    raise ControlTokenError(self._spelling(match.id), edges[0], edges[1])
                self.encode_run(s, start, match.start, keep, limit, resyncs, until_s)
                if not append_id(s, match.id, keep):
                    raise MemoryError
                start = match.end
                if s.n_ids > limit:
                    return 0
            self.encode_run(s, start, end, keep, limit, resyncs, until_s)
            start = end
            if s.n_ids > limit:
                return 0
        return 0

    cdef int encode_run(
        self, Scratch* s, size_t start, size_t end, bint keep, uint64_t limit, list resyncs, object until_s
    ) except -1:
        """Encode s.text[start:end], in which no control token is to be found."""
        cdef bint done
        cdef size_t position = start, span_start, span_end
        if start == end:
            return 0
        if self.pattern >= 0:
            if end - start < GIL_BYTES:
                done = self.encode_compiled(s, start, end, keep, limit)
            else:
                with nogil:
                    done = self.encode_compiled(s, start, end, keep, limit)
            if not done:
                raise MemoryError
            return 0
        for span_start, span_end in self.regex_splitter.spans(s.text[start:end].decode(), until_s):
            if start + span_start != position:
                resyncs.append((s.n_ids, start + span_start))
                position = start + span_start
            s.ends[0] = <uint32_t>(start + span_end)
            if not encode_pieces(&self.vocab.tables, &self.merges.tables, s, position, 1, keep):
                raise MemoryError
            position = start + span_end
            if s.n_ids > limit:
                return 0
        if position != end:
            resyncs.append((s.n_ids, end))
        return 0

    cdef bint encode_compiled(self, Scratch* s, size_t start, size_t end, bint keep, uint64_t limit) noexcept nogil:
        cdef size_t position = start, chunk_start, k
        while position < end and s.n_ids <= limit:
            chunk_start = position
            k = split_chunk(self.pattern, s.text, end, &position, s.ends)
            if not encode_pieces(&self.vocab.tables, &self.merges.tables, s, chunk_start, k, keep):
                return False
        return True
