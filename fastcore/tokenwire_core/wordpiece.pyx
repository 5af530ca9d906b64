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

Cost: 0.3 microseconds an entry to build, 16 bytes a node. A word takes linear time, whatever the vocabulary and the
limit of characters: 4 ns a byte of ordinary text.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdlib cimport calloc, free, malloc, realloc

from tokenwire_core.errors import ArtifactError

from tokenwire_core.scratch cimport DONE, NO_MEMORY
from tokenwire_core.trie cimport NO_VALUE, step
from tokenwire_core.utf8 cimport n_codepoints
from tokenwire_core.word_cache cimport append, next_ids, put, recall

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
        self.prefix_bytes = len(prefix)
        self.unk = model.vocab[model.unk]
        self.max_chars = model.max_chars_per_word
        self.n_bytes = <uint32_t*>calloc(size, sizeof(uint32_t))
        if self.n_bytes == NULL:
            raise MemoryError
        for entry, id in entries.items():
            self.n_bytes[id] = <uint32_t>PyBytes_GET_SIZE(entry)
        self.first = Trie(entries)
        self.inside = Trie(behind) if prefix else self.first
        self.prepare_all(list(behind))

    def __dealloc__(self):
        free(self.failures)
        free(self.links)
        free(self.n_bytes)

    cdef int prepare_all(self, list entries) except -1:
        """Prepare the nodes level by level: a node asks for those that lie higher."""
        cdef const Node* nodes = self.inside.nodes
        cdef bytes blob = b"".join(entries)
        cdef const uint8_t* text = <const uint8_t*>PyBytes_AS_STRING(blob)
        cdef size_t n = len(entries), depth = 0, i, at = 0, n_left
        cdef uint32_t parent, slot
        cdef int status = DONE
        # Of each entry that is longer than the depth: where its bytes lie, and the node at that depth.
        cdef uint32_t* starts = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        cdef uint32_t* ends = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        cdef uint32_t* slots = <uint32_t*>calloc(n + 1, sizeof(uint32_t))
        self.failures = <Failure*>malloc(self.inside.n_slots * sizeof(Failure))
        self.links = <Link*>malloc((2 * n + 1) * sizeof(Link))
        try:
            if starts == NULL or ends == NULL or slots == NULL or self.failures == NULL or self.links == NULL:
                raise MemoryError
            for i in range(n):
                starts[i] = <uint32_t>at
                at += PyBytes_GET_SIZE(entries[i])
                ends[i] = <uint32_t>at
            self.links_capacity = 2 * n + 1
            self.n_links = 1                 # number 0 is none
            for i in range(self.inside.n_slots):
                self.failures[i].rest = UNPREPARED
            self.failures[ROOT].rest = NO_REST
            self.failures[ROOT].last = 0
            with nogil:
                while n and status == DONE:
                    n_left = 0
                    for i in range(n):
                        if starts[i] + depth == ends[i]:
                            continue
                        parent = slots[i]
                        slot = (nodes[parent].link >> 8) ^ text[starts[i] + depth]
                        if self.failures[slot].rest == UNPREPARED:
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
                    f"the beginnings of tokens are made up of more than {MAX_LINKS} others; there are too many long ones",
                )
        finally:
            free(starts)
            free(ends)
            free(slots)
        return 0

    cdef int prepare(self, uint32_t parent, uint32_t slot, uint8_t byte) noexcept nogil:
        """Prepare the node at `slot`, to where the byte leads from its parent. Returns a Status or TOO_MANY_LINKS."""
        cdef const Node* nodes = self.inside.nodes
        cdef Failure* failure = &self.failures[slot]
        cdef size_t n_links_before = self.n_links
        cdef uint32_t rest = self.failures[parent].rest
        cdef Node node
        cdef int status
        if nodes[slot].value != NO_VALUE:
            failure.rest = ROOT
            failure.last = 0
            return self.append_link(&failure.last, nodes[slot].value)
        failure.last = self.failures[parent].last
        while rest != NO_REST:
            node = nodes[rest]
            if step(nodes, &node, byte):
                failure.rest = (nodes[rest].link >> 8) ^ byte
                return DONE
            status = self.append_chain(&failure.last, self.failures[rest].last)
            if status != DONE:
                return status
            rest = self.failures[rest].rest
        failure.rest = NO_REST
        self.n_links = n_links_before        # nobody will ask for the tokens
        return DONE

    cdef int append_link(self, uint32_t* last, uint32_t id) noexcept nogil:
        """Make `last` the place of a token behind the chain that it was the last of."""
        if not self.make_room(1):
            return NO_MEMORY
        self.links[self.n_links].id = id
        self.links[self.n_links].before = last[0]
        last[0] = <uint32_t>self.n_links
        self.n_links += 1
        return DONE

    cdef int append_chain(self, uint32_t* last, uint32_t other) noexcept nogil:
        """As append_link, for all tokens of the chain that `other` is the last of."""
        cdef uint32_t n = chain_length(self.links, other), at
        if self.n_links + n > MAX_LINKS:
            return TOO_MANY_LINKS
        if not self.make_room(n):
            return NO_MEMORY
        at = <uint32_t>(self.n_links + n)
        while other:
            at -= 1
            self.links[at].id = self.links[other].id
            self.links[at].before = at - 1
            other = self.links[other].before
        if n:
            self.links[at].before = last[0]
            self.n_links += n
            last[0] = <uint32_t>self.n_links - 1
        return DONE

    cdef bint make_room(self, size_t n) noexcept nogil:
        """Room for n links more."""
        cdef void* grown
        if self.n_links + n > self.links_capacity:
            self.links_capacity = self.n_links + n + (self.n_links >> 1)
            grown = realloc(self.links, self.links_capacity * sizeof(Link))
            if grown == NULL:
                return False
            self.links = <Link*>grown
        return True

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef Py_ssize_t n_ids = UNKNOWN_WORD
        cdef size_t start = 0, end
        cdef Py_ssize_t i
        cdef uint32_t* ids = next_ids(s, n)
        if ids == NULL:
            return NO_MEMORY
        if recall(s, p, n, ids):
            return DONE
        if n <= self.max_chars or n_codepoints(p, n) <= self.max_chars:
            n_ids = self.make_up(ids, p, n)
        if n_ids == UNKNOWN_WORD:
            put(s, ids, self.unk, 0, n)
            n_ids = 1
        elif s.tracing:
            for i in range(n_ids):
                end = start + self.n_bytes[ids[i]] - (self.prefix_bytes if i else 0)
                put(s, ids + i, ids[i], start, end)
                start = end
        append(s, n, ids, n_ids)
        return DONE

    cdef Py_ssize_t make_up(self, uint32_t* out, const uint8_t* p, size_t n) noexcept nogil:
        """Write the ids of the word p[:n], of which there are at most n. Returns how many, or UNKNOWN_WORD."""
        cdef const Node* nodes = self.first.nodes
        cdef Node node = self.first.root
        cdef size_t at = 0, first_end = 0, n_ids = 1, k
        cdef uint32_t slot = ROOT, below, last
        while at < n and step(nodes, &node, p[at]):
            at += 1
            if node.value != NO_VALUE:
                out[0] = node.value
                first_end = at
        if first_end == 0:
            return UNKNOWN_WORD
        at = first_end
        nodes = self.inside.nodes
        node = self.inside.root
        while at < n or slot != ROOT:
            if at < n:
                below = (node.link >> 8) ^ p[at]
                if step(nodes, &node, p[at]):
                    slot = below
                    at += 1
                    continue
            if self.failures[slot].rest == NO_REST:
                return UNKNOWN_WORD
            last = self.failures[slot].last
            n_ids += chain_length(self.links, last)
            k = n_ids
            while last:
                k -= 1
                out[k] = self.links[last].id
                last = self.links[last].before
            slot = self.failures[slot].rest
            node = nodes[slot]
        return <Py_ssize_t>n_ids


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
        self.unk = model.vocab[model.unk]

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef uint32_t id
        cdef uint32_t* ids = next_ids(s, 1)
        if ids == NULL:
            return NO_MEMORY
        if recall(s, p, n, ids):
            return DONE
        id = self.words.find(p, n)
        put(s, ids, self.unk if id == NO_VALUE else id, 0, n)
        append(s, n, ids, 1)
        return DONE
