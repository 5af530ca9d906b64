"""WordPiece, the longest entry first, and WordLevel, whole words alone, as the `tokenizers` library runs them.

A word is its longest beginning that is an entry, then of the rest the longest beginning that is an entry behind the
prefix, and so on. Looking for the longest each time takes quadratic time where long entries nearly match, so the bytes
of the rest are read once instead (LinMaxMatch: Song et al., "Fast WordPiece Tokenization", 2021). Where no byte leads
on from a node of the trie, the bytes that led there are known, and so are the longest entries that they begin with, and
the node that the remaining bytes lead to. They are prepared for each node:

- An entry is itself, with nothing left.
- Any other node has the tokens and the rest of its parent, if its byte leads on from there; if not, those of the rest
  too, and so on. Where that ends at no node, no text that leads to the node and not on can be made up.

With the entries `##a`, `##abcd`, `##b` and `##cd`, the node `abc` has the tokens `##a`, `##b` and the rest `c`.

The tokens of a node are a chain, the last one first, which goes on in the chain of its parent. What is prepared is
linear in the bytes of all entries, and bounded.

**Control tokens** that stand in the vocabulary as ordinary entries are in no trie: no text becomes their id, and what
spells one is made up of other entries or unknown as any word is. `[CLS]` as a piece is unknown to BERT's vocabularies;
but BERT's pre-tokenizer cuts at the brackets and so a user who types it gets `[`, `cl`, `##s`, `]`.

Cost: 1 microsecond an entry to build, 24 bytes a node. A word takes linear time, whatever the vocabulary and the limit
of characters: 10 to 20 ns a byte of words that are new, 40 ns a word that the cache knows.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport calloc, free, malloc, realloc

from tokenwire_core.errors import ArtifactError

from tokenwire_core.one_piece cimport encode_piece, put
from tokenwire_core.scratch cimport DONE, NO_MEMORY
from tokenwire_core.trie cimport NO_VALUE, step, value_of
from tokenwire_core.utf8 cimport n_codepoints

cdef enum:
    ROOT = 0                 # its slot
    NO_REST = 0xFFFFFFFF
    UNPREPARED = 0xFFFFFFFE
    MAX_LINKS = 1 << 24
    TOO_MANY_LINKS = -1      # beside the values of Status
    UNKNOWN_WORD = -1


cdef inline uint32_t chain_length(const Link* links, uint32_t last) noexcept nogil:
    cdef uint32_t n = 0
    while last:
        n += 1
        last = links[last].before
    return n


cdef Py_ssize_t make_up(const WordPieceTables* t, const uint8_t* p, size_t n, uint32_t* out) noexcept nogil:
    """Write the ids of the word p[:n], of which there are at most n. Returns how many, or UNKNOWN_WORD."""
    cdef Node node = t.first_root
    cdef size_t at = 0, first_end = 0, n_ids = 1, k
    cdef uint32_t slot = ROOT, below, last
    while at < n and step(t.first_nodes, &node, p[at]):
        at += 1
        if node.value != NO_VALUE:
            out[0] = node.value
            first_end = at
    if first_end == 0:
        return UNKNOWN_WORD
    at = first_end
    node = t.root
    while at < n or slot != ROOT:
        if at < n:
            below = (node.link >> 8) ^ p[at]
            if step(t.nodes, &node, p[at]):
                slot = below
                at += 1
                continue
        if t.failures[slot].rest == NO_REST:
            return UNKNOWN_WORD
        last = t.failures[slot].last
        n_ids += chain_length(t.links, last)
        k = n_ids
        while last:
            k -= 1
            out[k] = t.links[last].id
            last = t.links[last].before
        slot = t.failures[slot].rest
        node = t.nodes[slot]
    return <Py_ssize_t>n_ids


cdef Py_ssize_t encode_word(
    const void* tables, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil:
    """As WordEncoder and encode_piece want it, for pieces of any length."""
    cdef const WordPieceTables* t = <const WordPieceTables*>tables
    cdef Py_ssize_t n_ids = UNKNOWN_WORD, i
    cdef size_t start = 0, end
    if n <= t.max_chars or n_codepoints(p, n) <= t.max_chars:
        n_ids = make_up(t, p, n, out)
    if n_ids == UNKNOWN_WORD:
        put(s, out, t.unk, 0, n)
        return 1
    if s.tracing:
        for i in range(n_ids):
            end = start + t.n_bytes[out[i]] - (t.prefix_bytes if i else 0)
            put(s, out + i, out[i], start, end)
            start = end
    return n_ids


cdef class WordPiece(Model):
    """The model of a `WordPieceModel`.

    Args:
        control_ids: entries that no text becomes; the unknown token is none of them.

    Raises:
        ArtifactError: VOCABULARY_TOO_LARGE.
        MemoryError
    """

    def __cinit__(self, model, control_ids=frozenset()):
        cdef size_t id, size = max(model.vocab.values()) + 1
        cdef bytes prefix = model.prefix.encode(), entry
        cdef dict entries = {spelling.encode(): id for spelling, id in model.vocab.items() if id not in control_ids}
        cdef dict behind = entries
        if prefix:
            behind = {entry[len(prefix):]: id for entry, id in entries.items() if entry.startswith(prefix)}
        self.tables.prefix_bytes = len(prefix)
        self.tables.unk = model.vocab[model.unk]
        self.tables.max_chars = model.max_chars_per_word
        self.tables.n_bytes = <uint32_t*>calloc(size, sizeof(uint32_t))
        if self.tables.n_bytes == NULL:
            raise MemoryError
        for entry, id in entries.items():
            self.tables.n_bytes[id] = <uint32_t>PyBytes_GET_SIZE(entry)
        self.first = Trie(entries)
        self.inside = Trie(behind) if prefix else self.first
        self.tables.first_nodes = self.first.nodes
        self.tables.first_root = self.first.root
        self.tables.nodes = self.inside.nodes
        self.tables.root = self.inside.root
        self.prepare_all(list(behind))

    def __dealloc__(self):
        free(self.tables.failures)
        free(self.tables.links)
        free(self.tables.n_bytes)

    cdef int prepare_all(self, list entries) except -1:
        """Prepare the nodes level by level: a node asks for those that lie higher."""
        cdef WordPieceTables* t = &self.tables
        cdef bytes blob = b"".join(entries)
        cdef const uint8_t* text = <const uint8_t*>PyBytes_AS_STRING(blob)
        cdef size_t n = len(entries), depth = 0, i, at = 0, n_left
        cdef uint32_t parent, slot
        cdef int status = DONE
        # Of each entry that is longer than the depth: where its bytes lie, and the node at that depth.
        cdef uint32_t* starts = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        cdef uint32_t* ends = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        cdef uint32_t* slots = <uint32_t*>calloc(n + 1, sizeof(uint32_t))
        t.failures = <Failure*>malloc(self.inside.n_slots * sizeof(Failure))
        t.links = <Link*>malloc((2 * n + 1) * sizeof(Link))
        try:
            if starts == NULL or ends == NULL or slots == NULL or t.failures == NULL or t.links == NULL:
                raise MemoryError
            for i in range(n):
                starts[i] = <uint32_t>at
                at += PyBytes_GET_SIZE(entries[i])
                ends[i] = <uint32_t>at
            self.links_capacity = 2 * n + 1
            self.n_links = 1                 # number 0 is none
            for i in range(self.inside.n_slots):
                t.failures[i].rest = UNPREPARED
            t.failures[ROOT].rest = NO_REST
            t.failures[ROOT].last = 0
            with nogil:
                while n and status == DONE:
                    n_left = 0
                    for i in range(n):
                        if starts[i] + depth == ends[i]:
                            continue
                        parent = slots[i]
                        slot = (t.nodes[parent].link >> 8) ^ text[starts[i] + depth]
                        if t.failures[slot].rest == UNPREPARED:
                            status = self.prepare(parent, slot, text[starts[i] + depth])
                            if status != DONE:
                                break
                        starts[n_left] = starts[i]
                        ends[n_left] = ends[i]
                        slots[n_left] = slot
                        n_left += 1
                    n = n_left
                    depth += 1
            if status == NO_MEMORY:
                raise MemoryError
            if status != DONE:
                raise ArtifactError(
                    "VOCABULARY_TOO_LARGE",
                    f"what tokens begin with is made up of more than {MAX_LINKS} others; there are too many long ones",
                )
        finally:
            free(starts)
            free(ends)
            free(slots)
        return 0

    cdef int prepare(self, uint32_t parent, uint32_t slot, uint8_t byte) noexcept nogil:
        """Prepare the node at `slot`, to where the byte leads from its parent. Returns a Status or TOO_MANY_LINKS."""
        cdef const WordPieceTables* t = &self.tables
        cdef Failure* failure = &t.failures[slot]
        cdef size_t n_links_before = self.n_links
        cdef uint32_t rest = t.failures[parent].rest
        cdef Node node
        cdef int status
        if t.nodes[slot].value != NO_VALUE:
            failure.rest = ROOT
            failure.last = 0
            return self.append_link(&failure.last, t.nodes[slot].value)
        failure.last = t.failures[parent].last
        while rest != NO_REST:
            node = t.nodes[rest]
            if step(t.nodes, &node, byte):
                failure.rest = (t.nodes[rest].link >> 8) ^ byte
                return DONE
            status = self.append_chain(&failure.last, t.failures[rest].last)
            if status != DONE:
                return status
            rest = t.failures[rest].rest
        failure.rest = NO_REST
        self.n_links = n_links_before        # nobody will ask for the tokens
        return DONE

    cdef int append_link(self, uint32_t* last, uint32_t id) noexcept nogil:
        """Make `last` the place of a token behind the chain that it was the last of."""
        cdef Link* link
        if not self.make_room(1):
            return NO_MEMORY
        link = &self.tables.links[self.n_links]
        link.id = id
        link.before = last[0]
        last[0] = <uint32_t>self.n_links
        self.n_links += 1
        return DONE

    cdef int append_chain(self, uint32_t* last, uint32_t other) noexcept nogil:
        """As append_link, for all tokens of the chain that `other` is the last of."""
        cdef uint32_t n = chain_length(self.tables.links, other), at
        cdef Link* links
        if self.n_links + n > MAX_LINKS:
            return TOO_MANY_LINKS
        if not self.make_room(n):
            return NO_MEMORY
        links = self.tables.links
        at = <uint32_t>(self.n_links + n)
        while other:
            at -= 1
            links[at].id = links[other].id
            links[at].before = at - 1
            other = links[other].before
        if n:
            links[at].before = last[0]
            self.n_links += n
            last[0] = <uint32_t>self.n_links - 1
        return DONE

    cdef bint make_room(self, size_t n) noexcept nogil:
        """Room for n links more."""
        cdef void* grown
        if self.n_links + n > self.links_capacity:
            self.links_capacity = self.n_links + n + (self.n_links >> 1)
            grown = realloc(self.tables.links, self.links_capacity * sizeof(Link))
            if grown == NULL:
                return False
            self.tables.links = <Link*>grown
        return True

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        return encode_piece(encode_word, &self.tables, s, p, n)


cdef Py_ssize_t encode_whole_word(
    const void* tables, Scratch* s, const uint8_t* p, size_t n, size_t j, uint32_t* out
) noexcept nogil:
    cdef const WordLevelTables* t = <const WordLevelTables*>tables
    cdef uint32_t id = value_of(t.nodes, t.root, p, n)
    put(s, out, t.unk if id == NO_VALUE else id, 0, n)
    return 1


cdef class WordLevel(Model):
    """The model of a `WordLevelModel`.

    Args:
        control_ids: entries that no text becomes; the unknown token is none of them.

    Raises:
        ArtifactError: VOCABULARY_TOO_LARGE.
        MemoryError
    """

    def __cinit__(self, model, control_ids=frozenset()):
        self.words = Trie({spelling.encode(): id for spelling, id in model.vocab.items() if id not in control_ids})
        self.tables.nodes = self.words.nodes
        self.tables.root = self.words.root
        self.tables.unk = model.vocab[model.unk]

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        return encode_piece(encode_whole_word, &self.tables, s, p, n)
