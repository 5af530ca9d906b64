"""A tokenizer.json: the stages one after the other.

    text -> added tokens (added) -> normalizer (normalizers) -> added tokens -> pieces (pretokenizers) -> ids (the model)

Where the whole of pre-tokenization is one pattern that `split` knows and the model takes bytes (Llama 3, Qwen, GPT), a
text goes the way of rank files: the pieces are split and looked up a chunk at a time. All else is done stage by stage.

Control tokens come from their spellings alone, where the caller allows them: models never find them in text, also
where they are ordinary entries of the vocabulary.

Cost: linear in the text, and O(n log n) in the longest piece of a byte-pair model.
"""

from cpython.bytes cimport PyBytes_AS_STRING

from tokenwire_core.byte_alphabet import to_bytes
from tokenwire_core.decoders import pipeline_decoder
from tokenwire_core.formats.hf_pretokenizers import ByteLevel, Split
from tokenwire_core.normalizers import normalize
from tokenwire_core.pipeline import (
    BytePairModel,
    UnigramModel,
    WordLevelModel,
    WordPieceModel,
    vocabulary_of,
)

from tokenwire_core.added cimport Search
from tokenwire_core.aligned cimport SAME, TRACE_REFERENCE, TRACE_SPANS, Stretch, place_of, token_place, view_of
from tokenwire_core.char_bpe cimport CharBpe
from tokenwire_core.engine cimport GIL_BYTES, check, next_word
from tokenwire_core.pieces cimport encode_pieces, seed_cache
from tokenwire_core.scratch cimport DONE, NO_MEMORY, Range, append_token, reserve_tokens
from tokenwire_core.split cimport split_chunk
from tokenwire_core.unigram cimport Unigram
from tokenwire_core.wordpiece cimport WordLevel, WordPiece


cdef Model model_of(object spec, object never, bint takes_bytes):
    """The compiled model of a PipelineSpec, which never finds the ids `never`."""
    model = spec.pipeline.model
    if isinstance(model, UnigramModel):
        return Unigram(model, never)
    if isinstance(model, WordPieceModel):
        return WordPiece(model, never)
    if isinstance(model, WordLevelModel):
        return WordLevel(model, never)
    if takes_bytes:
        return ByteBpe(model, never, {token.content: token.id for token in spec.pipeline.added_tokens})
    return CharBpe(model, never)


