"""The script of a token, from its bytes or from the text; `reference_scripts`, the slow twin, has the rule to the letter."""

from libc.string cimport memcpy

from tokenwire_core.char_script cimport NEUTRAL, TW_INHERITED, TW_N_SCRIPTS, char_script, tw_script_codes
from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.utf8 cimport char_bytes, first_ill_formed

cdef enum:
    MAX_PART = 3             # bytes of a character that other tokens have
    MAX_NEARBY = 256


cdef unsigned find_code(str code):
    cdef unsigned number
    for number in range(TW_N_SCRIPTS):
        if tw_script_codes[number].decode("ascii") == code:
            return number
    raise ValueError(f"there is no script {code}")


LATN = find_code("Latn")
HANI = find_code("Hani")
HIRA = find_code("Hira")
KANA = find_code("Kana")


cdef unsigned script_at(const uint8_t* p, size_t start, size_t end, Marks* marks) noexcept nogil:
    cdef size_t after = 0
    cdef unsigned first, script
    if start == end:
        return NEUTRAL
    while p[start] & 0xC0 == 0x80:
        start -= 1
    first = script = char_script(code_point_at(p, start, &after))
    while (script == NEUTRAL or script == TW_INHERITED) and after < end:
        script = char_script(code_point_at(p, after, &after))
    if script != NEUTRAL and script != TW_INHERITED:
        return script
    if first != TW_INHERITED:
        return NEUTRAL
    return TW_INHERITED if marks == NULL else script_of_marks(p, start, marks)


cdef unsigned script_of_marks(const uint8_t* p, size_t at, Marks* marks) noexcept nogil:
    """The script of the character before the marks that p[at] is one of."""
    cdef size_t start = at, after = 0
    cdef unsigned script = TW_INHERITED
    while start and script == TW_INHERITED:
        if marks.start < start <= marks.end:
            # Marks are met in order: so none is passed twice.
            marks.end = at
            return marks.script
        start -= 1
        while p[start] & 0xC0 == 0x80:
            start -= 1
        script = char_script(code_point_at(p, start, &after))
    marks.start = start
    marks.end = at
    marks.script = NEUTRAL if script == TW_INHERITED else script
    return marks.script


cdef unsigned script_nearby(const VocabTables* v, const uint32_t* ids, size_t n, size_t i) noexcept nogil:
    cdef uint8_t[MAX_NEARBY] nearby
    cdef const uint8_t* token = v.blob + v.starts[ids[i]]
    cdef size_t size = v.starts[ids[i] + 1] - v.starts[ids[i]], n_before = 0, n_nearby, k = i, at = 0
    cdef const uint8_t* other
    if size == 0:
        return NEUTRAL
    if size > MAX_NEARBY - 2 * MAX_PART:
        return TW_INHERITED
    if token[0] & 0xC0 == 0x80:
        while n_before == 0 or nearby[MAX_PART - n_before] & 0xC0 == 0x80:
            while at == 0:
                if k == 0:
                    return TW_INHERITED
                k -= 1
                at = v.starts[ids[k] + 1] - v.starts[ids[k]]
            if n_before == MAX_PART:
                return TW_INHERITED
            at -= 1
            n_before += 1
            nearby[MAX_PART - n_before] = v.blob[v.starts[ids[k]] + at]
    memcpy(nearby + MAX_PART, token, size)
    n_nearby = MAX_PART + size
    at = n_nearby - 1                    # where the last character begins
    while nearby[at] & 0xC0 == 0x80:
        at -= 1
    k = i
    while n_nearby - at < char_bytes(nearby[at]):
        k += 1
        if k == n:
            return TW_INHERITED
        other = v.blob + v.starts[ids[k]]
        size = min(<size_t>(v.starts[ids[k] + 1] - v.starts[ids[k]]), char_bytes(nearby[at]) - (n_nearby - at))
        memcpy(nearby + n_nearby, other, size)
        n_nearby += size
    size = v.starts[ids[i] + 1] - v.starts[ids[i]]
    return script_at(nearby, MAX_PART, MAX_PART + size, NULL)


cdef uint8_t class_of(const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t i = 0, whole = first_ill_formed(p, n, 0)
    cdef unsigned script
    cdef bint begins_inherited = False
    if whole:
        begins_inherited = char_script(code_point_at(p, 0, &i)) == TW_INHERITED
        i = 0
    while i < whole:
        script = char_script(code_point_at(p, i, &i))
        if script != NEUTRAL and script != TW_INHERITED:
            return <uint8_t>script
    return LOOK if whole < n or n == 0 or begins_inherited else NEUTRAL


cdef uint8_t last_of(const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t i = 0, whole = first_ill_formed(p, n, 0)
    cdef unsigned last = TW_INHERITED, script
    while i < whole:
        script = char_script(code_point_at(p, i, &i))
        if script != TW_INHERITED:
            last = script
    return <uint8_t>last


cdef bint has_kana(const uint8_t* p, size_t n) noexcept nogil:
    cdef size_t i = 0
    cdef unsigned script
    if not may_have_kana(p, n):
        return False
    while i < n:
        if p[i] != 0xE3 and p[i] != 0xEF and p[i] != 0xF0:
            i += 1
            continue
        script = char_script(code_point_at(p, i, &i))
        if script == HIRA or script == KANA:
            return True
    return False


cdef bint may_have_kana(const uint8_t* p, size_t n) noexcept nogil:
    """Whether there are two bytes with which kana begin, of punctuation between Han none; without a branch."""
    cdef uint8_t found = 0
    cdef size_t i
    for i in range(n - 1 if n else 0):
        found |= (
            ((p[i] == 0xE3) & (<uint8_t>(p[i + 1] - 0x81) <= 0x0C))
            | ((p[i] == 0xEF) & (<uint8_t>(p[i + 1] - 0xBD) <= 1))
            | ((p[i] == 0xF0) & (<uint8_t>(p[i + 1] - 0x9A) <= 5))
        )
    return found != 0
