"""A SentencePiece model: control tokens are cut out where they are allowed, the rest is normalized and tokenized.

SentencePiece itself never makes a control piece from text, so with none allowed the result is its own. Between allowed
ones each stretch is a text of its own: it gets its dummy prefix, and blanks at its ends go, as the model has it.

A control token that the caller has chosen and the model does not flag is found like the others; the model is taken for
one that has a control piece in its place.

Cost: linear in the text, and O(n log n) in the longest word of a BPE model.
"""

from dataclasses import replace

from libc.stdint cimport uint32_t, uint64_t

from tokenwire_core.decoders import sentencepiece_decoder
from tokenwire_core.sentencepiece_spec import PieceType

from tokenwire_core.aligned cimport SAME, Aligned, Stretch
from tokenwire_core.engine cimport GIL_BYTES, check, next_word
from tokenwire_core.scratch cimport DONE


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
        super().__init__(spec)
        self.normalizer = SentencePieceNormalizer(model)
        self.model = SentencePieceTokenizer(model)
        self.spellings = dict(spec.tokens())
        self.decoder = sentencepiece_decoder(spec.sentencepiece, set(self.control_tokens.values()))
        self.integers = list(range(spec.vocab_size))

    cdef int encode_run(self, Scratch* s, size_t start, size_t end, uint64_t limit) except -1:
        cdef int status
        if end - start < GIL_BYTES:
            status = self.encode_text(s, start, end)
        else:
            with nogil:
                status = self.encode_text(s, start, end)
        check(s, status)
        return 0

    cdef int encode_text(self, Scratch* s, size_t start, size_t end) noexcept nogil:
        cdef Aligned text
        cdef Stretch one
        cdef Aligned* normalized = &s.normalized[0]
        cdef size_t first = s.n_ids, i
        cdef uint32_t word = next_word(s)
        cdef int status
        text.text = s.text + start
        text.n = end - start
        text.tracing = s.tracing
        one.start = 0
        one.source = <uint32_t>start
        one.source_end = SAME
        text.stretches = &one
        text.n_stretches = 1
        s.is_rewritten = True
        status = self.normalizer.run(s, &text, normalized)
        if status != DONE or normalized.n == 0:
            return status
        status = self.model.encode(s, normalized.text, normalized.n)
        if status == DONE and s.tracing:
            self.normalizer.place(s, normalized, first)
            for i in range(first, s.n_ids):
                (<uint32_t*>s.words.p)[i] = word
        return status
