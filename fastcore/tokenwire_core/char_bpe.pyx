"""Byte-pair encoding of characters, as tokenizer.json files of Llama 2, Mistral or Gemma have it.

A piece starts as one symbol a character: its token, or the tokens of its bytes, or the unknown token, or nothing at
all. Neighbours are then merged as listed. Prefix and suffix are part of how a character is spelled at its place.

Texts come as one piece of megabytes, without a pre-tokenizer. They are cut where nothing can ever merge (`char_words`),
and the words between go through the word cache (`pieces`).

**One pair a token is enough**, by the proof in `merge_table`, for a token that only characters' own tokens make up.
That holds for all if no merge takes or makes the unknown token or a byte's, and there is no prefix or suffix (a plain
model). Otherwise every listed merge is entered, and pieces stay whole.

Cost: 1.2 microseconds an entry and 0.3 a merge to build. Encoding is linear in the text and O(n log n) in the longest
word; about 10 ns a byte of English.
"""

from itertools import chain

from tokenwire_core.errors import ArtifactError

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from tokenwire_core.bpe cimport ID_LIMIT, MergeScratch, MergeTables, Symbol, free_merge_scratch, merge_symbols, merged
from tokenwire_core.char_words cimport (
    BLANK,
    INSIDE,
    LAST,
    N_BLOCKS,
    Characters,
    append_word,
    are_tokens,
    common,
    cut_words,
    encode_char_word,
    join_hash,
    stay_together,
    symbols_of,
)
from tokenwire_core.pieces cimport encode_words
from tokenwire_core.scratch cimport DONE, NO_MEMORY, append_token
from tokenwire_core.vocab cimport TW_NO_ID, WORD_BYTES, find_long, find_word, word_hash, word_key