cdef class PipelineEngine(Engine):
    """The tokenizer of a `PipelineSpec`."""

    def __init__(self, spec):
        pipeline = spec.pipeline
        super().__init__(spec)
        self.added_tokens = pipeline.added_tokens
        self.none_allowed = self.allowing(())
        self.all_allowed = self.allowing(None)
        self.normalizer = NormalizerChain(pipeline.normalizer)
        spellings = [
            normalize(self.normalizer, token.content)[0] if token.normalized else token.content
            for token in self.added_tokens
        ]
        self.added = AddedTokens(self.added_tokens, spellings)
        contents = {id: text for text, id in vocabulary_of(pipeline.model).items()}
        contents |= {token.id: spelling for token, spelling in zip(self.added_tokens, spellings)}
        # The reference knows special tokens by what they are decoded as.
        special = {token.content for token in self.added_tokens if token.special}
        self.decoder = pipeline_decoder(pipeline, contents, {id for id, text in contents.items() if text in special})
        self.control_ids = frozenset(self.control_tokens.values())
        fits = isinstance(pipeline.model, BytePairModel) and ByteBpe.fits(pipeline.model, self.control_ids)
        self.pre_tokenizer = PreTokenizerChain(pipeline.pre_tokenizer, fits)
        self.model = model_of(spec, self.control_ids, self.pre_tokenizer.keeps_bytes)
        self.bytes_model = self.model if self.pre_tokenizer.keeps_bytes else None
        self.needs_places = self.pre_tokenizer.needs_places
        bounds = [
            bound
            for bound in (self.normalizer.max_text_bytes, self.pre_tokenizer.max_text_bytes)
            if bound is not None
        ]
        self.max_text_bytes = min(bounds, default=None)
        self.runs_regex = bool(bounds)
        self.integers = list(range(spec.vocab_size))
        if self.bytes_model is None:
            self.spellings = dict(spec.tokens())
        else:
            self.vocab = self.bytes_model.vocab
            self.n_unreachable = self.bytes_model.merges.n_unreachable
            if is_tiling(pipeline, self.pre_tokenizer.fast_pattern >= 0):
                self.tiling_as_sent = self.vocab
                self.tiling = None if pipeline.normalizer else self.vocab

    cdef void seed(self, Scratch* s) noexcept:
        if self.bytes_model is not None:
            seed_cache(&self.bytes_model.vocab.tables, s)

    cdef object allowing(self, object spellings):
        return bytes([
            not token.special or spellings is None or token.content in spellings for token in self.added_tokens
        ])

    cdef list find(self, Scratch* s, size_t start, size_t end):
        cdef size_t before = s.n_ids, i
        cdef bint keep = s.keep
        cdef int tracing = s.tracing
        s.keep = True
        s.tracing = TRACE_SPANS
        s.n_ids = 0
        if not reserve_tokens(s, 1):
            raise MemoryError
        try:
            self.encode(s, start, end, self.all_allowed, <uint64_t>-1)
            return [
                (s.ids[i], (<uint32_t*>s.starts.p)[i], (<uint32_t*>s.ends.p)[i])
                for i in range(s.n_ids)
                if s.ids[i] in self.control_ids
            ]
        finally:
            s.keep = keep
            s.tracing = tracing
            s.n_ids = before

    cdef int encode(self, Scratch* s, size_t start, size_t end, object allowed, uint64_t limit) except -1:
        cdef Aligned text
        cdef Stretch one
        cdef Progress progress
        cdef int status
        cdef bytes flags = self.none_allowed if allowed is None else allowed
        cdef size_t first = s.n_ids, i
        if start == end:
            return 0
        progress.allowed = <const uint8_t*>PyBytes_AS_STRING(flags)
        progress.limit = limit
        progress.n_words = next_word(s)
        text.text = s.text + start
        text.n = end - start
        # What a stage makes of a place must not depend on who asks for places. Without a normalizer both rules say the
        # same of the first.
        text.tracing = s.tracing
        if self.needs_places and (not s.tracing or not self.normalizer.is_empty):
            text.tracing = TRACE_REFERENCE
        one.start = 0
        one.source = 0
        one.source_end = SAME
        text.stretches = &one
        text.n_stretches = 1
        if end - start < GIL_BYTES:
            status = self.cut(s, &text, 0, &progress)
        else:
            with nogil:
                status = self.cut(s, &text, 0, &progress)
        check(s, status)
        if s.tracing and start:
            for i in range(first, s.n_ids):
                (<uint32_t*>s.starts.p)[i] += <uint32_t>start
                (<uint32_t*>s.ends.p)[i] += <uint32_t>start
        return 0

    cdef int cut(self, Scratch* s, const Aligned* text, int number, Progress* progress) noexcept nogil:
        """Cut out the added tokens of a pass: 0, those looked for in the text as it came; 1, in normalized text."""
        cdef Search search
        cdef int status
        search.next = 0
        search.taken = 0
        search.blanks = search.blanks_end = 0
        while self.added.find(number, text.text, text.n, progress.allowed, &search):
            status = self.encode_between(s, text, search.taken, search.start, number, progress)
            if status != DONE or s.n_ids > progress.limit:
                return status
            status = self.put_added(s, text, search.start, search.end, search.id, progress)
            if status != DONE or s.n_ids > progress.limit:
                return status
            search.taken = search.end
        return self.encode_between(s, text, search.taken, text.n, number, progress)

    cdef int encode_between(
        self, Scratch* s, const Aligned* text, size_t start, size_t end, int number, Progress* progress
    ) noexcept nogil:
        """What lies between the added tokens of a pass: after the first it is normalized, and comes to the second."""
        cdef Aligned part
        cdef Stretch one
        cdef const Aligned* normalized = &part
        cdef int status
        if start >= end:
            return DONE
        if number:
            return self.encode_normalized(s, text, start, end, progress)
        view_of(&part, &one, text, start, end)
        status = self.normalizer.run(s, &part, &normalized)
        if status != DONE:
            return status
        s.is_rewritten |= normalized != &part
        return self.cut(s, normalized, 1, progress)

    cdef int encode_normalized(
        self, Scratch* s, const Aligned* text, size_t start, size_t end, Progress* progress
    ) noexcept nogil:
        """Pre-tokenize, and encode the pieces."""
        cdef Pieces pieces
        cdef Range whole
        cdef int status
        if self.bytes_model is not None and self.pre_tokenizer.fast_pattern >= 0:
            return self.encode_pattern(s, text, start, end, progress)
        if self.pre_tokenizer.is_empty:
            whole.start = <uint32_t>start
            whole.end = <uint32_t>end
            pieces.text = text
            pieces.ranges = &whole
            pieces.n = 1
        else:
            status = self.pre_tokenizer.run(s, text, start, end, &pieces)
            if status != DONE:
                return status
        return self.encode_pieces(s, &pieces, progress)

    cdef int encode_pattern(
        self, Scratch* s, const Aligned* text, size_t start, size_t end, Progress* progress
    ) noexcept nogil:
        """Pieces by one compiled pattern, of which each is bytes to a byte-pair model."""
        cdef size_t position = start, chunk_start, piece_end, k, j, first
        while position < end and s.n_ids <= progress.limit:
            chunk_start = position
            k = split_chunk(self.pre_tokenizer.fast_pattern, text.text, end, &position, s.chunk_ends)
            if not s.tracing:
                if not encode_pieces(
                    &self.bytes_model.vocab.tables, &self.bytes_model.merges.of_bytes, s, text.text, chunk_start, k
                ):
                    return NO_MEMORY
                continue
            for j in range(k):
                piece_end = s.chunk_ends[j]
                first = s.n_ids
                if self.model.encode(s, text.text + chunk_start, piece_end - chunk_start) != DONE:
                    return NO_MEMORY
                self.place(s, text, chunk_start, piece_end - chunk_start, first, progress)
                chunk_start = piece_end
        return DONE

    cdef int encode_pieces(self, Scratch* s, const Pieces* pieces, Progress* progress) noexcept nogil:
        cdef size_t i, first
        cdef const uint8_t* text = pieces.text.text
        cdef const Range* piece
        cdef int status
        for i in range(pieces.n):
            piece = &pieces.ranges[i]
            if s.n_ids > progress.limit:
                return DONE
            first = s.n_ids
            status = self.model.encode(s, text + piece.start, piece.end - piece.start)
            if status != DONE:
                return status
            if s.tracing:
                self.place(s, pieces.text, piece.start, piece.end - piece.start, first, progress)
        return DONE

    cdef int put_added(
        self, Scratch* s, const Aligned* text, size_t start, size_t end, uint32_t id, Progress* progress
    ) noexcept nogil:
        cdef uint32_t source = 0, source_end = 0
        if s.tracing:
            place_of(text, start, end, &source, &source_end)
        if not append_token(s, id, source, source_end):
            return NO_MEMORY
        if s.tracing:
            (<uint32_t*>s.words.p)[s.n_ids - 1] = progress.n_words
            progress.n_words += 1
        return DONE

    cdef void place(
        self, Scratch* s, const Aligned* text, size_t start, size_t n, size_t first, Progress* progress
    ) noexcept nogil:
        """From places in the piece text[start : start + n] to those in the source, of the tokens from the `first` on.

        The reference has corners where a token is empty or lies outside of its piece: bytes of a prefix or suffix move
        all that is behind them. By our rule they stay inside.
        """
        cdef uint32_t* starts = <uint32_t*>s.starts.p
        cdef uint32_t* ends = <uint32_t*>s.ends.p
        cdef uint32_t* words = <uint32_t*>s.words.p
        cdef bint whole = s.tracing == TRACE_REFERENCE or self.bytes_model is None
        cdef uint32_t source, source_end
        cdef size_t i
        for i in range(first, s.n_ids):
            words[i] = progress.n_words
            if s.tracing == TRACE_SPANS:
                starts[i] = min(starts[i], <uint32_t>n)
                ends[i] = min(ends[i], <uint32_t>n)
            if starts[i] < ends[i] and ends[i] <= n:
                token_place(text, start + starts[i], start + ends[i], whole, &source, &source_end)
            elif starts[i] == ends[i] and starts[i] and s.tracing == TRACE_SPANS:
                place_of(text, start + starts[i] - 1, start + starts[i], &source, &source_end)
                source = source_end
            elif starts[i] == ends[i]:
                place_of(text, start, start + 1, &source, &source_end)
                source += starts[i]
                source_end = source
            else:
                continue
            starts[i] = source
            ends[i] = source_end
        progress.n_words += 1


def is_tiling(pipeline, is_one_pattern) -> bool:
    """Whether the tokens of a byte-level model follow each other in what comes from the normalizer byte for byte."""
    keeps_all = is_one_pattern or all([
        not stage.add_prefix_space if isinstance(stage, ByteLevel)
        else isinstance(stage, Split) and stage.behavior != "Removed"
        for stage in pipeline.pre_tokenizer
    ])
    return (
        keeps_all
        and sum(stage.to_byte_level for stage in pipeline.pre_tokenizer) <= 1
        and all([
            not token.lstrip and not token.rstrip and to_bytes(token.content) == token.content.encode()
            for token in pipeline.added_tokens
        ])
    )
