# Where a piece may begin with characters instead of their bytes.
from tokenwire_core.byte_merges cimport ByteTables
from tokenwire_core.vocab cimport VocabTables

# Fill in t.chars and t.edges, which are NULL. False when memory ran out.
cdef bint find_char_starts(ByteTables* t, const VocabTables* v) noexcept nogil