cdef class CharBpe(Model):
    """The model of a `BytePairModel`.

    Args:
        control_ids: entries that no text ever becomes; the unknown token is none of them.

    Raises:
        ArtifactError: TOO_MANY_MERGES, and those of Vocab.
        MemoryError
    """

    def __cinit__(self, model, control_ids=frozenset()):
        cdef CharTables* t = &self.tables
        cdef uint32_t byte
        cdef dict vocab = dict(model.vocab)
        if len(model.merges) >= ID_LIMIT:
            message = f"there are {len(model.merges)} merges, the limit is {ID_LIMIT - 1}"
            raise ArtifactError("TOO_MANY_MERGES", message, path="model.merges")
        never = frozenset(control_ids) - {vocab.get(model.unk)}
        entries = {spelling: id for spelling, id in vocab.items() if id not in never} if never else vocab
        self.prefix = model.prefix.encode()
        self.suffix = model.suffix.encode()
        t.prefix = <const uint8_t*>PyBytes_AS_STRING(self.prefix)
        t.suffix = <const uint8_t*>PyBytes_AS_STRING(self.suffix)
        t.n_prefix = PyBytes_GET_SIZE(self.prefix)
        t.n_suffix = PyBytes_GET_SIZE(self.suffix)
        t.unk = TW_NO_ID if model.unk is None else vocab[model.unk]
        t.fuse_unk = model.fuse_unk
        t.byte_fallback = model.byte_fallback
        byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
        for byte in range(256):
            t.byte_ids[byte] = entries.get(byte_tokens[byte], TW_NO_ID)
        self.fill_characters(entries, model.prefix, model.suffix)
        self.merges = Merges()
        t.merges = &self.merges.tables
        self.merges.tables.results = <uint32_t*>malloc((len(model.merges) + 1) * sizeof(uint32_t))
        if self.merges.tables.results == NULL:
            raise MemoryError
        memset(self.merges.tables.results, 0xFF, (len(model.merges) + 1) * sizeof(uint32_t))
        no_characters = {model.unk, *(byte_tokens if model.byte_fallback else ())}
        if (
            model.prefix
            or model.suffix
            or not no_characters.isdisjoint(chain.from_iterable(model.merges))
            or any([left + right in no_characters for left, right in model.merges])
        ):
            self.list_merges(model, entries)
        else:
            self.find_words(model, entries, no_characters)
        if model.ignore_merges:
            self.pieces = Vocab({spelling.encode(): id for spelling, id in entries.items()}, {})
            t.pieces = &self.pieces.tables

    def __dealloc__(self):
        cdef Characters* form
        cdef int i
        for i in range(4):
            form = &self.tables.forms[i]
            if i == 0 or form.ids != self.tables.forms[0].ids:
                free(form.block_of)
                free(form.ids)
        free(self.tables.joins)

    cdef int fill_characters(self, dict entries, str prefix, str suffix) except -1:
        cdef Characters* form
        cdef unsigned i
        cdef uint32_t c, id, n_blocks
        cdef void* grown
        for i in range(4):
            form = &self.tables.forms[i]
            if i and not prefix and not suffix:
                form[0] = self.tables.forms[0]
                continue
            n_blocks = 1
            form.block_of = <uint16_t*>calloc(N_BLOCKS, sizeof(uint16_t))
            form.ids = <uint32_t*>malloc(256 * sizeof(uint32_t))
            if form.block_of == NULL or form.ids == NULL:
                raise MemoryError
            memset(form.ids, 0xFF, 256 * sizeof(uint32_t))
            before = prefix if i & INSIDE else ""
            behind = suffix if i & LAST else ""
            n_chars = len(before) + 1 + len(behind)
            for spelling, id in entries.items():
                if len(spelling) != n_chars or not (spelling.startswith(before) and spelling.endswith(behind)):
                    continue
                c = ord(spelling[len(before)])
                if not form.block_of[c >> 8]:
                    grown = realloc(form.ids, (n_blocks + 1) * 256 * sizeof(uint32_t))
                    if grown == NULL:
                        raise MemoryError
                    form.ids = <uint32_t*>grown
                    memset(form.ids + 256 * n_blocks, 0xFF, 256 * sizeof(uint32_t))
                    form.block_of[c >> 8] = <uint16_t>n_blocks
                    n_blocks += 1
                form.ids[<uint32_t>form.block_of[c >> 8] << 8 | (c & 0xFF)] = id
        return 0

    cdef int list_merges(self, object model, dict entries) except -1:
        """Enter all merges."""
        cdef uint32_t rank, left_id, right_id
        cdef Py_ssize_t n_prefix = len(model.prefix)
        self.merges.make_room(len(model.merges))
        for rank, (left, right) in enumerate(model.merges):
            joined = left + right[n_prefix:]
            if joined in entries:
                left_id = model.vocab[left]
                right_id = model.vocab[right]
                self.merges.insert(left_id, right_id, rank)
                self.merges.tables.results[rank] = entries[joined]
        return 0

    cdef int find_words(self, object model, dict entries, set no_characters) except -1:
        """Enter the merges that a plain model needs, and find out what they make, and where to cut."""
        cdef CharTables* t = &self.tables
        cdef MergeTables* m = &self.merges.tables
        cdef Merges listed = Merges()
        cdef MergeScratch scratch
        cdef const Symbol* symbols
        cdef Py_ssize_t n_symbols, i
        cdef uint32_t rank, left_id, right_id
        cdef const uint8_t* p
        cdef bytes utf8
        cdef dict found = {}
        cdef set joins = set()
        listed.make_room(len(model.merges))
        for rank, (left, right) in enumerate(model.merges):
            left_id = model.vocab[left]
            right_id = model.vocab[right]
            listed.insert(left_id, right_id, rank)
        self.merges.make_room(len(entries))
        memset(&scratch, 0, sizeof(scratch))
        try:
            for spelling in sorted(entries, key=len):
                utf8 = spelling.encode()
                if len(spelling) < 2:
                    if spelling:
                        found[utf8] = entries[spelling]
                    continue
                p = <const uint8_t*>PyBytes_AS_STRING(utf8)
                n_symbols = symbols_of(t, &scratch, p, PyBytes_GET_SIZE(utf8))
                if n_symbols < 0:
                    raise MemoryError
                rank = TW_NO_ID
                symbols = scratch.symbols
                if n_symbols > 1:
                    merge_symbols(m, &scratch, n_symbols)
                    i = symbols[0].next
                    if i < n_symbols and symbols[i].next == n_symbols:
                        rank = merged(&listed.tables, symbols[0].id, symbols[i].id)
                if rank == TW_NO_ID:
                    self.n_unreachable += spelling not in no_characters
                    continue
                self.merges.insert(symbols[0].id, symbols[i].id, rank)
                m.results[rank] = entries[spelling]
                found[utf8] = entries[spelling]
                i = len(utf8[: symbols[0].n_bytes].decode())
                joins.add(spelling[i - 1 : i + 1])
        finally:
            free_merge_scratch(&scratch)
        self.merges.number_by_id(len(model.merges))
        self.words = Vocab(found, {})
        t.words = &self.words.tables
        self.note_joins(joins, entries)
        return 0

    cdef int note_joins(self, set joins, dict entries) except -1:
        """Note where to cut, from the pairs of characters that a plain model's merges join."""
        cdef CharTables* t = &self.tables
        cdef unsigned bits = 12
        cdef uint64_t i
        cdef uint32_t x, y
        cdef uint8_t[256] bytes_
        while (<size_t>1 << bits) < 16 * <size_t>len(joins):
            bits += 1
        t.joins_shift = 64 - bits
        t.joins = <uint64_t*>calloc((<size_t>1 << bits) >> 6, sizeof(uint64_t))
        if t.joins == NULL:
            raise MemoryError
        for pair in joins:
            i = join_hash(ord(pair[0]), ord(pair[1]), t.joins_shift)
            t.joins[i >> 6] |= <uint64_t>1 << (i & 63)
        for i in range(256):
            bytes_[i] = <uint8_t>i
        t.splits = True
        all_bytes = t.byte_fallback and are_tokens(t, bytes_, 256)
        t.splits_at_unknown = all_bytes or t.unk != TW_NO_ID
        t.splits_unknown = all_bytes or (not t.byte_fallback and t.unk != TW_NO_ID and not t.fuse_unk)
        for x in (*range(128), BLANK):
            for y in (*range(128), BLANK):
                if stay_together(t, x, y):
                    t.common_joins[common(x)][common(y) >> 6] |= <uint64_t>1 << (common(y) & 63)
        return 0

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef const CharTables* t = &self.tables
        cdef size_t at = 0, start, place = 0, k, j
        cdef uint64_t lo, hi
        cdef uint32_t id
        cdef int status
        if t.pieces != NULL:
            if n <= WORD_BYTES:
                word_key(p, n, &lo, &hi)
                id = find_word(t.pieces, lo, hi, word_hash(lo, hi))
            else:
                id = find_long(t.pieces, p, n)
            if id != TW_NO_ID:
                return DONE if append_token(s, id, 0, n) else NO_MEMORY
        while at < n:
            start = at
            if t.splits:
                k = cut_words(t, p, n, &at, s.chunk_ends)
            else:
                k = 1
                s.chunk_ends[0] = <uint32_t>n
                at = n
            # Only with a prefix or suffix a word may have more tokens than bytes.
            if not s.tracing and not (t.byte_fallback and t.n_prefix + t.n_suffix):
                if not encode_words(encode_char_word, t, s, p, start, k):
                    return NO_MEMORY
                continue
            for j in range(k):
                status = append_word(t, s, p + start, s.chunk_ends[j] - start, &place)
                if status != DONE:
                    return status
                start = s.chunk_ends[j]
        return DONE
