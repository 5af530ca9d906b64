"""Byte-pair encoding of bytes, whose merges a tokenizer.json lists.

Such a file spells bytes as characters of the byte alphabet; here the alphabet is undone once, at construction, and
text is taken as the bytes that it is. What is left is the algorithm of rank files (`merge_table`, `pieces`), with two
differences: the rank of a merge is its place in the list, and an entry that no merges lead to is found where it is a
whole piece only with `ignore_merges`.

Cost: 0.6 microseconds a token and 0.2 a merge to build; encoding as rank files, unless ids do not rise with ranks,
which costs one look-up more a merge.
"""

from tokenwire_core import byte_alphabet
from tokenwire_core.errors import ArtifactError

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from tokenwire_core.bpe cimport ID_LIMIT, Merges, MergeTables, result_of
from tokenwire_core.pieces cimport encode_pieces, place_tokens
from tokenwire_core.scratch cimport DONE, NO_MEMORY
from tokenwire_core.vocab cimport HIDDEN, PRESENT, VocabTables


cdef class ByteBpe(Model):
    """The model of a `BytePairModel` that `fits`.

    Args:
        control_ids: entries that no text ever becomes, by merges or whole.
        added_tokens: spelling to id of tokens beside the model's, which have bytes too.

    Raises:
        ArtifactError: TOO_MANY_TOKENS, TOO_MANY_MERGES, MISSING_BYTE.
        MemoryError
    """

    def __cinit__(self, model, control_ids=frozenset(), added_tokens=None):
        cdef uint32_t rank, n_merges = 0
        cdef Merges listed = Merges()
        vocab = model.vocab
        if len(model.merges) >= ID_LIMIT:
            message = f"there are {len(model.merges)} merges, the limit is {ID_LIMIT - 1}"
            raise ArtifactError("TOO_MANY_MERGES", message, path="model.merges")
        found = {}
        hidden = {
            id: byte_alphabet.to_bytes(spelling)
            for spelling, id in (added_tokens or {}).items()
            if spelling not in vocab
        }
        for spelling, id in vocab.items():
            if id not in control_ids and byte_alphabet.BYTE_OF_CHAR.keys() >= set(spelling):
                found[byte_alphabet.to_bytes(spelling)] = id
            else:
                hidden[id] = byte_alphabet.to_bytes(spelling)
        self.vocab = Vocab(found, {}, hidden, control_ids)
        listed.make_room(len(model.merges))
        for rank, (left, right) in enumerate(model.merges):
            listed.insert(vocab[left], vocab[right], rank)
            n_merges = rank + 1
        self.merges = MergeTable(self.vocab, listed, n_merges)
        if not model.ignore_merges and self.merges.n_unreachable:
            self.hide_unreachable()

    @staticmethod
    def fits(model, control_ids=frozenset()) -> bool:
        """Whether every byte is an entry, and nothing is put before or behind characters."""
        ids = [model.vocab.get(char) for char in byte_alphabet.CHAR_OF_BYTE]
        bytes_are_entries = None not in ids and control_ids.isdisjoint(ids)
        return bytes_are_entries and not model.prefix and not model.suffix

    cdef int hide_unreachable(self) except -1:
        """Leave only single bytes and what merges make to be found whole."""
        cdef VocabTables* v = &self.vocab.tables
        cdef const MergeTables* m = &self.merges.tables
        cdef uint8_t* flags = <uint8_t*>v.flags
        cdef uint8_t* is_made = <uint8_t*>calloc(v.vocab_size, 1)
        cdef uint64_t i
        cdef uint32_t id
        if is_made == NULL:
            raise MemoryError
        for i in range(m.mask + 1):
            if m.slots[i]:
                is_made[result_of(m, <uint32_t>(m.slots[i] & (ID_LIMIT - 1)))] = True
        for id in range(v.vocab_size):
            if flags[id] == PRESENT and not is_made[id] and v.starts[id + 1] - v.starts[id] > 1:
                flags[id] |= HIDDEN
        free(is_made)
        self.vocab.index()
        return 0

    cdef int encode(self, Scratch* s, const uint8_t* p, size_t n) noexcept nogil:
        cdef size_t first = s.n_ids
        s.chunk_ends[0] = <uint32_t>n
        if not encode_pieces(&self.vocab.tables, &self.merges.of_bytes, s, p, 0, 1):
            return NO_MEMORY
        if s.keep and s.tracing:
            place_tokens(&self.vocab.tables, s, first, 0)
        return DONE
