"""The normalizers that look at one character at a time: Lowercase, StripAccents, Nmt, the parts of BERT's, ByteLevel.

Each is a map from a character to one, to some, or to none; most characters stay, and runs of ASCII are passed eight
bytes at once. What replaces a character is at its place, in the reference too.

Cost: 0.2 ns a byte of ASCII that stays, 1 ns any other byte, 8 ns a character that is replaced.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tokenwire_core.byte_alphabet import CHAR_OF_BYTE
from tokenwire_core.normal_forms import FormNormalizer
from tokenwire_core.rewriting cimport Normalizer, Rewrite, after_ascii, after_printable, replace, replace_alike
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY, Scratch, reserve
from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.utf8 cimport char_bytes, put_utf8

cdef extern from "normalizer_tables.h" nogil:
    const uint8_t tw_lower_block[1]
    const uint8_t tw_lower[1]
    const int32_t tw_lower_distance[1]
    const uint8_t tw_trait_block[1]
    const uint8_t tw_trait[1]

# Traits of a character.
cdef enum:
    MARK = 1
    ACCENT = 2
    BERT_CONTROL = 4
    BLANK = 8
    HAN = 16
    REMOVED_BY_NMT = 32
    BLANK_OF_NMT = 64

# What becomes of characters with some of these traits.
cdef struct Rule:
    unsigned removed
    unsigned to_blank
    unsigned spaced          # a blank is put on either side
    bint ascii_stays         # all of it, else only U+0020 to U+007E

cdef enum:
    LOWER_AT_ONCE = 4096     # bytes of ASCII


cdef inline unsigned traits_of(uint32_t c) noexcept nogil:
    return tw_trait[<uint32_t>tw_trait_block[c >> 8] << 8 | (c & 0xFF)]


cdef bint is_blank(uint32_t c) noexcept nogil:
    return traits_of(c) & BLANK != 0


cdef class TraitNormalizer(Normalizer):
    """Characters of some kinds removed, made blanks, or set between blanks."""

    cdef Rule rule

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        cdef const uint8_t* p = r.old.text
        cdef size_t n = r.old.n, i = 0, after = 0
        cdef Rule rule = self.rule
        cdef unsigned changed = rule.removed | rule.to_blank | rule.spaced, traits
        cdef uint32_t c
        cdef bint fits = True
        while i < n and fits:
            if p[i] < 0x80:
                after = after_ascii(p, n, i) if rule.ascii_stays else after_printable(p, n, i)
                if after > i:
                    i = after
                    continue
            c = code_point_at(p, i, &after)
            traits = traits_of(c) & changed
            if traits and c != 0x20:
                if traits & rule.removed:
                    fits = replace(r, i, after, b"", 0)
                elif traits & rule.to_blank:
                    fits = put_blank(r, i, after)
                else:
                    fits = put_spaced(r, i, after)
            i = after
        return DONE if fits else GREW_TOO_LONG


cdef bint put_blank(Rewrite* r, size_t start, size_t end) noexcept nogil:
    if end - start == 1:
        replace_alike(r, start, b" ", 1)
        return True
    return replace(r, start, end, b" ", 1)


cdef bint put_spaced(Rewrite* r, size_t start, size_t end) noexcept nogil:
    """The character between two blanks, all three in its place."""
    cdef uint8_t spaced[6]
    spaced[0] = 0x20
    memcpy(spaced + 1, r.old.text + start, end - start)
    spaced[end - start + 1] = 0x20
    return replace(r, start, end, spaced, end - start + 2)


cdef TraitNormalizer of_traits(unsigned removed, unsigned to_blank, unsigned spaced, bint ascii_stays):
    cdef TraitNormalizer made = TraitNormalizer()
    made.rule.removed = removed
    made.rule.to_blank = to_blank
    made.rule.spaced = spaced
    made.rule.ascii_stays = ascii_stays
    return made


cdef class LowerNormalizer(Normalizer):
    """Lower case, character by character (Unicode 17.0); `İ` becomes two."""

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        cdef const uint8_t* p = r.old.text
        cdef size_t n = r.old.n, i = 0, after = 0, size
        cdef uint8_t lower[8]
        cdef uint32_t c
        cdef int32_t distance
        if not reserve(&s.work[0], LOWER_AT_ONCE):
            return NO_MEMORY
        while i < n:
            if p[i] < 0x80:
                after = after_ascii(p, min(n, i + LOWER_AT_ONCE), i)
                if lower_ascii(<uint8_t*>s.work[0].p, p + i, after - i):
                    replace_alike(r, i, <uint8_t*>s.work[0].p, after - i)
                i = after
                continue
            c = code_point_at(p, i, &after)
            distance = tw_lower_distance[tw_lower[<uint32_t>tw_lower_block[c >> 8] << 8 | (c & 0xFF)]]
            if distance:
                size = put_utf8(lower, <uint32_t>(<int32_t>c + distance))
                if c == 0x130:
                    size += put_utf8(lower + size, 0x307)
                if size == after - i:
                    replace_alike(r, i, lower, size)
                elif not replace(r, i, after, lower, size):
                    return GREW_TOO_LONG
            i = after
        return DONE


cdef bint lower_ascii(uint8_t* lower, const uint8_t* p, size_t n) noexcept nogil:
    """Write the lower case of n bytes of ASCII; whether any of them changed."""
    cdef size_t i
    cdef uint8_t bit, changed = 0
    for i in range(n):
        bit = (<uint8_t>(p[i] - 0x41) < 26) << 5
        lower[i] = p[i] | bit
        changed |= bit
    return changed != 0


cdef class ByteLevelNormalizer(Normalizer):
    """Each byte of the UTF-8 as its character of the byte alphabet."""

    cdef uint8_t chars[256][2]
    cdef uint8_t sizes[256]

    def __init__(self):
        cdef bytes utf8
        for byte, char in enumerate(CHAR_OF_BYTE):
            utf8 = char.encode()
            self.sizes[byte] = len(utf8)
            for number, each in enumerate(utf8):
                self.chars[byte][number] = each

    cdef int rewrite(self, Scratch* s, Rewrite* r) noexcept nogil:
        cdef const uint8_t* p = r.old.text
        cdef size_t n = r.old.n, i = 0, start, end, size
        cdef uint8_t written[8]
        while i < n:
            if self.sizes[p[i]] == 1:
                i += 1
                continue
            start = i
            end = i + char_bytes(p[i])
            size = 0
            while i < end:
                written[size] = self.chars[p[i]][0]
                written[size + 1] = self.chars[p[i]][1]
                size += self.sizes[p[i]]
                i += 1
            if not replace(r, start, end, written, size):
                return GREW_TOO_LONG
        return DONE


def strip_accents(stage) -> Normalizer:
    return of_traits(MARK, 0, 0, True)


def nmt(stage) -> Normalizer:
    return of_traits(REMOVED_BY_NMT, BLANK_OF_NMT, 0, False)


def lowercase(stage) -> Normalizer:
    return LowerNormalizer()


def byte_level(stage) -> Normalizer:
    return ByteLevelNormalizer()


def bert_normalizer(stage) -> list[Normalizer]:
    """BERT's cleaning is steps of its own, one after the other."""
    cdef list steps = []
    if stage.clean_text:
        steps.append(of_traits(BERT_CONTROL, BLANK, 0, False))
    if stage.handle_chinese_chars:
        steps.append(of_traits(0, 0, HAN, True))
    if stage.lowercase if stage.strip_accents is None else stage.strip_accents:
        steps += [FormNormalizer("NFD"), of_traits(ACCENT, 0, 0, True)]
    if stage.lowercase:
        steps.append(LowerNormalizer())
    return steps
