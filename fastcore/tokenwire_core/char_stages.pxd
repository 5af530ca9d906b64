# Cutting by what a character is.
from tokenwire_core.cuts cimport Cutting, PreTokenizer

# Characters of some kinds are delimiters, each by itself.
cdef class CharSplit(PreTokenizer):
    cdef unsigned kinds
    cdef Cutting how

# Runs of word characters, and runs of what is neither that nor blank.
cdef class WordSplit(PreTokenizer):
    pass

# What lies between blanks, punctuation apart.
cdef class BertSplit(PreTokenizer):
    pass

# Runs of one script.
cdef class ScriptSplit(PreTokenizer):
    pass

# So many characters.
cdef class LengthSplit(PreTokenizer):
    cdef size_t n_characters

cdef CharSplit char_split(unsigned kinds, Cutting how)
cdef LengthSplit length_split(size_t n_characters)
