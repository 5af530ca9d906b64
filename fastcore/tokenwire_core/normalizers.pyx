"""The normalizers of a tokenizer.json, compiled: text to text, each character knowing where it came from.

`NormalizerChain` runs the stages of a `pipeline.Pipeline` one after the other; `formats/hf_normalizers.py` says which
code does each. The slow twin is `reference_normalize`, in places with `TRACE_REFERENCE` too.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from tokenwire_core.aligned cimport SAME, TRACE_NOTHING, Stretch, place_of
from tokenwire_core.rewriting cimport end_rewrite
from tokenwire_core.scratch cimport DONE, GREW_TOO_LONG, NO_MEMORY, free_scratch, hold_text, new_scratch
from tokenwire_core.utf8 cimport char_bytes

import time

from tokenwire_core import regex_split
from tokenwire_core.compiled_steps import compiled_steps
from tokenwire_core.errors import NormalizedTooLongError, PatternTooSlowError
from tokenwire_core.replacing import ReplaceByRegex

cdef enum:
    MAX_GROWTH = 16          # times the source
    ALWAYS_ALLOWED = 1 << 20 # bytes of normalized text


cdef class NormalizerChain:
    """Stages in order.

    Args:
        stages: normalizers of `pipeline.Pipeline`.

    Attributes:
        is_empty: there is no stage.
        max_text_bytes: how long a text may be, None for any.

    Raises:
        ArtifactError: BAD_CHARSMAP, BAD_PATTERN, UNSUPPORTED_PATTERN.
    """

    def __cinit__(self, stages):
        cdef Normalizer stage
        cdef size_t k
        self.stages = tuple(step for each in stages for step in compiled_steps(each))
        self.n_stages = len(self.stages)
        self.is_empty = self.n_stages == 0
        self.max_text_bytes = None
        self.stage = <void**>PyMem_Malloc((self.n_stages + 1) * sizeof(void*))
        if self.stage == NULL:
            raise MemoryError
        for k, stage in enumerate(self.stages):
            self.stage[k] = <void*>stage
            if isinstance(stage, ReplaceByRegex):
                self.max_text_bytes = regex_split.MAX_TEXT_BYTES

    def __dealloc__(self):
        PyMem_Free(self.stage)

    cdef int run(self, Scratch* s, const Aligned* text, const Aligned** result) noexcept nogil:
        cdef Rewrite r
        cdef size_t k, which = 0
        cdef int status
        r.max_bytes = max(<size_t>ALWAYS_ALLOWED, text.n * MAX_GROWTH)
        r.nowhere = text.stretches[0].source if text.n_stretches else 0
        result[0] = text
        for k in range(self.n_stages):
            r.old = result[0]
            r.out = &s.normalized[which]
            r.kept = 0
            r.has_changed = False
            status = (<Normalizer>self.stage[k]).rewrite(s, &r)
            if status == DONE:
                status = end_rewrite(&r)
            if status != DONE:
                return status
            if r.has_changed:
                result[0] = r.out
                which ^= 1
        return DONE


cdef int raise_for(int status, double timeout_s) except -1:
    if status == NO_MEMORY:
        raise MemoryError
    if status == GREW_TOO_LONG:
        raise NormalizedTooLongError
    if status != DONE:
        raise PatternTooSlowError(timeout_s)
    return 0


def normalize(stages, str text, int tracing=TRACE_NOTHING, double timeout_s=regex_split.TIMEOUT_S) -> tuple[str, list[tuple[int, int]]]:
    """The text after all stages, and where in the source's UTF-8 each of its characters came from.

    Args:
        stages: normalizers, or for many texts a NormalizerChain made of them once.
        tracing: 0 for no places (the list is empty), 1 for those of our rule, 2 for the reference's.
        timeout_s: how long patterns without a table may be matched, in CPU seconds of this thread.

    Raises:
        NormalizedTooLongError: it would be over 1 MiB and 16 times as long as it came.
        PatternTooSlowError: matching took longer than the timeout.
    """
    cdef NormalizerChain chain = stages if isinstance(stages, NormalizerChain) else NormalizerChain(stages)
    cdef bytes utf8 = text.encode()
    cdef Aligned source
    cdef Stretch one
    cdef const Aligned* result = NULL
    cdef size_t start, end
    cdef uint32_t first = 0, last = 0
    cdef int status
    cdef Scratch* s = new_scratch()
    cdef list spans = []
    if s == NULL:
        raise MemoryError
    try:
        if not hold_text(s, <const uint8_t*>PyBytes_AS_STRING(utf8), PyBytes_GET_SIZE(utf8)):
            raise MemoryError
        s.give_up_at_s = time.thread_time() + timeout_s
        memset(&source, 0, sizeof(source))
        source.text = s.text
        source.n = PyBytes_GET_SIZE(utf8)
        source.tracing = tracing
        one.start = 0
        one.source = 0
        one.source_end = SAME
        source.stretches = &one
        source.n_stretches = tracing != TRACE_NOTHING and source.n != 0
        with nogil:
            status = chain.run(s, &source, &result)
        raise_for(status, timeout_s)
        start = 0
        while tracing and start < result.n:
            end = start + char_bytes(result.text[start])
            place_of(result, start, end, &first, &last)
            spans.append((first, last))
            start = end
        return (<const char*>result.text)[:result.n].decode(), spans
    finally:
        free_scratch(s)


def normalize_each(NormalizerChain chain not None, texts) -> list[str]:
    """Each text by itself after all stages.

    Raises:
        NormalizedTooLongError, PatternTooSlowError: as `normalize`.
    """
    cdef Scratch* s = new_scratch()
    cdef list found = []
    if s == NULL:
        raise MemoryError
    try:
        for text in texts:
            found.append(normalized(chain, s, text))
        return found
    finally:
        free_scratch(s)


cdef str normalized(NormalizerChain chain, Scratch* s, str text):
    cdef bytes utf8 = text.encode()
    cdef Aligned source
    cdef const Aligned* result = NULL
    cdef int status
    if not hold_text(s, <const uint8_t*>PyBytes_AS_STRING(utf8), PyBytes_GET_SIZE(utf8)):
        raise MemoryError
    memset(&source, 0, sizeof(source))
    source.text = s.text
    source.n = PyBytes_GET_SIZE(utf8)
    s.give_up_at_s = time.thread_time() + regex_split.TIMEOUT_S
    with nogil:
        status = chain.run(s, &source, &result)
    raise_for(status, regex_split.TIMEOUT_S)
    return (<const char*>result.text)[:result.n].decode()
