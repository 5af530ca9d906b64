"""The pre-tokenizer of a pipeline: its stages compiled, one after the other, from a text to the pieces a model sees.

`formats/hf_pretokenizers.py` says what each stage is and which code does it, the slow twin, `reference_pretokenize`,
what it does. Here a stage is one step or a few: `split_stages` cut by patterns, `char_stages` by what characters are,
`text_stages` change the text.

Cost: linear in the text and its pieces, for each stage.
"""

import time

from tokenwire_core.compiled_steps import compiled_steps
from tokenwire_core.formats.hf_pretokenizers import ByteLevel, Digits, Split
from tokenwire_core.pipeline import Regex
from tokenwire_core.regex_split import MAX_TEXT_BYTES as _MAX_TEXT_BYTES
from tokenwire_core.split import SEQUENCES as _SEQUENCES

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport PyObject
from libc.stddef cimport size_t
from libc.stdint cimport uint32_t
from libc.string cimport memset

from tokenwire_core.aligned cimport SAME, begin, finish, free_aligned, place_of, put_at
from tokenwire_core.cuts cimport PreTokenizer, cutting_of
from tokenwire_core.scratch cimport (
    DONE,
    GREW_TOO_LONG,
    NO_MEMORY,
    TOO_SLOW,
    Range,
    free_scratch,
    new_scratch,
    reserve,
)
from tokenwire_core.split_scalar cimport GPT2_DIGITS
from tokenwire_core.split_stages cimport FamilySplit, RegexSplit, family_split
from tokenwire_core.text_stages cimport (
    ByteAlphabet,
    MetaspaceStage,
    PrefixBlank,
    close_gaps,
    to_bytes,
)

cdef extern from "Python.h" nogil:
    PyObject* PyTuple_GET_ITEM(PyObject* tuple, Py_ssize_t i)

cdef enum:
    MAX_GROWTH = 16          # a text may become so many times as long, by prefixes and the byte alphabet
    FREE_GROWTH = 1024       # and so many bytes longer anyway


_AS_ONE = (
    *(
        (tuple(Split(Regex(pattern), "Isolated") for pattern in patterns), family, ())
        for patterns, family in _SEQUENCES.items()
    ),
    # StarCoder, SmolLM, Command R and others.
    ((Digits(True), ByteLevel(False, True)), GPT2_DIGITS, (ByteLevel(False, False),)),
)
"""Stages that one family of `split` stands for, and which stages are left to do behind it."""


def _steps(stages):
    steps = []
    at = 0
    while at < len(stages):
        for sequence, family, rest in _AS_ONE:
            if stages[at : at + len(sequence)] == sequence:
                steps.append(family_split(family, cutting_of("Isolated", False)))
                steps += _steps(rest)
                at += len(sequence)
                break
        else:
            steps += compiled_steps(stages[at])
            at += 1
    return steps


