"""The numbers that calls add to, and what an input used, as it is added to them.

No Python code runs while a call is added or the numbers are copied, so the GIL is the lock: whoever copies sees each
call whole or not at all. (A build without the GIL needs one here.)

Cost: some look-ups in small dictionaries for each input and script; `python -m tests.bench.metering` measures it.
"""

cimport cython
from cpython.dict cimport PyDict_GetItem, PyDict_Next
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from tokenwire_core.tally cimport Tally


@cython.final
@cython.freelist(16)
cdef class InputUsage:
    """What one input took.

    Attributes:
        language, decided_by: its label, and what decided it.
        n_bytes, n_characters: the size of the text, in UTF-8 and in code points.
        tally: the tokens computed.
    """

    cdef readonly str language
    cdef readonly str decided_by
    cdef readonly int64_t n_bytes
    cdef readonly int64_t n_characters
    cdef readonly Tally tally

    def __cinit__(
        self, str language not None, str decided_by not None, int64_t n_bytes, int64_t n_characters, Tally tally not None
    ):
        self.language = language
        self.decided_by = decided_by
        self.n_bytes = n_bytes
        self.n_characters = n_characters
        self.tally = tally


@cython.final
cdef class Ledger:
    """Numbers by their place, zero at first. Safe to use from any thread.

    Args:
        size: how many.
    """

    cdef int64_t* whole
    cdef double* broken                  # what is added to the whole one, where that is no whole number
    cdef readonly Py_ssize_t size

    def __cinit__(self, Py_ssize_t size):
        self.whole = <int64_t*>PyMem_Calloc(size, sizeof(int64_t))
        self.broken = <double*>PyMem_Calloc(size, sizeof(double))
        if self.whole == NULL or self.broken == NULL:
            raise MemoryError
        self.size = size

    def __dealloc__(self):
        PyMem_Free(self.whole)
        PyMem_Free(self.broken)

    def add(self, Py_ssize_t place, int64_t amount=1):
        """Add to a number. Raises IndexError."""
        self.check(place)
        self.whole[place] += amount

    def copy(self) -> list[float]:
        """All numbers as they are now."""
        cdef Py_ssize_t i
        cdef list numbers = []
        for i in range(self.size):
            numbers.append(self.whole[i] if self.broken[i] == 0 else self.whole[i] + self.broken[i])
        return numbers

    cdef int check(self, Py_ssize_t place) except -1:
        if not 0 <= place < self.size:
            raise IndexError(f"there is no place {place}, there are {self.size}")
        return 0


@cython.final
cdef class Histogram:
    """A number for each bucket, the last without a bound, and behind them the sum of the values.

    Args:
        ledger, place: what they are added to, and where the first of them is.
        bounds: the upper bounds of the buckets, which rise. A value on a bound is in its bucket.

    Raises:
        IndexError: the ledger has no such places.
    """

    cdef Ledger ledger
    cdef Py_ssize_t place
    cdef double* upper
    cdef Py_ssize_t n_bounds

    def __cinit__(self, Ledger ledger not None, Py_ssize_t place, bounds):
        cdef Py_ssize_t i
        self.ledger = ledger
        self.place = place
        self.n_bounds = len(bounds)
        self.upper = <double*>PyMem_Calloc(self.n_bounds + 1, sizeof(double))
        if self.upper == NULL:
            raise MemoryError
        for i in range(self.n_bounds):
            self.upper[i] = bounds[i]
        ledger.check(place)
        ledger.check(place + self.n_bounds + 1)

    def __dealloc__(self):
        PyMem_Free(self.upper)

    cdef void observe(self, double value) noexcept:
        self.bucket(value)[0] += 1
        self.ledger.broken[self.place + self.n_bounds + 1] += value

    cdef void observe_whole(self, int64_t value) noexcept:
        self.bucket(<double>value)[0] += 1
        self.ledger.whole[self.place + self.n_bounds + 1] += value

    cdef int64_t* bucket(self, double value) noexcept:
        cdef Py_ssize_t i = 0
        while i < self.n_bounds and value > self.upper[i]:
            i += 1
        return &self.ledger.whole[self.place + i]


