"""Rank files: control tokens are cut out, the rest is split into pieces, and their bytes are merged.

    text -> control tokens (special) -> pieces (split) -> ids (pieces: word cache, vocab, bpe)

Cost: linear in the text and O(n log n) in the longest piece; `make bench` measures it.
"""

from libc.stdint cimport uint32_t

from tokenwire_core.decoders import byte_level_decoder
from tokenwire_core.regex_split import RegexSplitter

from tokenwire_core.engine cimport GIL_BYTES, next_word
from tokenwire_core.pieces cimport encode_pieces, place_tokens, seed_cache
from tokenwire_core.split cimport pattern_id, split_chunk
from tokenwire_core.vocab cimport Vocab


cdef class RankEngine(Engine):
    """The tokenizer of a `RankFileSpec`."""

    def __init__(self, spec):
        super().__init__(spec)
        self.vocab = Vocab(spec.ranks, spec.special_tokens)
        self.merges = MergeTable(self.vocab)
        self.n_unreachable = self.merges.n_unreachable
        self.integers = self.vocab.integers
        self.decoder = byte_level_decoder(self.vocab)
        self.pattern = pattern_id(spec.pattern)
        self.runs_regex = self.pattern < 0
        if self.runs_regex:
            self.regex_splitter = RegexSplitter(spec.pattern)
            self.max_text_bytes = self.regex_splitter.max_text_bytes
        else:
            self.tiling = self.tiling_as_sent = self.vocab

    cdef void seed(self, Scratch* s) noexcept:
        seed_cache(&self.vocab.tables, s)

    cdef int encode_run(self, Scratch* s, size_t start, size_t end, uint64_t limit) except -1:
        cdef bint done
        cdef size_t span_start, span_end
        if not self.runs_regex:
            if end - start < GIL_BYTES:
                done = self.encode_compiled(s, start, end, limit)
            else:
                with nogil:
                    done = self.encode_compiled(s, start, end, limit)
            if not done:
                raise MemoryError
            return 0
        for span_start, span_end in self.regex_splitter.spans(s.text[start:end].decode(), s.give_up_at_s):
            if not self.encode_piece(s, start + span_start, start + span_end):
                raise MemoryError
            if s.n_ids > limit:
                return 0
        return 0

    cdef bint encode_compiled(self, Scratch* s, size_t start, size_t end, uint64_t limit) noexcept nogil:
        cdef size_t position = start, piece_start, piece_end, k, j
        while position < end and s.n_ids <= limit:
            piece_start = position
            k = split_chunk(self.pattern, s.text, end, &position, s.chunk_ends)
            if not s.tracing:
                if not encode_pieces(&self.vocab.tables, &self.merges.of_bytes, s, s.text, piece_start, k):
                    return False
                continue
            for j in range(k):
                piece_end = s.chunk_ends[j]
                if not self.encode_piece(s, piece_start, piece_end):
                    return False
                piece_start = piece_end
        return True

    cdef bint encode_piece(self, Scratch* s, size_t start, size_t end) noexcept nogil:
        """Encode one piece, with places where they are asked for."""
        cdef size_t first = s.n_ids, i
        cdef uint32_t word = next_word(s)
        s.chunk_ends[0] = <uint32_t>end
        if not encode_pieces(&self.vocab.tables, &self.merges.of_bytes, s, s.text, start, 1):
            return False
        if s.tracing:
            place_tokens(&self.vocab.tables, s, first, start)
            for i in range(first, s.n_ids):
                (<uint32_t*>s.words.p)[i] = word
        return True