cdef class PreTokenizerChain:
    """Stages compiled, in order. Immutable: any number of threads may run one.

    Args:
        stages: as in `pipeline.Pipeline.pre_tokenizer`.
        byte_level: the model works on bytes itself. So where the last stage that changes the text is a ByteLevel, its
            characters of the byte alphabet stay the bytes they stand for; a piece may then be bytes of a character.

    Attributes:
        is_empty: the text is the only piece, as it is.
        keeps_bytes: a ByteLevel was left out so, and pieces are bytes.
        needs_places: what the stages do depends on where in the source a piece stands, as the reference keeps it: the
            text must be traced.
        max_text_bytes: the longest text that a pattern on the `regex` module may be given; None without such.
        fast_pattern: where all that is done is to cut as one family of `split` does, that one; else -1.

    Raises:
        ArtifactError: BAD_PATTERN, UNSUPPORTED_PATTERN.
    """

    def __init__(self, stages, bint byte_level):
        cdef list steps = _steps(tuple(stages))
        cdef list changes = [
            number for number, step in enumerate(steps) if isinstance(step, (PrefixBlank, ByteAlphabet, MetaspaceStage))
        ]
        cdef object last = max(changes, default=None)
        self.keeps_bytes = byte_level and last is not None and isinstance(steps[last], ByteAlphabet)
        self.spell_at = len(steps)
        if self.keeps_bytes and last == len(steps) - 1:
            steps.pop()
        elif self.keeps_bytes:
            self.spell_at = last
        self.steps = tuple(steps)
        self.n_steps = len(steps)
        self.is_empty = not steps
        self.needs_places = any(
            isinstance(step, MetaspaceStage) and (<MetaspaceStage>step).only_at_source_start for step in steps
        )
        self.max_text_bytes = _MAX_TEXT_BYTES if any(isinstance(step, RegexSplit) for step in steps) else None
        self.fast_pattern = -1
        if len(steps) == 1 and isinstance(steps[0], FamilySplit) and (<FamilySplit>steps[0]).plain:
            self.fast_pattern = (<FamilySplit>steps[0]).family

    cdef int run(self, Scratch* s, const Aligned* text, size_t start, size_t end, Pieces* pieces) noexcept nogil:
        cdef size_t i
        cdef size_t most_bytes = (end - start) * MAX_GROWTH + FREE_GROWTH
        cdef const Aligned* spelled = NULL
        cdef int status
        if not reserve(&s.ranges[0], sizeof(Range)):
            return NO_MEMORY
        pieces.text = text
        pieces.ranges = <Range*>s.ranges[0].p
        pieces.ranges[0].start = <uint32_t>start
        pieces.ranges[0].end = <uint32_t>end
        pieces.n = 1
        for i in range(self.n_steps):
            if i == self.spell_at:
                status = close_gaps(s, pieces)
                if status != DONE:
                    return status
                spelled = pieces.text
            status = (<PreTokenizer>PyTuple_GET_ITEM(<PyObject*>self.steps, i)).run(s, pieces)
            if status != DONE:
                return status
            if pieces.text != text and pieces.text.n > most_bytes:
                return GREW_TOO_LONG
            if pieces.n == 0:
                return DONE
        if spelled != NULL:
            to_bytes(pieces, spelled)
        return DONE


def pre_tokenize(stages, source, int tracing, bint byte_level=False, size_t start=0, end=None, double timeout_s=1.0):
    """What the stages make of a text: the bytes of each piece, and the places of the characters that begin in it.

    Args:
        source: the text, or stretches of it that were changed before: (text, source start, source end), in bytes; with
            source end None the characters are those of the source.
        tracing: see `aligned`. With 0 there are no places, and each piece has None.
        start, end: bytes of the text, which alone are pre-tokenized.

    Raises:
        TimeoutError, MemoryError, OverflowError: TOO_SLOW, NO_MEMORY, GREW_TOO_LONG.
    """
    cdef PreTokenizerChain chain = PreTokenizerChain(stages, byte_level)
    cdef Scratch* s = new_scratch()
    cdef Aligned text
    cdef Pieces pieces
    cdef int status
    cdef bytes utf8
    if s == NULL:
        raise MemoryError
    memset(&text, 0, sizeof(Aligned))
    try:
        begin(&text, tracing)
        for part, source_start, source_end in [(source, 0, None)] if isinstance(source, str) else source:
            utf8 = part.encode()
            put_at(
                &text,
                <const uint8_t*>PyBytes_AS_STRING(utf8),
                PyBytes_GET_SIZE(utf8),
                source_start,
                <uint32_t>SAME if source_end is None else source_end,
            )
        if not finish(&text):
            raise MemoryError
        s.give_up_at_s = time.thread_time() + timeout_s
        status = chain.run(s, &text, start, text.n if end is None else end, &pieces)
        if status != DONE:
            raise {NO_MEMORY: MemoryError, GREW_TOO_LONG: OverflowError, TOO_SLOW: TimeoutError}[status]
        return pieces_of(&pieces)
    finally:
        free_aligned(&text)
        free_scratch(s)


cdef list pieces_of(const Pieces* pieces):
    cdef const uint8_t* p = pieces.text.text
    cdef uint32_t source = 0, source_end = 0
    cdef size_t i, at, after
    cdef list found = [], places
    for i in range(pieces.n):
        places = [] if pieces.text.tracing else None
        at = pieces.ranges[i].start
        while places is not None and at < pieces.ranges[i].end:
            after = at + 1
            while after < pieces.text.n and p[after] & 0xC0 == 0x80:
                after += 1
            if p[at] & 0xC0 != 0x80:
                place_of(pieces.text, at, after, &source, &source_end)
                places.append((source, source_end))
            at = after
        at = pieces.ranges[i].start
        found.append((PyBytes_FromStringAndSize(<const char*>p + at, pieces.ranges[i].end - at), places))
    return found
