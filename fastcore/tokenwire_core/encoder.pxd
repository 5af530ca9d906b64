# A compiled tokenizer: from a text as it is sent to an Encoding.
from libc.stdint cimport uint32_t, uint64_t

from tokenwire_core.engine cimport Engine
from tokenwire_core.scratch cimport Scratch
from tokenwire_core.tally cimport Tallier, Totals
from tokenwire_core.text_input cimport TextInput

cdef enum:
    POOL_SIZE = 8                # idle scratches kept
    MAX_POLICIES = 8             # sets of allowed control tokens that are kept ready

cdef class Encoder:
    cdef readonly object spec
    cdef readonly Engine engine
    cdef readonly dict special_tokens
    cdef readonly dict control_tokens
    cdef dict layouts            # (number of texts, add_special): template.Layout
    cdef tuple plain_layout      # that of (1, False)
    cdef object all_controls     # what the engine takes for all control tokens allowed
    cdef dict policies           # and for the sets that came last
    cdef Tallier tallier         # made when it is first asked for
    cdef Scratch* pool[POOL_SIZE]
    cdef int n_pool

    cdef Scratch* acquire(self, bint keep, int tracing) except NULL
    cdef void release(self, Scratch* s) noexcept
    cdef object allowed(self, object special)
    cdef int run(self, Scratch* s, TextInput source, uint64_t limit) except -1
    cdef int run_part(
        self, Scratch* s, TextInput source, size_t start, size_t end, object special, uint64_t limit
    ) except -1
    cdef Py_ssize_t hold(self, Scratch* s, TextInput source) except -1
    cdef tuple layout(self, int n_texts, bint add_special)
    cdef int add_tally(
        self, Totals* totals, const uint32_t* ids, size_t n, TextInput source, bint is_rewritten
    ) except -1
