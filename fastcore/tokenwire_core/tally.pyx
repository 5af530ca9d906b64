"""How many tokens of a text belong to each script, and how many stand for text that the vocabulary lacks.

A token belongs to the script of the first character with one of its own, from the character that holds its first byte
on; `reference_scripts`, the slow twin, has the rule to the letter. Most entries of a vocabulary begin with whole
characters, so their script is known beforehand. The text is looked at for the others: those that begin inside a
character or with an inherited mark, the unknown token and bytes. And where a normalizer may have made letters of one
script from another's (`kept_scripts`), all tokens are sought in the text once more.

Byte-level models mark the ids of what has no script and of what is Latin (`Vocab.mark`): a text that has no others is
counted by its marks.

Cost: of marked ids nothing to speak of; else a look into a table for each token, a pass over the text where a normalizer
has changed it, a look at their neighbours for tokens of parts of characters; and where the text has to be encoded with
places, as much as that. `python -m tests.bench.tallying` measures it.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memcpy, memset

from tokenwire_core.script_changes import affixes, hides_text, kept_scripts, leaves_all, spells_affixes
from tokenwire_core.spec import PipelineSpec

from tokenwire_core.char_script cimport NEUTRAL, TW_INHERITED, TW_N_SCRIPTS, char_script, tw_script_codes
from tokenwire_core.token_scripts cimport HANI, HIRA, KANA, LATN, LOOK, Marks, class_of, has_kana, last_of, script_at, script_nearby
from tokenwire_core.unicode_class cimport code_point_at
from tokenwire_core.utf8 cimport first_ill_formed
from tokenwire_core.vocab cimport Vocab, VocabTables

cdef enum:
    LANES = 4
    MANY = 256               # tokens from here on are counted in lanes


@cython.final
@cython.freelist(16)
cdef class Tally:
    """What the tokens of a text are.

    Attributes:
        n_tokens: all.
        n_unknown: the model's unknown token.
        n_byte_fallback: bytes of characters that the vocabulary lacks.
        scripts: tokens by ISO 15924 code of their script, `Zyyy` for what has none, `Jpan` for Han beside kana, and
            `special` for control tokens and those of the template. Their sum is n_tokens; it is empty where no text is
            known that they are of.
    """

    def __init__(self, uint64_t n_tokens, uint64_t n_unknown, uint64_t n_byte_fallback, dict scripts not None):
        self.n_tokens = n_tokens
        self.n_unknown = n_unknown
        self.n_byte_fallback = n_byte_fallback
        self.by_script = scripts

    @property
    def scripts(self):
        return self.all_scripts()

    def __eq__(self, other):
        return isinstance(other, Tally) and self.fields() == (<Tally>other).fields()

    def __repr__(self):
        return "Tally(n_tokens={}, n_unknown={}, n_byte_fallback={}, scripts={})".format(*self.fields())

    cdef tuple fields(self):
        return self.n_tokens, self.n_unknown, self.n_byte_fallback, self.all_scripts()

    cdef dict all_scripts(self):
        if self.by_script is None:
            self.by_script = {}
            add_script(self.by_script, NEUTRAL, self.n_neutral)
            add_script(self.by_script, LATN, self.n_latin)
            add_script(self.by_script, SPECIAL, self.n_special)
        return self.by_script


cdef list NAMES = [tw_script_codes[number].decode("ascii") for number in range(TW_N_SCRIPTS)]
NAMES[NEUTRAL] = "Zyyy"

SCRIPTS = (*sorted({*NAMES, "Jpan"}), "special")
"""All that `Tally.scripts` can name."""


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
        self.kept = None if hides_text(spec, engine.vocab is not None) else kept_scripts(spec)
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
                    self.classes[token.id] = PLACE
        for id in engine.control_tokens.values():
            self.classes[id] = SPECIAL
        if spec.unknown_id is not None:
            self.classes[spec.unknown_id] = UNKNOWN
        for id in spec.byte_fallback_ids:
            self.classes[id] = BYTE
            self.lasts[id] = int(engine.bytes_of(id)[3:5], 16)
        if engine.vocab is not None:
            engine.vocab.mark(self.classes, NEUTRAL, LATN)

    def __dealloc__(self):
        PyMem_Free(self.classes)
        PyMem_Free(self.lasts)

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

    cdef int add(
        self, Totals* totals, const uint32_t* ids, size_t n, const Marked* marked, TextInput source, bint is_rewritten
    ) except -1:
        cdef uint32_t[N_CLASSES] counts
        cdef const uint8_t* p
        cdef size_t n_bytes = source.view(&p), k
        cdef bint is_kept = self.keeps_scripts(p, n_bytes, is_rewritten), has_look
        if is_kept and marked.n_first + marked.n_second == n:
            totals.n_neutral += marked.n_first
            totals.n_latin += marked.n_second
            return 0
        count_classes(counts, self.classes, ids, n)
        totals.n_unknown += counts[UNKNOWN]
        totals.n_byte_fallback += counts[BYTE]
        has_look = counts[LOOK] or counts[UNKNOWN] or counts[BYTE]
        counts[LOOK] = counts[UNKNOWN] = counts[BYTE] = 0
        if not is_kept or counts[PLACE] or (has_look and not self.look(counts, ids, n, p, is_rewritten)):
            self.count_places(counts, ids, n, source, p)
        if counts[HANI] and (counts[HIRA] or counts[KANA] or has_kana(p, n_bytes)):
            counts[JPAN] = counts[HANI]
            counts[HANI] = 0
        if not totals.has_more:
            totals.has_more = True
            memset(totals.by_class, 0, sizeof(totals.by_class))
        for k in range(N_CLASSES):
            totals.by_class[k] += counts[k]
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
        cdef bytes spelled
        cdef size_t first, i, start = 0
        cdef unsigned script
        first = 0
        while first < n:
            if self.classes[ids[first]] == UNKNOWN:
                return False
            if self.classes[ids[first]] == LOOK:
                script = script_nearby(v, ids, n, first)
                if script == TW_INHERITED:
                    break
                counts[script] += 1
            first += 1
        if first == n:
            return True
        # From here on what stands before matters.
        if p == NULL:
            spelled = self.spelled(ids, n)
            p = <const uint8_t*>PyBytes_AS_STRING(spelled)
            if first_ill_formed(p, PyBytes_GET_SIZE(spelled), 0) != <size_t>PyBytes_GET_SIZE(spelled):
                return False             # it ends inside a character, at a limit
        for i in range(n):
            if self.classes[ids[i]] == UNKNOWN:
                return False
            if i >= first and self.classes[ids[i]] == LOOK:
                counts[script_at(p, start, start + v.starts[ids[i] + 1] - v.starts[ids[i]], &marks)] += 1
            start += v.starts[ids[i] + 1] - v.starts[ids[i]]
        return True

    cdef bytes spelled(self, const uint32_t* ids, size_t n):
        """The bytes of all tokens."""
        cdef const VocabTables* v = &self.engine.vocab.tables
        cdef size_t i, size, n_bytes = 0
        cdef bytes made
        cdef uint8_t* out
        for i in range(n):
            n_bytes += v.starts[ids[i] + 1] - v.starts[ids[i]]
        made = PyBytes_FromStringAndSize(NULL, n_bytes)
        out = <uint8_t*>PyBytes_AS_STRING(made)
        for i in range(n):
            size = v.starts[ids[i] + 1] - v.starts[ids[i]]
            memcpy(out, v.blob + v.starts[ids[i]], size)
            out += size
        return made

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
                if last == NEUTRAL:      # perhaps a blank that is not in the text
                    return False
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
        self, uint32_t* counts, const uint32_t* ids, size_t n, TextInput source, const uint8_t* p
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
        memset(counts, 0, N_CLASSES * sizeof(uint32_t))
        for i in range(n):
            if self.classes[ids[i]] == SPECIAL:
                counts[SPECIAL] += 1
            else:
                counts[script_at(p, starts[i], ends[i], &marks)] += 1
        return 0


cdef void count_classes(uint32_t* counts, const uint8_t* classes, const uint32_t* ids, size_t n) noexcept nogil:
    cdef uint32_t[LANES - 1][N_CLASSES] lanes
    cdef size_t i = 0, k
    memset(counts, 0, N_CLASSES * sizeof(uint32_t))
    if n >= MANY:
        # Neighbours are often of one class: in lanes of their own they do not wait for each other.
        memset(lanes, 0, sizeof(lanes))
        while i + LANES <= n:
            counts[classes[ids[i]]] += 1
            lanes[0][classes[ids[i + 1]]] += 1
            lanes[1][classes[ids[i + 2]]] += 1
            lanes[2][classes[ids[i + 3]]] += 1
            i += LANES
        for k in range(N_CLASSES):
            counts[k] += lanes[0][k] + lanes[1][k] + lanes[2][k]
    while i < n:
        counts[classes[ids[i]]] += 1
        i += 1


cdef Tally tally_of(const Totals* totals):
    cdef unsigned number
    cdef uint64_t n_tokens = totals.n_neutral + totals.n_latin + totals.n_special
    cdef Tally tally = Tally.__new__(Tally)
    cdef dict scripts
    tally.n_neutral = totals.n_neutral
    tally.n_latin = totals.n_latin
    tally.n_special = totals.n_special
    if totals.has_more:
        scripts = tally.all_scripts()
        for number in range(N_CLASSES):
            add_script(scripts, number, totals.by_class[number])
            n_tokens += totals.by_class[number]
    tally.n_tokens = n_tokens
    tally.n_unknown = totals.n_unknown
    tally.n_byte_fallback = totals.n_byte_fallback
    return tally


cdef inline int add_script(dict scripts, unsigned number, uint64_t n_tokens) except -1:
    if n_tokens:
        name = name_of(number)
        scripts[name] = scripts.get(name, 0) + n_tokens
    return 0


cdef inline str name_of(unsigned number):
    return "special" if number == SPECIAL else "Jpan" if number == JPAN else NAMES[number]
