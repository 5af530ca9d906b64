"""SentencePiece's BPE: merging by the scores of pieces.

Of all neighbours that are a piece together those of the highest score are joined, the leftmost among equals; scores
stand as ranks. As in `bpe`, a piece has at most one pair that can make it, found by merging its own characters, so
pairs of numbers in a table say all. What is particular here:

- Symbols are characters at first, and characters that are no piece may still be part of one: they get numbers too.
- User-defined symbols are cut out first and join with nothing. A piece whose own text has one inside is never made:
  where the piece's characters all become symbols of their own in a text, they do so alone.
- Unused pieces are merged like others and fall apart afterwards into the pair that made them, and so on. Which pair
  that was depends on nothing but the piece, so it is in a table. What was joined by more than 100 steps stays.

The text is cut at safe edges (`safe_edges`), and what was cut off is looked up in the word cache, then among the pieces
that merging leads to, before it is merged.

Cost: 5 microseconds a piece to build. About 40 ns a word that the cache has, 100 a piece, 60 a symbol merged; 36 bytes
of memory a character of the longest word.
"""

from math import copysign

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from tokenwire_core.errors import ArtifactError
from tokenwire_core.sentencepiece_spec import PieceType

from tokenwire_core.bpe cimport ID_LIMIT, free_merge_scratch, merge_symbols, reserve_symbols
from tokenwire_core.scratch cimport DONE, NO_MEMORY
from tokenwire_core.sentencepiece_rules cimport character_bytes, longest_symbol
from tokenwire_core.sentencepiece_output cimport (
    begin_output,
    close_output,
    open_output,
    put_piece,
    put_unknown,
)
from tokenwire_core.sentencepiece_words cimport known_word, learn_word, next_words, put_word
from tokenwire_core.trie cimport NO_VALUE
from tokenwire_core.utf8 cimport n_codepoints
from tokenwire_core.vocab cimport WordSlot

cdef enum:
    MAX_SPLIT_DEPTH = 100    # what is deeper in unused pieces stays joined
    FEW_BYTES = 256          # what is longer has its characters counted before they get room


