"""Byte-pair encoding of characters, as tokenizer.json files of Llama 2, Mistral or Gemma have it.

A piece starts as one symbol a character: its token, or the tokens of its bytes, or the unknown token, or nothing at
all. Neighbours are then merged as listed. Prefix and suffix are part of how a character is spelled at its place.

**One piece of megabytes.** Such models see whole texts, without a pre-tokenizer. Where no token that merges can make
has x before y in it, nothing ever merges across a place between x and y, so both sides are encoded alone with the same
result. Which pairs these are is found out at construction: between `e` and `▁`, and between most pairs of Chinese
characters. What is between two such places is a word, and goes through the word cache (`pieces`). Pairs that stay
together are a bit map of ASCII and `▁`, and for the rest a set with one hash (a Bloom filter): a few pairs are taken
to be in it that are not, which costs a cut but never changes a token.

At characters that have no token it depends. If their symbols merge with nothing, a cut beside them is safe, unless
they are dropped, which makes neighbours of what stands around them. Between two of them it is safe if both have all
their bytes, or if each is unknown on its own.

**One pair a token is enough**, by the proof in `bpe`, for a token that only characters' own tokens make up. That holds
for all if no merge takes or makes the unknown token or a byte's (a plain model). Otherwise every listed merge is
entered, and pieces stay whole.

Cost: 1.2 microseconds an entry and 0.3 a merge to build. Encoding is linear in the text and O(n log n) in the longest
word; about 10 ns a byte of English.
"""

from itertools import chain

from tokenwire_core.errors import ArtifactError

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from tokenwire_core.bpe cimport (
    ID_LIMIT,
    SHORT_SYMBOLS,
    Symbol,
    free_merge_scratch,
    merge_ids,
    merge_symbols,
    merged,
    reserve_symbols,
)
from tokenwire_core.pieces cimport encode_words
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY, append_token
from tokenwire_core.split cimport PIECES_PER_CHUNK
from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.vocab cimport TW_K1, TW_NO_ID, WORD_BYTES, find_long, find_word, word_hash, word_key

cdef enum:
    MANY_SYMBOLS = 1 << 20   # from here on a piece has at most MOST_GROWTH symbols a byte
    MOST_GROWTH = 16


# Symbols.


cdef inline uint32_t character_id(const Characters* form, uint32_t c) noexcept nogil:
    return form.ids[<uint32_t>form.block_of[c >> 8] << 8 | (c & 0xFF)]


cdef inline bint are_tokens(const CharTables* t, const uint8_t* p, size_t n) noexcept nogil:
    """Whether all bytes have tokens."""
    cdef size_t i
    for i in range(n):
        if t.byte_ids[p[i]] == TW_NO_ID:
            return False
    return True


cdef inline size_t put(Symbol* symbols, size_t k, uint32_t id, size_t n_bytes) noexcept nogil:
    symbols[k].id = id
    symbols[k].n_bytes = <uint32_t>n_bytes
    return k + 1


cdef inline size_t put_bytes(
    const CharTables* t, Symbol* symbols, size_t k, const uint8_t* p, size_t n
) noexcept nogil:
    cdef size_t i
    for i in range(n):
        k = put(symbols, k, t.byte_ids[p[i]], 1)
    return k


cdef Py_ssize_t symbols_of(const CharTables* t, MergeScratch* scratch, const uint8_t* p, size_t n) noexcept nogil:
    """Put the symbols of a piece into scratch. Returns how many there are, or a Status below 0, as -NO_MEMORY.

    A prefix or suffix whose bytes have tokens can make a hundred symbols of a byte, which must end somewhere.
    """
    cdef size_t at = 0, end, k = 0, n_unknown = 0, n_prefix, n_suffix
    cdef size_t most = t.n_prefix + t.n_suffix + 5       # at once: an unknown token, and all bytes of a character
    cdef uint32_t c, id
    cdef unsigned form
    if not reserve_symbols(scratch, n + most):
        return -NO_MEMORY
    while at < n:
        if k + most > scratch.symbols_capacity and not reserve_symbols(scratch, 2 * scratch.symbols_capacity):
            return -NO_MEMORY
        if k > MANY_SYMBOLS and k > MOST_GROWTH * n:
            return -GREW_TOO_LONG
        c = code_point_at(p, at, &end)
        form = (INSIDE if at else 0) | (LAST if end == n else 0)
        n_prefix = t.n_prefix if form & INSIDE else 0
        n_suffix = t.n_suffix if form & LAST else 0
        id = character_id(&t.forms[form], c)
        if id != TW_NO_ID:
            if n_unknown:
                k = put(scratch.symbols, k, t.unk, n_unknown)
                n_unknown = 0
            k = put(scratch.symbols, k, id, end - at)
        elif (
            t.byte_fallback
            and are_tokens(t, p + at, end - at)
            and are_tokens(t, t.prefix, n_prefix)
            and are_tokens(t, t.suffix, n_suffix)
        ):
            # Unknown characters before are put behind, as the reference does.
            k = put_bytes(t, scratch.symbols, k, t.prefix, n_prefix)
            k = put_bytes(t, scratch.symbols, k, p + at, end - at)
            k = put_bytes(t, scratch.symbols, k, t.suffix, n_suffix)
        elif t.unk != TW_NO_ID:
            if n_unknown and not t.fuse_unk:
                k = put(scratch.symbols, k, t.unk, n_unknown)
                n_unknown = 0
            n_unknown += end - at
        at = end
    if n_unknown:
        k = put(scratch.symbols, k, t.unk, n_unknown)
    return <Py_ssize_t>k


