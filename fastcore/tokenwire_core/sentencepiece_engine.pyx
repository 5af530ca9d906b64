"""A SentencePiece model: control tokens are cut out where they are allowed, the rest is normalized and tokenized.

SentencePiece itself never makes a control piece from text, so with none allowed the result is its own. Between allowed
ones each stretch is a text of its own: it gets its dummy prefix, and blanks at its ends go, as the model has it.

A control token that the caller has chosen and the model does not flag is found like the others; the model is taken for
one that has a control piece in its place.

Cost: linear in the text, and O(n log n) in the longest word of a BPE model.
"""

from dataclasses import replace

from tokenwire_core.decoders import sentencepiece_decoder
from tokenwire_core.sentencepiece_spec import PieceType

from tokenwire_core.aligned cimport SAME, Aligned, Stretch
from tokenwire_core.engine cimport GIL_BYTES, check
from tokenwire_core.scratch cimport DONE, append_token
from tokenwire_core.special cimport ControlMatch


cdef class SentencePieceEngine(Engine):
    """The tokenizer of a `SentencePieceSpec`."""

    def __init__(self, spec):
        model = spec.sentencepiece
        chosen = set(spec.chosen_control_tokens)
        if chosen:
            pieces = [
                piece._replace(type=PieceType.CONTROL) if piece.text in chosen else piece for piece in model.pieces
            ]
            model = replace(model, pieces=tuple(pieces))
        self.control_tokens = {token: spec.special_tokens[token] for token in spec.control_tokens}
        self.controls = ControlMatcher(self.control_tokens)
        self.normalizer = SentencePieceNormalizer(model)
        self.model = SentencePieceTokenizer(model)
        self.tokens = [token for _, token in spec.tokens()]
        self.decoder = sentencepiece_decoder(spec.sentencepiece, set(self.control_tokens.values()))
        self.integers = list(range(len(self.tokens)))

    cpdef bytes bytes_of(self, uint32_t id):
        return self.tokens[id]

    cdef object allowing(self, object spellings):
        if spellings is None:
            return self.controls
        return ControlMatcher({token: self.control_tokens[token] for token in spellings}) if spellings else None

    cdef list find(self, Scratch* s, size_t start, size_t end):
        cdef ControlMatch match
        cdef list found = []
        while self.controls.find(s.text, end, start, &match):
            found.append((match.id, match.start, match.end))
            start = match.end
        return found

    cdef int encode(self, Scratch* s, size_t start, size_t end, object allowed, uint64_t limit) except -1:
        cdef ControlMatcher matcher = allowed
        cdef ControlMatch match
        cdef int status
        while matcher is not None and matcher.find(s.text, end, start, &match):
            self.encode(s, start, match.start, None, limit)
            if not append_token(s, match.id, match.start, match.end):
                raise MemoryError
            if s.tracing:
                (<uint32_t*>s.words.p)[s.n_ids - 1] = 0
            start = match.end
            if s.n_ids > limit:
                return 0
        if start == end:
            return 0
        if end - start < GIL_BYTES:
            status = self.encode_run(s, start, end)
        else:
            with nogil:
                status = self.encode_run(s, start, end)
        check(s, status)
        return 0

    cdef int encode_run(self, Scratch* s, size_t start, size_t end) noexcept nogil:
        cdef Aligned text
        cdef Stretch one
        cdef Aligned* normalized = &s.normalized[0]
        cdef size_t first = s.n_ids, i
        cdef int status
        text.text = s.text + start
        text.n = end - start
        text.tracing = s.tracing
        one.start = 0
        one.source = <uint32_t>start
        one.source_end = SAME
        text.stretches = &one
        text.n_stretches = 1
        status = self.normalizer.run(s, &text, normalized)
        if status != DONE or normalized.n == 0:
            return status
        status = self.model.encode(s, normalized.text, normalized.n)
        if status == DONE and s.tracing:
            self.normalizer.place(s, normalized, first)
            for i in range(first, s.n_ids):
                (<uint32_t*>s.words.p)[i] = 0
        return status
