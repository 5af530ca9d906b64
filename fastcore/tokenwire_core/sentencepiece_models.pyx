"""SentencePiece's models: normalized text to tokens, as `reference_sentencepiece.py` defines it.

`SentencePieceTokenizer` is the model of any algorithm. BPE and Unigram have files of their own; `char` looks up each
user-defined symbol and each other character, `word` each stretch from a `▁` to the next.
"""

from libc.stdint cimport uint32_t

from tokenwire_core.errors import NormalizedTooLongError
from tokenwire_core.sentencepiece_bpe import SentencePieceBpe
from tokenwire_core.sentencepiece_spec import PieceType
from tokenwire_core.sentencepiece_unigram import SentencePieceUnigram

from tokenwire_core.aligned cimport SAME, Aligned, Stretch
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY, free_scratch, hold_text, new_scratch
from tokenwire_core.sentencepiece_rules cimport character_bytes, longest_symbol
from tokenwire_core.sentencepiece_output cimport Output, begin_output, close_output, open_output, put_cut


cdef class SentencePieceLookup(Model):
    def __cinit__(self, model):
        made = (PieceType.NORMAL, PieceType.USER_DEFINED)
        # A piece that is a NUL is in no table of the library.
        self.trie = Trie({
            piece.text.encode(): id_
            for id_, piece in enumerate(model.pieces)
            if piece.type in made and piece.text != "\0"
        })
        self.fallback = FallbackTable(model)


cdef class SentencePieceChar(SentencePieceLookup):
    def __cinit__(self, model):
        self.symbols = SymbolTable(model)

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef Output o
        cdef size_t start = 0, size
        begin_output(&o, s, &self.fallback.fallback, p)
        while start < n:
            size = longest_symbol(&self.symbols.symbols, p + start, n - start) if self.symbols.symbols.exist else 0
            if size == 0:
                size = character_bytes(p[start])
            if not open_output(&o, size):
                return NO_MEMORY
            put_cut(&o, start, start + size, self.trie.find(p + start, size))
            close_output(&o)
            start += size
        return DONE


cdef class SentencePieceWord(SentencePieceLookup):
    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef Output o
        cdef size_t start = 0, end
        begin_output(&o, s, &self.fallback.fallback, p)
        while start < n:
            end = start + 1
            while end < n and not (p[end] == 0xE2 and p[end + 1] == 0x96 and p[end + 2] == 0x81):
                end += 1
            if not open_output(&o, end - start):
                return NO_MEMORY
            put_cut(&o, start, end, self.trie.find(p + start, end - start))
            close_output(&o)
            start = end
        return DONE


_MODELS = {
    "bpe": SentencePieceBpe,
    "unigram": SentencePieceUnigram,
    "char": SentencePieceChar,
    "word": SentencePieceWord,
}


cdef class SentencePieceTokenizer(Model):
    """The model of a `SentencePieceModel`.

    Raises:
        ArtifactError: VOCABULARY_TOO_LARGE.
        MemoryError
    """

    def __cinit__(self, model):
        self.model = _MODELS[model.algorithm](model)

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        return self.model.encode(s, p, n)

    def encoded(self, SentencePieceNormalizer normalizer not None, list texts not None, int tracing=0):
        """The tokens of well-formed texts, as UTF-8, one call after the other: (id, byte_start, byte_end) of each, with
        places in the text as it came; without tracing (id, 0, 0).

        Raises:
            NormalizedTooLongError, MemoryError
        """
        cdef Scratch* s = new_scratch()
        cdef list found = []
        cdef size_t i
        cdef uint32_t* starts
        cdef uint32_t* ends
        if s == NULL:
            raise MemoryError
        try:
            s.keep = True
            s.tracing = tracing
            for utf8 in texts:
                s.n_ids = 0
                self.encode_text(normalizer, s, utf8)
                starts = <uint32_t*>s.starts.p
                ends = <uint32_t*>s.ends.p
                if tracing:
                    found.append([(s.ids[i], starts[i], ends[i]) for i in range(s.n_ids)])
                else:
                    found.append([(s.ids[i], 0, 0) for i in range(s.n_ids)])
            return found
        finally:
            free_scratch(s)

    def counted(self, SentencePieceNormalizer normalizer not None, list texts not None):
        """How many tokens each of the texts has, without keeping them. Raises as `encoded`."""
        cdef Scratch* s = new_scratch()
        cdef list found = []
        if s == NULL:
            raise MemoryError
        try:
            for utf8 in texts:
                s.n_ids = 0
                self.encode_text(normalizer, s, utf8)
                found.append(s.n_ids)
            return found
        finally:
            free_scratch(s)

    cdef int encode_text(self, SentencePieceNormalizer normalizer, Scratch* s, bytes utf8) except -1:
        cdef Aligned text
        cdef Stretch one
        cdef Aligned* normalized = &s.normalized[0]
        cdef int status
        if not hold_text(s, utf8, len(utf8)):
            raise MemoryError
        text.text = s.text
        text.n = len(utf8)
        text.tracing = s.tracing
        text.stretches = &one
        text.n_stretches = 1
        one.start = one.source = 0
        one.source_end = SAME
        with nogil:
            status = normalizer.run(s, &text, normalized)
            if status == DONE and normalized.n:
                status = self.encode(s, normalized.text, normalized.n)
                if status == DONE and s.tracing:
                    normalizer.place(s, normalized, 0)
        if status == GREW_TOO_LONG:
            raise NormalizedTooLongError
        if status != DONE:
            raise MemoryError
        return 0