cdef class SentencePieceBpe(Model):
    """The BPE model of a `SentencePieceModel`.

    Raises:
        ArtifactError: VOCABULARY_TOO_LARGE.
        MemoryError
    """

    def __cinit__(self, model):
        cdef list texts = [piece.text.encode() for piece in model.pieces]
        made = (PieceType.NORMAL, PieceType.UNUSED)
        # A piece that is a NUL is in no table of the library.
        numbers = {
            texts[id_]: id_
            for id_, piece in enumerate(model.pieces)
            if (piece.type in made or piece.type is PieceType.USER_DEFINED) and piece.text != "\0"
        }
        self.edges = SafeEdges(list(numbers))
        self.symbols = SymbolTable(model)
        self.fallback = FallbackTable(model)
        characters = sorted({character for text in numbers for character in text.decode()})
        for character in characters:
            if (utf8 := character.encode()) not in numbers:
                numbers[utf8] = len(texts)
                texts.append(utf8)
        if len(texts) > ID_LIMIT:
            raise ArtifactError(
                "VOCABULARY_TOO_LARGE",
                f"pieces and characters inside them are {len(texts)}, the limit is {ID_LIMIT}",
            )
        self.trie = Trie(numbers)
        self.n_numbers = len(texts)
        self.fates = <uint8_t*>calloc(self.n_numbers + 1, 1)
        self.is_merged = <uint8_t*>calloc(self.n_numbers + 1, 1)
        self.n_bytes = <uint32_t*>malloc((self.n_numbers + 1) * sizeof(uint32_t))
        if self.fates == NULL or self.is_merged == NULL or self.n_bytes == NULL:
            raise MemoryError
        for number, text in enumerate(texts):
            self.n_bytes[number] = len(text)
        order = []
        for number, piece in enumerate(model.pieces):
            if piece.type in made and piece.text != "\0":
                self.fates[number] = IS_UNUSED if piece.type is PieceType.UNUSED else IS_PIECE
                order.append((len(texts[number]), number, texts[number]))
        if any(piece.type is PieceType.UNUSED for piece in model.pieces):
            self.parts = <uint32_t*>malloc((2 * self.n_numbers + 1) * sizeof(uint32_t))
            if self.parts == NULL:
                raise MemoryError
            memset(self.parts, 0xFF, (2 * self.n_numbers + 1) * sizeof(uint32_t))
        self.merges = Merges()
        self.merges.make_room(len(order))
        self.rank(list(model.pieces))
        self.build(sorted(order))

    def __dealloc__(self):
        free(self.fates)
        free(self.is_merged)
        free(self.n_bytes)
        free(self.parts)

    cdef int rank(self, list pieces) except -1:
        """Let the number of a merge be what it makes, and its rank the place of the score."""
        cdef size_t number
        self.merges.tables.ranks = <uint32_t*>malloc((len(pieces) + 1) * sizeof(uint32_t))
        if self.merges.tables.ranks == NULL:
            raise MemoryError
        # Of the zeros the library puts -0.0 behind 0.0.
        keys = [(piece.score, copysign(1.0, piece.score)) for piece in pieces]
        rank_of = {key: rank for rank, key in enumerate(sorted(set(keys), reverse=True))}
        for number, key in enumerate(keys):
            self.merges.tables.ranks[number] = rank_of[key]
        return 0

    cdef int build(self, list order) except -1:
        """Enter the pair of each piece, the shortest pieces first: (size, number, text) of each."""
        cdef MergeScratch scratch
        cdef bytes padded
        cdef Py_ssize_t n
        cdef uint32_t number, at, left, right
        memset(&scratch, 0, sizeof(scratch))
        try:
            for _, number, text in order:
                padded = text + bytes(4)
                n = self.symbols_of(&scratch, padded, self.n_bytes[number])
                if n < 0:
                    raise MemoryError
                merge_symbols(&self.merges.tables, &scratch, n)
                left = scratch.symbols[0].id
                at = scratch.symbols[0].next
                if n == 1:
                    self.is_merged[number] = left == number
                elif at < n and scratch.symbols[at].next == n:
                    right = scratch.symbols[at].id
                    if left < ID_LIMIT and right < ID_LIMIT:
                        self.merges.insert(left, right, number)
                        self.is_merged[number] = True
                        if self.parts != NULL:
                            self.parts[2 * number] = left
                            self.parts[2 * number + 1] = right
        finally:
            free_merge_scratch(&scratch)
        return 0

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef Output o
        cdef const WordSlot* known
        cdef uint32_t* ids
        cdef size_t start = 0, end, n_words, j
        cdef bint after_unknown
        begin_output(&o, s, &self.fallback.fallback, p)
        while start < n:
            n_words = next_words(&self.edges.tables, s, p, n, start)
            if not open_output(&o, s.chunk_ends[n_words - 1] - start):
                return NO_MEMORY
            for j in range(n_words):
                end = s.chunk_ends[j]
                known = known_word(s, j)
                if known != NULL:
                    put_word(&o, known)
                else:
                    after_unknown = o.after_unknown
                    ids = o.next
                    if not self.encode_part(&o, start, end):
                        return NO_MEMORY
                    if not after_unknown:    # else its first token may be part of the last one
                        learn_word(s, j, ids, o.next - ids)
                start = end
            close_output(&o)
        return DONE

    cdef bint encode_part(self, Output* o, size_t start, size_t end) noexcept nogil:
        cdef MergeScratch* scratch = &o.s.merge
        cdef Py_ssize_t n
        cdef uint32_t at = 0, number = self.trie.find(o.p + start, end - start)
        if number != NO_VALUE and self.is_merged[number] and self.fates[number] == IS_PIECE:
            put_piece(o, start, end, number)
            return True
        n = self.symbols_of(scratch, o.p + start, end - start)
        if n < 0:
            return False
        merge_symbols(&self.merges.tables, scratch, n)
        while at < n:
            self.put_symbol(o, start, scratch.symbols[at].id, scratch.symbols[at].n_bytes, 0)
            start += scratch.symbols[at].n_bytes
            at = scratch.symbols[at].next
        return True

    cdef Py_ssize_t symbols_of(self, MergeScratch* scratch, const uint8_t* p, size_t n) noexcept nogil:
        cdef size_t at = 0, size, n_symbols = 0
        cdef uint32_t id
        if not reserve_symbols(scratch, n if n <= FEW_BYTES else n_codepoints(p, n)):
            return -1
        while at < n:
            size = longest_symbol(&self.symbols.symbols, p + at, n - at) if self.symbols.symbols.exist else 0
            if size:
                id = ID_LIMIT + self.symbols.trie.find(p + at, size)
            else:
                size = character_bytes(p[at])
                id = self.trie.find(p + at, size)
            scratch.symbols[n_symbols].id = id
            scratch.symbols[n_symbols].n_bytes = <uint32_t>size
            n_symbols += 1
            at += size
        return <Py_ssize_t>n_symbols

    cdef void put_symbol(self, Output* o, size_t start, uint32_t number, size_t n, int depth) noexcept nogil:
        """Put the n bytes at `start`, which have become a number, or where that is an unused piece, its parts."""
        cdef uint32_t left, middle
        if number == NO_VALUE:
            put_unknown(o, start, start + n)
        elif number >= ID_LIMIT:
            put_piece(o, start, start + n, number - ID_LIMIT)
        elif self.fates[number] == IS_NOTHING:
            put_unknown(o, start, start + n)
        elif self.fates[number] == IS_PIECE or depth > MAX_SPLIT_DEPTH:
            put_piece(o, start, start + n, number)
        elif self.parts[2 * number] == NO_VALUE:
            put_unknown(o, start, start + n)
        else:
            left = self.parts[2 * number]
            middle = self.n_bytes[left]
            self.put_symbol(o, start, left, middle, depth + 1)
            self.put_symbol(o, start + middle, self.parts[2 * number + 1], n - middle, depth + 1)