@cython.final
cdef class Account:
    """Where the calls of one operation on one tokenizer are added.

    Args:
        ledger: what they are added to.
        volumes: the places of tokens, bytes and characters, to which `languages` are added.
        gaps: the places of unknown tokens and of byte fallback, to which `languages` are added.
        languages: by language, what it adds to a place.
        scripts, decisions: the places of tokens by script, and of inputs by what decided their language.
        tenants: the places of tokens by who asked.
        other_tenant: the place for whoever is not among them.
        request_tokens: tokens by request.

    Raises:
        IndexError: the ledger has no such places.
        KeyError: `scripts` lacks `Zyyy`, `Latn` or `special`.
    """

    cdef Ledger ledger
    cdef Py_ssize_t[3] volumes
    cdef Py_ssize_t[2] gaps
    cdef dict languages
    cdef dict scripts
    cdef dict decisions
    cdef dict tenants
    cdef Py_ssize_t other_tenant
    cdef Histogram request_tokens
    cdef Py_ssize_t neutral, latin, special     # of `scripts`
    # The last input's, as the next one is often like it.
    cdef str language
    cdef str decided_by
    cdef Py_ssize_t of_language
    cdef Py_ssize_t decision

    def __cinit__(
        self, Ledger ledger not None, volumes, gaps, dict languages not None, dict scripts not None,
        dict decisions not None, dict tenants not None, other_tenant, Histogram request_tokens not None,
    ):
        cdef Py_ssize_t place, first = min(languages.values()), last = max(languages.values())
        self.ledger = ledger
        self.volumes[0], self.volumes[1], self.volumes[2] = volumes
        self.gaps[0], self.gaps[1] = gaps
        self.languages = languages
        self.scripts = scripts
        self.decisions = decisions
        self.tenants = tenants
        self.other_tenant = other_tenant
        self.request_tokens = request_tokens
        self.neutral, self.latin, self.special = scripts["Zyyy"], scripts["Latn"], scripts["special"]
        for place in (*volumes, *gaps):
            ledger.check(place + first)
            ledger.check(place + last)
        for place in (*scripts.values(), *decisions.values(), *tenants.values(), other_tenant):
            ledger.check(place)

    cdef int add(self, list usage, str tenant) except -1:
        cdef InputUsage used
        cdef Tally tally
        cdef int64_t* whole = self.ledger.whole
        cdef int64_t n_tokens = 0
        cdef Py_ssize_t i
        cdef PyObject* place
        for i in range(PyList_GET_SIZE(usage)):
            used = <InputUsage?>(<object>PyList_GET_ITEM(usage, i))
            tally = used.tally
            if used.language is not self.language or used.decided_by is not self.decided_by:
                self.turn_to(used.language, used.decided_by)
            whole[self.volumes[0] + self.of_language] += tally.n_tokens
            whole[self.volumes[1] + self.of_language] += used.n_bytes
            whole[self.volumes[2] + self.of_language] += used.n_characters
            if tally.n_unknown or tally.n_byte_fallback:
                whole[self.gaps[0] + self.of_language] += tally.n_unknown
                whole[self.gaps[1] + self.of_language] += tally.n_byte_fallback
            whole[self.decision] += 1
            n_tokens += tally.n_tokens
            if tally.by_script is not None:
                self.add_scripts(tally.by_script)
            else:
                whole[self.neutral] += tally.n_neutral
                whole[self.latin] += tally.n_latin
                whole[self.special] += tally.n_special
        place = PyDict_GetItem(self.tenants, tenant)
        whole[<Py_ssize_t><object>place if place != NULL else self.other_tenant] += n_tokens
        self.request_tokens.observe_whole(n_tokens)
        return 0

    cdef int turn_to(self, str language, str decided_by) except -1:
        """Find the places of a language and a decision."""
        cdef Py_ssize_t of_language = self.languages[language], decision = self.decisions[decided_by]
        self.language, self.of_language = language, of_language
        self.decided_by, self.decision = decided_by, decision
        return 0

    cdef int add_scripts(self, dict scripts) except -1:
        cdef Py_ssize_t at = 0
        cdef PyObject* script
        cdef PyObject* amount
        while PyDict_Next(scripts, &at, &script, &amount):
            self.ledger.whole[<Py_ssize_t>self.scripts[<object>script]] += <object>amount
        return 0


@cython.final
cdef class Book:
    """The accounts and histograms that calls are added to, by what a call says of itself.

    Args:
        ledger: what they are added to.
        accounts: by operation and tokenizer. An operation without inputs has none.
        durations: in seconds, by operation.
        errors: the places of requests and inputs that were refused, by reason.

    Raises:
        IndexError: the ledger has no such places.
        TypeError: other objects.
    """

    cdef Ledger ledger
    cdef dict accounts
    cdef dict durations
    cdef dict errors

    def __cinit__(
        self, Ledger ledger not None, dict accounts not None, dict durations not None, dict errors not None
    ):
        for by_tokenizer in accounts.values():
            if not all(isinstance(account, Account) for account in by_tokenizer.values()):
                raise TypeError("accounts are by operation, then by tokenizer")
        if not all(isinstance(histogram, Histogram) for histogram in durations.values()):
            raise TypeError("durations are histograms")
        for place in errors.values():
            ledger.check(place)
        self.ledger = ledger
        self.accounts = accounts
        self.durations = durations
        self.errors = errors

    def answered(self, str operation, str tokenizer, str tenant, list usage not None, list input_faults not None):
        """Count what an answered call used: tokens of its good inputs, errors of the others.

        Args:
            operation, tokenizer: what was called, and with which tokenizer; nothing is counted where they are not known.
            tenant: who asked.
            usage: an `InputUsage` for each input that was answered.
            input_faults: the reason of each that was refused.

        Raises:
            KeyError: a language, script, decision or reason has no place. All before it is added.
        """
        cdef PyObject* account
        cdef PyObject* by_tokenizer = PyDict_GetItem(self.accounts, operation)
        if by_tokenizer == NULL:
            return
        account = PyDict_GetItem(<object>by_tokenizer, tokenizer)
        if account == NULL:
            return
        (<Account>account).add(usage, tenant)
        for reason in input_faults:
            self.add_refusal(reason)

    def took(self, operation, double duration_s):
        """Record how long a request took, answered or refused. Raises KeyError."""
        (<Histogram>self.durations[operation]).observe(duration_s)

    def refused(self, reason):
        """Count a request or an input that was refused. Raises KeyError."""
        self.add_refusal(reason)

    cdef int add_refusal(self, reason) except -1:
        self.ledger.whole[<Py_ssize_t>self.errors[reason]] += 1
        return 0
