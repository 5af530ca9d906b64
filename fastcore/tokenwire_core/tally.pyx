"""How many tokens of a text belong to each script, and how many stand for text that the vocabulary lacks.

A token belongs to the script of the first character with one of its own, from the character that holds its first byte
on; `reference_scripts`, the slow twin, has the rule to the letter. Most entries of a vocabulary begin with whole
characters, so their script is known beforehand. The text is looked at for the others: those that begin inside a
character or with an inherited mark, the unknown token and bytes. And where a normalizer may have made letters of one
script from another's (`kept_scripts`), all tokens are sought in the text once more.

Cost: a look into a table for each token, a pass over the text where a normalizer may change it, a pass over the tokens
where some depend on the text; and where the text has to be encoded with places, as much as that.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.string cimport memcpy, memset

from tokenwire_core.script_changes import affixes, kept_scripts, leaves_all, spells_affixes
from tokenwire_core.spec import PipelineSpec

from tokenwire_core.char_script cimport NEUTRAL, TW_INHERITED, TW_N_SCRIPTS, char_script, tw_script_codes
from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.utf8 cimport first_ill_formed
from tokenwire_core.vocab cimport Vocab, VocabTables

cdef enum:
    LANES = 4
    BLOCK = 256              # tokens that are counted in one way
    # Of a kind, two bits in a word for 32 ids: so those of the ids that most texts are made of fit into 8 KiB.
    LATIN_KIND = 1           # 0 is neutral
    OTHER_KIND = 2


@cython.final
@cython.freelist(16)
cdef class Tally:
    """What the tokens of a text are.

    Attributes:
        n_tokens: all.
        n_unknown: the model's unknown token.
        n_byte_fallback: bytes of characters that the vocabulary lacks.
        scripts: tokens by ISO 15924 code of their script, `Zyyy` for what has none, `Jpan` for Han beside kana, and
            `special` for control tokens and those of the template. Their sum is n_tokens.
    """

    def __init__(self, uint64_t n_tokens, uint64_t n_unknown, uint64_t n_byte_fallback, dict scripts not None):
        self.n_tokens = n_tokens
        self.n_unknown = n_unknown
        self.n_byte_fallback = n_byte_fallback
        self.scripts = scripts

    def __eq__(self, other):
        return isinstance(other, Tally) and self.fields() == (<Tally>other).fields()

    def __repr__(self):
        return "Tally(n_tokens={}, n_unknown={}, n_byte_fallback={}, scripts={})".format(*self.fields())

    cdef tuple fields(self):
        return self.n_tokens, self.n_unknown, self.n_byte_fallback, self.scripts


cdef unsigned find_code(str code):
    cdef unsigned number
    for number in range(TW_N_SCRIPTS):
        if tw_script_codes[number].decode("ascii") == code:
            return number
    raise ValueError(f"there is no script {code}")


cdef unsigned LATN = find_code("Latn"), HANI = find_code("Hani"), HIRA = find_code("Hira"), KANA = find_code("Kana")

cdef list NAMES = [tw_script_codes[number].decode("ascii") for number in range(TW_N_SCRIPTS)]
NAMES[NEUTRAL] = "Zyyy"

SCRIPTS = (*sorted({*NAMES, "Jpan"}), "special")
"""All that `Tally.scripts` can name."""


# Tokens of a text by their class.
cdef struct Counts:
    size_t n_neutral         # in blocks that have nothing else
    size_t n_latin
    bint has_more            # there are other blocks: their tokens are in lanes[0]
    uint32_t[LANES][N_CLASSES] lanes


# Marks that stand together, and the script that all of them take.
cdef struct Marks:
    size_t start
    size_t end
    unsigned script


cdef unsigned script_at(const uint8_t* p, size_t start, size_t end, Marks* marks) noexcept nogil:
    """The script of the token that stands at p[start:end]. `marks` are those that were met last, before it."""
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
    return script_of_marks(p, start, marks) if first == TW_INHERITED else NEUTRAL


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


cdef uint8_t class_of(const uint8_t* p, size_t n) noexcept nogil:
    """The class of an entry that stands for p[:n]."""
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
    """The script of the last character of p[:n] that is no inherited mark; TW_INHERITED where all are."""
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
    while i < n:
        if p[i] != 0xE3 and p[i] != 0xEF and p[i] != 0xF0:    # where kana begin
            i += 1
            continue
        script = char_script(code_point_at(p, i, &i))
        if script == HIRA or script == KANA:
            return True
    return False


cdef class Tallier:
    """The classes of a tokenizer's ids.

    Args:
        engine: of the tokenizer.
        spec: its `TokenizerSpec`.
        trace: of a TextInput, starts and ends of its tokens as `Encoder.trace` gives them.
    """

    def __cinit__(self, Engine engine, spec, trace):
        cdef uint32_t id
        self.engine = engine
        self.trace = trace
        self.kept = kept_scripts(spec)
        self.is_whole = leaves_all(spec)
        self.spells_affixes = spells_affixes(spec)
        self.classes = <uint8_t*>PyMem_Malloc(len(engine.integers) + 1)
        if self.classes == NULL:
            raise MemoryError
        memset(self.classes, NEUTRAL, len(engine.integers) + 1)
        self.lasts = <uint8_t*>PyMem_Malloc(len(engine.integers) + 1)
        if self.lasts == NULL:
            raise MemoryError
        memset(self.lasts, NEUTRAL, len(engine.integers) + 1)
        if engine.vocab is not None:
            self.classify_vocab(engine.vocab)
        else:
            self.classify_spellings(engine.spellings, spec)
        if isinstance(spec, PipelineSpec) and self.kept is not None:
            for token in spec.pipeline.added_tokens:
                if not self.kept.kept(token.content):
                    self.classes[token.id] = LOOK
        for id in engine.control_tokens.values():
            self.classes[id] = SPECIAL
        if spec.unknown_id is not None:
            self.classes[spec.unknown_id] = UNKNOWN
        for id in spec.byte_fallback_ids:
            self.classes[id] = BYTE
            self.lasts[id] = int(engine.bytes_of(id)[3:5], 16)
        self.lay_out_kinds(len(engine.integers))

    def __dealloc__(self):
        PyMem_Free(self.kinds)
        PyMem_Free(self.classes)
        PyMem_Free(self.lasts)

    cdef int lay_out_kinds(self, size_t n_ids) except -1:
        cdef size_t id
        cdef uint64_t kind
        self.kinds = <uint64_t*>PyMem_Calloc((n_ids >> 5) + 1, sizeof(uint64_t))
        if self.kinds == NULL:
            raise MemoryError
        for id in range(n_ids):
            kind = 0 if self.classes[id] == NEUTRAL else LATIN_KIND if self.classes[id] == LATN else OTHER_KIND
            self.kinds[id >> 5] |= kind << (2 * id & 63)
        return 0

    cdef void classify_vocab(self, Vocab vocab) noexcept:
        cdef const uint32_t* starts = vocab.tables.starts
        cdef uint32_t id
        for id in range(vocab.tables.vocab_size):
            self.classes[id] = class_of(vocab.tables.blob + starts[id], starts[id + 1] - starts[id])

    cdef int classify_spellings(self, dict spellings, spec) except -1:
        cdef uint32_t id
        cdef bytes spelling
        cdef const uint8_t* p
        cdef bytes prefix = b"", suffix = b""
        if isinstance(spec, PipelineSpec):
            prefix, suffix = [affix.encode() for affix in affixes(spec.pipeline.model)]
        for id, spelling in spellings.items():
            if prefix or suffix:
                spelling = spelling.removeprefix(prefix).removesuffix(suffix)
            p = <const uint8_t*>PyBytes_AS_STRING(spelling)
            self.classes[id] = class_of(p, PyBytes_GET_SIZE(spelling))
            self.lasts[id] = last_of(p, PyBytes_GET_SIZE(spelling))
        return 0

    cdef int add(self, Totals* totals, const uint32_t* ids, size_t n, TextInput source, bint is_rewritten) except -1:
        cdef Counts counts
        cdef uint32_t* by_class = counts.lanes[0]
        cdef const uint8_t* p
        cdef size_t n_bytes = source.view(&p), k
        cdef bint has_look = False
        count_ids(&counts, self.kinds, self.classes, ids, n)
        if counts.has_more:
            totals.n_unknown += by_class[UNKNOWN]
            totals.n_byte_fallback += by_class[BYTE]
            has_look = by_class[LOOK] or by_class[UNKNOWN] or by_class[BYTE]
            by_class[LOOK] = by_class[UNKNOWN] = by_class[BYTE] = 0
        if (
            not self.keeps_scripts(p, n_bytes, is_rewritten)
            or (has_look and not self.look(by_class, ids, n, p, is_rewritten))
        ):
            self.count_places(&counts, ids, n, source, p)
        totals.n_neutral += counts.n_neutral
        totals.n_latin += counts.n_latin
        if not counts.has_more:
            return 0
        if by_class[HANI] and (by_class[HIRA] or by_class[KANA] or has_kana(p, n_bytes)):
            by_class[JPAN] = by_class[HANI]
            by_class[HANI] = 0
        if not totals.has_more:
            totals.has_more = True
            memset(totals.by_class, 0, sizeof(totals.by_class))
        for k in range(N_CLASSES):
            totals.by_class[k] += by_class[k]
        return 0

    cdef bint keeps_scripts(self, const uint8_t* p, size_t n, bint is_rewritten) except -1:
        """Whether the characters of the text have the same scripts in what the tokens spell."""
        if self.kept is None:
            return False
        return not (is_rewritten or self.spells_affixes) or self.kept.keep(p, n)

    cdef bint look(
        self, uint32_t* counts, const uint32_t* ids, size_t n, const uint8_t* p, bint is_rewritten
    ) except -1:
        """Count the tokens that depend on the text; False where that takes their places."""
        if self.engine.vocab is None:
            return self.is_whole and self.look_at_spellings(counts, ids, n)
        if self.engine.tiling is not None or (not is_rewritten and self.engine.tiling_as_sent is not None):
            return self.look_at_bytes(counts, ids, n, p)
        return self.is_whole and self.look_at_bytes(counts, ids, n, NULL)

    cdef bint look_at_bytes(self, uint32_t* counts, const uint32_t* ids, size_t n, const uint8_t* p) except -1:
        """`look`, where tokens are bytes of the text at p; NULL for that which they spell."""
        cdef const VocabTables* v = &self.engine.vocab.tables
        cdef Marks marks = Marks(0, 0, NEUTRAL)
        cdef uint8_t* spelled = NULL
        cdef size_t i, size, start = 0, n_bytes = 0
        if p == NULL:
            for i in range(n):
                if self.classes[ids[i]] == UNKNOWN:
                    return False
                n_bytes += v.starts[ids[i] + 1] - v.starts[ids[i]]
            spelled = <uint8_t*>PyMem_Malloc(n_bytes + 1)
            if spelled == NULL:
                raise MemoryError
            for i in range(n):
                size = v.starts[ids[i] + 1] - v.starts[ids[i]]
                memcpy(spelled + start, v.blob + v.starts[ids[i]], size)
                start += size
            if first_ill_formed(spelled, n_bytes, 0) != n_bytes:    # it ends inside a character, at a limit
                PyMem_Free(spelled)
                return False
            start = 0
            p = spelled
        for i in range(n):
            size = v.starts[ids[i] + 1] - v.starts[ids[i]]
            if self.classes[ids[i]] == LOOK:
                counts[script_at(p, start, start + size, &marks)] += 1
            start += size
        PyMem_Free(spelled)
        return True

    cdef bint look_at_spellings(self, uint32_t* counts, const uint32_t* ids, size_t n) except -1:
        """`look`, where tokens are whole characters, or bytes of one."""
        cdef size_t i = 0, after = 0, n_char
        cdef uint8_t utf8[4]
        cdef uint8_t kind
        cdef unsigned script, last = NEUTRAL
        while i < n:
            kind = self.classes[ids[i]]
            if kind == UNKNOWN or kind == SPECIAL:
                return False
            if kind == LOOK:
                counts[last] += 1
            if kind != BYTE:
                if self.lasts[ids[i]] != TW_INHERITED:
                    last = self.lasts[ids[i]]
                i += 1
                continue
            n_char = 0
            while n_char < 4 and i + n_char < n and self.classes[ids[i + n_char]] == BYTE:
                utf8[n_char] = self.lasts[ids[i + n_char]]
                n_char += 1
                if first_ill_formed(utf8, n_char, 0) == n_char:
                    break
            else:
                return False
            script = char_script(code_point_at(utf8, 0, &after))
            if script != TW_INHERITED:
                last = script
            counts[last] += <uint32_t>n_char
            i += n_char
        return True

    cdef int count_places(
        self, Counts* counts, const uint32_t* ids, size_t n, TextInput source, const uint8_t* p
    ) except -1:
        """Count anew, all tokens by where they are."""
        cdef const uint32_t* starts
        cdef const uint32_t* ends
        cdef size_t i
        cdef Marks marks = Marks(0, 0, NEUTRAL)
        packed_starts, packed_ends, _ = self.trace(source)
        if PyBytes_GET_SIZE(packed_starts) < <Py_ssize_t>(n * sizeof(uint32_t)):
            raise AssertionError("a text had fewer tokens when it was encoded with places")
        starts = <const uint32_t*>PyBytes_AS_STRING(packed_starts)
        ends = <const uint32_t*>PyBytes_AS_STRING(packed_ends)
        counts.n_neutral = counts.n_latin = 0
        counts.has_more = True
        memset(counts.lanes, 0, sizeof(counts.lanes))
        for i in range(n):
            if self.classes[ids[i]] == SPECIAL:
                counts.lanes[0][SPECIAL] += 1
            else:
                counts.lanes[0][script_at(p, starts[i], ends[i], &marks)] += 1
        return 0


cdef void count_ids(
    Counts* counts, const uint64_t* kinds, const uint8_t* classes, const uint32_t* ids, size_t n
) noexcept nogil:
    """Count all ids by their class, block by block: by kind alone where that tells, in most texts most of the time."""
    cdef size_t start = 0, size, n_latin = 0, k
    cdef unsigned n_failed = 0           # blocks in a row that had others
    counts.n_neutral = counts.n_latin = 0
    counts.has_more = False
    while start < n:
        size = min(<size_t>BLOCK, n - start)
        if n_failed < 2 and count_kinds(kinds, ids + start, size, &n_latin):
            n_failed = 0
            counts.n_latin += n_latin
            counts.n_neutral += size - n_latin
        else:
            n_failed += 1
            if not counts.has_more:
                counts.has_more = True
                memset(counts.lanes, 0, sizeof(counts.lanes))
            count_classes(counts.lanes, classes, ids + start, size)
        start += size
    if counts.has_more:
        for k in range(N_CLASSES):
            counts.lanes[0][k] += counts.lanes[1][k] + counts.lanes[2][k] + counts.lanes[3][k]


cdef bint count_kinds(const uint64_t* kinds, const uint32_t* ids, size_t n, size_t* n_latin) noexcept nogil:
    """Whether all ids are neutral or Latin; and how many are Latin."""
    cdef uint64_t kind, all_kinds = 0
    cdef size_t i, latin = 0
    for i in range(n):
        kind = kinds[ids[i] >> 5] >> (2 * ids[i] & 63)
        latin += kind & LATIN_KIND
        all_kinds |= kind
    n_latin[0] = latin
    return not all_kinds & OTHER_KIND


cdef void count_classes(
    uint32_t[LANES][N_CLASSES] lanes, const uint8_t* classes, const uint32_t* ids, size_t n
) noexcept nogil:
    # Neighbours are often of one class: in lanes of their own they do not wait for each other.
    cdef size_t i = 0
    while i + LANES <= n:
        lanes[0][classes[ids[i]]] += 1
        lanes[1][classes[ids[i + 1]]] += 1
        lanes[2][classes[ids[i + 2]]] += 1
        lanes[3][classes[ids[i + 3]]] += 1
        i += LANES
    while i < n:
        lanes[0][classes[ids[i]]] += 1
        i += 1


cdef Tally tally_of(const Totals* totals):
    cdef unsigned number
    cdef uint64_t n_tokens = totals.n_neutral + totals.n_latin + totals.n_special
    cdef Tally tally = Tally.__new__(Tally)
    cdef dict scripts = {}
    add_script(scripts, NEUTRAL, totals.n_neutral)
    add_script(scripts, LATN, totals.n_latin)
    add_script(scripts, SPECIAL, totals.n_special)
    if totals.has_more:
        for number in range(N_CLASSES):
            add_script(scripts, number, totals.by_class[number])
            n_tokens += totals.by_class[number]
    tally.n_tokens = n_tokens
    tally.n_unknown = totals.n_unknown
    tally.n_byte_fallback = totals.n_byte_fallback
    tally.scripts = scripts
    return tally


cdef inline int add_script(dict scripts, unsigned number, uint64_t n_tokens) except -1:
    if n_tokens:
        name = name_of(number)
        scripts[name] = scripts.get(name, 0) + n_tokens
    return 0


cdef inline str name_of(unsigned number):
    return "special" if number == SPECIAL else "Jpan" if number == JPAN else NAMES[number]