cdef inline size_t known_ids(const CharTables* t, const uint8_t* p, size_t n, uint32_t* out) noexcept nogil:
    """The ids of the characters of a word, how many; 0 if one has none, or there are over SHORT_SYMBOLS."""
    cdef size_t at = 0, k = 0
    while at < n and k < SHORT_SYMBOLS:
        out[k] = character_id(&t.forms[0], code_point_at(p, at, &at))
        if out[k] == TW_NO_ID:
            return 0
        k += 1
    return k if at == n else 0


# Words.


cdef Py_ssize_t encode_word(
    const void* model, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil:
    cdef const CharTables* t = <const CharTables*>model
    cdef const VocabTables* v = t.words
    cdef Py_ssize_t n_symbols
    cdef size_t k
    cdef uint32_t at = 0
    if v != NULL:
        out[0] = find_word(v, s.key_lo[j], s.key_hi[j], s.hash[j]) if n <= WORD_BYTES else find_long(v, p, n)
        if out[0] != TW_NO_ID:
            return 1
        k = known_ids(t, p, n, out)
        if k:
            return <Py_ssize_t>merge_ids(t.merges, out, k)
    n_symbols = symbols_of(t, &s.merge, p, n)
    if n_symbols <= 0:
        return n_symbols
    merge_symbols(t.merges, &s.merge, n_symbols)
    k = 0
    while at < <size_t>n_symbols:
        out[k] = s.merge.symbols[at].id
        k += 1
        at = s.merge.symbols[at].next
    return <Py_ssize_t>k


cdef int append_word(const CharTables* t, Scratch* s, const uint8_t* p, size_t n, size_t* place) noexcept nogil:
    """Append the tokens of a word, the first at `place`, which moves behind the last."""
    cdef Py_ssize_t n_symbols = symbols_of(t, &s.merge, p, n)
    cdef const Symbol* symbol
    cdef uint32_t at = 0
    if n_symbols < 0:
        return <int>-n_symbols
    if n_symbols:
        merge_symbols(t.merges, &s.merge, n_symbols)
    while at < <size_t>n_symbols:
        symbol = &s.merge.symbols[at]
        if not append_token(s, symbol.id, place[0], place[0] + symbol.n_bytes):
            return NO_MEMORY
        place[0] += symbol.n_bytes
        at = symbol.next
    return DONE


# Cuts.


cdef inline uint32_t common(uint32_t c) noexcept nogil:
    """The number of a common character, ASCII and the blank of such models; N_COMMON for others."""
    return c if c < 0x80 else 0x80 if c == BLANK else N_COMMON


cdef inline uint64_t join_hash(uint32_t x, uint32_t y, unsigned shift) noexcept nogil:
    return ((<uint64_t>x << 21 | y) * TW_K1) >> shift


cdef bint stay_together(const CharTables* t, uint32_t x, uint32_t y) noexcept nogil:
    """Whether a text must not be cut between two characters."""
    cdef bint x_is_known = character_id(&t.forms[0], x) != TW_NO_ID
    cdef bint y_is_known = character_id(&t.forms[0], y) != TW_NO_ID
    cdef uint64_t i
    if x_is_known and y_is_known:
        i = join_hash(x, y, t.joins_shift)
        return t.joins[i >> 6] >> (i & 63) & 1
    return not (t.splits_at_unknown if x_is_known or y_is_known else t.splits_unknown)


cdef size_t cut_words(
    const CharTables* t, const uint8_t* p, size_t n, size_t* position, uint32_t* ends
) noexcept nogil:
    """The ends of the next words of p[:n], which begin at `position`; it moves to the end of the last."""
    cdef size_t at = position[0], after, k = 0
    cdef uint32_t x = code_point_at(p, at, &at), y
    cdef uint32_t common_x = common(x), common_y
    cdef bint joins
    while at < n:
        y = code_point_at(p, at, &after)
        common_y = common(y)
        if common_x < N_COMMON and common_y < N_COMMON:
            joins = t.common_joins[common_x][common_y >> 6] >> (common_y & 63) & 1
        else:
            joins = stay_together(t, x, y)
        if not joins:
            ends[k] = <uint32_t>at
            k += 1
            if k == PIECES_PER_CHUNK:
                position[0] = at
                return k
        x = y
        common_x = common_y
        at = after
    ends[k] = <uint32_t>n
    position[0] = n
    return k + 1


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
                if not encode_words(encode_word, t, s, p, start, k):
                    return NO_MEMORY
                continue
            for j in range(k):
                status = append_word(t, s, p + start, s.chunk_ends[j] - start, &place)
                if status != DONE:
                    return status
                start = s.chunk_ends[j]
        return DONE
