"""A compiled tokenizer: from a text as it is sent to an `Encoding`.

    text or segments -> well-formed (text_input) -> tokens (the engine of the format) -> template -> Encoding

An Encoder never changes after construction, so any number of threads may use one; what a call writes to is a scratch
taken from a small pool while the GIL is held and given back at its end. Engines release the GIL around texts of 2 KiB
and more; below that a release costs more than it gives.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from operator import index as as_int

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t

from tokenwire_core import regex_split
from tokenwire_core import truncate as truncation
from tokenwire_core.errors import ControlTokenError, IdOutOfRangeError, TextTooLongError, TokenizerError, UnknownControlTokenError
from tokenwire_core.spec import PipelineSpec, RankFileSpec, SentencePieceSpec
from tokenwire_core.template import TextRun, layout

from tokenwire_core.aligned cimport TRACE_NOTHING, TRACE_REFERENCE, TRACE_SPANS
from tokenwire_core.encoding cimport Encoding
from tokenwire_core.pipeline_engine cimport PipelineEngine
from tokenwire_core.rank_engine cimport RankEngine
from tokenwire_core.scratch cimport free_scratch, hold_text, new_scratch, reserve_tokens, trim_scratch
from tokenwire_core.sentencepiece_engine cimport SentencePieceEngine
from tokenwire_core.tally cimport Tallier, Totals, start_totals, tally_of
from tokenwire_core.text_input cimport read_text
from tokenwire_core.utf8 cimport to_sent
from tokenwire_core.vocab cimport unmark_ids

cdef enum:
    MAX_TEXT_BYTES = (1 << 31) - 1       # positions are 32 bits wide
    SMALL_BYTES = 1 << 14                # texts up to here leave nothing behind that is worth freeing

cdef uint64_t NO_LIMIT = 0xFFFFFFFFFFFFFFFF

_ENGINES = {RankFileSpec: RankEngine, PipelineSpec: PipelineEngine, SentencePieceSpec: SentencePieceEngine}


cdef uint64_t most_of(object limit) except? 0:
    if limit is None:
        return NO_LIMIT
    if as_int(limit) < 0:
        raise TokenizerError("limit must be 0 or more")
    return min(as_int(limit), MAX_TEXT_BYTES)


@cython.final
cdef class Encoder:
    """A compiled tokenizer: immutable, and safe to use from many threads at once.

    Made by `tokenwire_core.load`. Arguments that all methods on text share:

        text: str, bytes of UTF-8, or a sequence of `Segment`s, each encoded as a text of its own, so that nothing
            merges across their edges.
        special: what the spelling of a control token in the text becomes. `text`: ordinary text. `allow`: the control
            token. `reject`: an error. A frozenset of spellings: those become control tokens, the others stay text.
            A `Segment` has its own policy, and `special` does not concern it.
        add_special: add what the tokenizer's template puts around a text: the post-processor of a tokenizer.json, the
            pieces that begin and end a text of a SentencePiece model. Rank files have no template.
        invalid: ill-formed UTF-8 is an `error`, or each maximal part of it is `replace`d by U+FFFD.

    and the errors they share:

        InvalidUtf8Error, ControlTokenError, UnknownControlTokenError
        TextTooLongError: over 2 GiB, or over `max_text_bytes`.
        NormalizedTooLongError: the tokenizer's normalizer blows the text up out of proportion.
        UnknownTextError: a character is no token, and the model has none for such characters.
        PatternTooSlowError: only where `splitter` is `regex`.
        TokenizerError: an option this tokenizer does not have.
    """

    def __cinit__(self, spec):
        self.spec = spec
        self.special_tokens = dict(spec.special_tokens)
        self.engine = _ENGINES[type(spec)](spec)
        self.control_tokens = self.engine.control_tokens
        self.all_controls = self.engine.allowing(None)
        self.layouts = {}
        self.plain_layout = layout(spec, 1, False)
        self.policies = {}
        self.release(self.acquire(False, TRACE_NOTHING))     # made here, shared by processes that are forked later

    def __dealloc__(self):
        self.empty_pool()

    def __repr__(self):
        return f"<Encoder {self.spec.format} {self.spec.model} of {self.vocab_size} ids, digest {self.digest[:12]}>"

    @property
    def digest(self) -> str:
        """sha256 identity of everything that decides the ids, in hex."""
        return self.spec.digest

    @property
    def vocab_size(self) -> int:
        """The highest id + 1."""
        return len(self.engine.integers)

    @property
    def n_unreachable(self) -> int:
        """How many entries no merges lead to; they appear only where they are a whole piece, if at all."""
        return self.engine.n_unreachable

    @property
    def splitter(self) -> str:
        """How text is split into pieces: `compiled`, or `regex` for a pattern this version does not know."""
        return "regex" if self.engine.runs_regex else "compiled"

    @property
    def max_text_bytes(self) -> int | None:
        """The longest text this tokenizer takes, in bytes, where that is less than what memory holds."""
        return self.engine.max_text_bytes

    @property
    def unknown_id(self) -> int | None:
        """The token for text that the vocabulary has nothing for."""
        return self.spec.unknown_id

    @property
    def byte_fallback_ids(self) -> frozenset[int]:
        """The tokens of single bytes that such text becomes instead."""
        return self.spec.byte_fallback_ids

    def encode(self, text, pair=None, special="text", add_special=False, invalid="error"):
        """The ids of `text` and where they stand in it, as an `Encoding`; with `pair`, of both texts."""
        cdef Scratch* s
        cdef TextInput first, second = None
        cdef size_t n_first
        cdef Encoding encoding = Encoding.__new__(Encoding)
        encoding.encoder = self
        encoding.integers = self.engine.integers
        encoding.layout = self.layout(1 if pair is None else 2, add_special)
        first = read_text(text, special, invalid)
        if pair is not None:
            second = read_text(pair, special, invalid)
        s = self.acquire(True, TRACE_NOTHING)
        try:
            self.run(s, first, NO_LIMIT)
            n_first = s.n_ids
            if second is None:
                encoding.inputs = (first,)
                encoding.sizes = (n_first,)
            else:
                self.run(s, second, NO_LIMIT)
                encoding.inputs = (first, second)
                encoding.sizes = (n_first, s.n_ids - n_first)
            encoding.is_rewritten = s.is_rewritten
            self.unmark(s, 0, &encoding.marked)
            if second is not None:
                # They are of both together.
                encoding.marked.n_first = encoding.marked.n_second = 0
            packed = PyBytes_FromStringAndSize(<const char*>s.ids, s.n_ids * sizeof(uint32_t))
        finally:
            self.release(s)
        encoding.packed = packed if len(encoding.layout) == 1 else self._laid_out(encoding, packed)
        return encoding

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
        cdef Scratch* s
        cdef size_t n_added = 0
        cdef uint64_t most = most_of(limit)
        if add_special:
            n_added = sum([len(run.ids) for run in self.layout(1, True) if not isinstance(run, TextRun)])
        s = self.acquire(False, TRACE_NOTHING)
        try:
            s.n_ids = n_added
            self.run(s, read_text(text, special, invalid), most)
            return s.n_ids
        finally:
            self.release(s)

    def tally(self, text, pair=None, special="text", add_special=False, invalid="error", limit=None):
        """What the tokens are that `encode` gives for the same arguments: a `Tally`.

        Args:
            limit: of a text without a pair: stop as soon as there are more tokens than this; the tally is then of those
                that were found.
        """
        cdef Totals totals
        cdef TextInput source
        cdef Scratch* s
        cdef size_t before = 0
        cdef uint64_t most = most_of(limit)
        cdef Marked marked
        cdef Tallier tallier = self.made_tallier()
        start_totals(&totals)
        if add_special or pair is not None:
            for run in self.layout(1 if pair is None else 2, add_special):
                if not isinstance(run, TextRun):
                    totals.n_special += len(run.ids)
        s = self.acquire(True, TRACE_NOTHING)
        try:
            for each in (text,) if pair is None else (text, pair):
                source = read_text(each, special, invalid)
                before = s.n_ids
                self.run(s, source, NO_LIMIT if limit is None else most - min(most, totals.n_special))
                self.unmark(s, before, &marked)
                tallier.add(&totals, s.ids + before, s.n_ids - before, &marked, source, s.is_rewritten)
        finally:
            self.release(s)
        return tally_of(&totals)

    def tally_of(self, Encoding encoding not None):
        """What `Encoding.tally` gives."""
        cdef Totals totals
        cdef const uint32_t* ids = <const uint32_t*>PyBytes_AS_STRING(encoding.packed)
        cdef size_t n
        cdef Tallier tallier = self.made_tallier()
        start_totals(&totals)
        for run in encoding.layout:
            if isinstance(run, TextRun):
                n = encoding.sizes[run.text]
                tallier.add(&totals, ids, n, &encoding.marked, encoding.inputs[run.text], encoding.is_rewritten)
            else:
                n = len(run.ids)
                totals.n_special += n
            ids += n
        return tally_of(&totals)

    cdef void unmark(self, Scratch* s, size_t first, Marked* marked) noexcept:
        """Take the marks off the ids from the `first` on, where there are any."""
        marked.n_first = marked.n_second = 0
        if self.engine.vocab is not None and self.engine.vocab.tables.marks != NULL:
            unmark_ids(s.ids + first, s.n_ids - first, marked)

    cdef Tallier made_tallier(self):
        if self.tallier is None:
            self.tallier = Tallier(self.engine, self.spec, self.trace)
            self.empty_pool()            # their caches know ids without marks
        return self.tallier

    cdef void empty_pool(self) noexcept:
        while self.n_pool:
            self.n_pool -= 1
            free_scratch(self.pool[self.n_pool])

    def find_control_tokens(self, text, invalid="error"):
        """The spellings of control tokens in a str or bytes, as `allow` would find them.

        Returns:
            list of (spelling, id, byte_start, byte_end), in text order; positions are in the text as sent.
        """
        cdef TextInput source = read_text(text, "text", invalid)
        cdef Scratch* s = self.acquire(True, TRACE_SPANS)
        try:
            n_bytes = self.hold(s, source)
            return [self._found(source, match) for match in self.engine.find(s, 0, n_bytes)]
        finally:
            self.release(s)

    def trace(self, TextInput source not None, reference=False):
        """Where the tokens of a text are: their starts, ends and piece numbers, each as packed native uint32.

        Starts and ends are in bytes of the text as it was encoded; with `reference` as the reference implementation
        places tokens. `Encoding` asks for it.
        """
        cdef Scratch* s = self.acquire(True, TRACE_REFERENCE if reference else TRACE_SPANS)
        try:
            self.run(s, source, NO_LIMIT)
            return (
                PyBytes_FromStringAndSize(<const char*>s.starts.p, s.n_ids * sizeof(uint32_t)),
                PyBytes_FromStringAndSize(<const char*>s.ends.p, s.n_ids * sizeof(uint32_t)),
                PyBytes_FromStringAndSize(<const char*>s.words.p, s.n_ids * sizeof(uint32_t)),
            )
        finally:
            self.release(s)

    def token_bytes(self, ids) -> list[bytes]:
        """The bytes of each of `ids`: see `Encoding.token_bytes`.

        Raises:
            IdOutOfRangeError: an id is negative, past the vocabulary or in a hole of it.
        """
        cdef list found = []
        for at, id in enumerate(ids):
            if not self.engine.has(id):
                raise IdOutOfRangeError(at, self.vocab_size)
            found.append(self.engine.bytes_of(id))
        return found

    def decode_bytes(self, ids, skip_special=False) -> bytes:
        """The bytes that `ids` stand for, which need not be well-formed UTF-8; see `TokenDecoder.decode_bytes`.

        Raises:
            IdOutOfRangeError: an id is negative, past the vocabulary or in a hole of it.
        """
        return self.engine.decoder.decode_bytes(ids, skip_special)

    def decode(self, ids, skip_special=False, reference=False) -> str:
        """The text that `ids` stand for, as the format's reference implementation gives it.

        Args:
            skip_special: leave control tokens out.
            reference: for symmetry with `Encoding.offsets`: text is always the reference implementation's.
        """
        return self.engine.decoder.decode(ids, skip_special)

    def decoder(self, skip_special=False):
        """An incremental decoder for ids that arrive bit by bit; see `TokenStream`."""
        return self.engine.decoder.stream(skip_special)

    def truncate(
        self, text, max_tokens, keep="start", cut="grapheme", ids_only=False, special="text", add_special=False,
        invalid="error",
    ):
        """The start or end of `text` that has at most `max_tokens` tokens; see `tokenwire_core.truncate`."""
        return truncation.truncate(self, text, max_tokens, keep, cut, ids_only, special, add_special, invalid)

    cdef tuple layout(self, int n_texts, bint add_special):
        if n_texts == 1 and not add_special:
            return self.plain_layout
        key = (n_texts, add_special)
        if key not in self.layouts:
            self.layouts[key] = layout(self.spec, n_texts, add_special)
        return self.layouts[key]

    def _laid_out(self, Encoding encoding, bytes packed):
        """The ids of the texts and of the template in order."""
        first = encoding.sizes[0] * sizeof(uint32_t)
        texts = (packed[:first], packed[first:])
        return b"".join([
            texts[run.text] if isinstance(run, TextRun) else b"".join([id.to_bytes(4, "little") for id in run.ids])
            for run in encoding.layout
        ])

    cdef object allowed(self, object special):
        """What the engine takes for a policy that is not `reject`."""
        if special == "text":
            return None
        if special == "allow":
            return self.all_controls
        if not isinstance(special, (frozenset, set)):
            raise TokenizerError("special must be text, allow, reject or a frozenset of control tokens")
        if not special <= self.control_tokens.keys():
            raise UnknownControlTokenError(len(self.control_tokens))
        special = frozenset(special)
        policy = self.policies.get(special)
        if policy is None:
            if len(self.policies) == MAX_POLICIES:
                self.policies.clear()
            policy = self.policies[special] = self.engine.allowing(special)
        return policy

    cdef Scratch* acquire(self, bint keep, int tracing) except NULL:
        cdef Scratch* s
        if self.n_pool:
            self.n_pool -= 1
            s = self.pool[self.n_pool]
        else:
            s = new_scratch()
            if s == NULL:
                raise MemoryError
            self.engine.seed(s)
        s.n_ids = 0
        s.keep = keep
        s.tracing = tracing
        s.is_rewritten = False
        if tracing and not reserve_tokens(s, 1):
            free_scratch(s)
            raise MemoryError
        return s

    cdef void release(self, Scratch* s) noexcept:
        if self.n_pool == POOL_SIZE:
            free_scratch(s)
            return
        if s.text_capacity > SMALL_BYTES:
            trim_scratch(s)
        self.pool[self.n_pool] = s
        self.n_pool += 1

    cdef Py_ssize_t hold(self, Scratch* s, TextInput source) except -1:
        """Copy the text to the scratch. Returns its size in bytes."""
        cdef const uint8_t* p
        cdef size_t n = source.view(&p)
        cdef size_t max_bytes = MAX_TEXT_BYTES if self.engine.max_text_bytes is None else self.engine.max_text_bytes
        if n > max_bytes:
            raise TextTooLongError(n, max_bytes)
        if self.engine.runs_regex:
            s.give_up_at_s = time.thread_time() + regex_split.TIMEOUT_S
        if not hold_text(s, p, n):
            raise MemoryError
        return n

    cdef int run(self, Scratch* s, TextInput source, uint64_t limit) except -1:
        """Append the tokens of a text to the scratch."""
        cdef size_t start = 0, end = self.hold(s, source)
        if source.parts is None:
            return self.run_part(s, source, start, end, source.policy, limit)
        for end, special in source.parts:
            self.run_part(s, source, start, end, special, limit)
            if s.n_ids > limit:
                return 0
            start = end
        return 0

    cdef int run_part(
        self, Scratch* s, TextInput source, size_t start, size_t end, object special, uint64_t limit
    ) except -1:
        if special == "reject":
            for match in self.engine.find(s, start, end):
                token, _, byte_start, byte_end = self._found(source, match)
                raise ControlTokenError(token, byte_start, byte_end)
            special = "text"
        self.engine.encode(s, start, end, self.allowed(special), limit)
        return 0

    def _found(self, TextInput source, tuple match):
        """A control token as find_control_tokens gives it."""
        cdef uint32_t edges[2]
        id, edges[0], edges[1] = match
        if source.replaced:
            to_sent(source.replaced, edges, 2)
        return self.engine.bytes_of(id).decode(), id, edges[0], edges[1]
