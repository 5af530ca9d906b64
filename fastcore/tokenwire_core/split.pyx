"""Text to pieces: the pre-tokenizers of known patterns, without a regex engine.

A pattern is known by its exact text. `split_scalar` has the rules, one character at a time; `split_mask` applies them
to 64 bytes at once and says which piece starts are certain. Here the two are woven together, a chunk of about 192
pieces at a time. Any other pattern goes through `regex_split`.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t

from tokenwire_core.split_deepseek cimport deepseek_starts, next_deepseek
from tokenwire_core.split_mask cimport (
    tw_best_classifier,
    tw_classifier,
    tw_classify_plain,
    tw_classify_sse2,
    tw_highest,
    tw_positions,
    window_starts,
)
from tokenwire_core.split_scalar cimport CL100K, DEEPSEEK, GPT2, LLAMA3, O200K, QWEN2, QWEN3_5, TEKKEN, next_piece

_BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_IN_FRONT = r"[^\r\n\p{L}\p{N}]?"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

FAMILIES = {
    # r50k_base and p50k_base, as tiktoken writes them; then GPT-2's own text, which Whisper has too.
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": GPT2,
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": GPT2,
    # cl100k_base.
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ): CL100K,
    # Llama 3: cl100k_base's first text. Blanks at the end of a text differ.
    rf"{_CONTRACTION}|{_IN_FRONT}\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_BLANKS}": LLAMA3,
    # Qwen, Qwen2 and Qwen3.
    rf"{_CONTRACTION}|{_IN_FRONT}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_BLANKS}": QWEN2,
    # Qwen3.5 and Qwen3.6.
    (
        rf"{_CONTRACTION}|{_IN_FRONT}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_BLANKS}"
    ): QWEN3_5,
    # o200k_base.
    (
        rf"{_IN_FRONT}{_UPPER}*{_LOWER}+{_CONTRACTION}?|{_IN_FRONT}{_UPPER}+{_LOWER}*{_CONTRACTION}?"
        rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BLANKS}"
    ): O200K,
    # Tekken: Mistral since Nemo.
    (
        rf"{_IN_FRONT}{_UPPER}*{_LOWER}+|{_IN_FRONT}{_UPPER}+{_LOWER}*"
        rf"|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BLANKS}"
    ): TEKKEN,
}
"""The exact text of every pattern that is compiled here, and its family."""

_DEEPSEEK_WORDS = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

SEQUENCES = {
    # DeepSeek-V3, R1 and V4. They have the two newlines themselves where others have escapes.
    (r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", words): DEEPSEEK
    for words in (_DEEPSEEK_WORDS, _DEEPSEEK_WORDS.replace(r"\r\n", "\r\n"))
}
"""Patterns that cut one after the other, each the pieces of the one before, and the family of them all."""

cdef tw_classifier best_classifier = tw_best_classifier()


cpdef int pattern_id(str pattern):
    return FAMILIES.get(pattern, -1)


cdef size_t split_with(
    tw_classifier classify, int family, const uint8_t* text, size_t n_bytes, size_t* position, uint32_t* ends
) noexcept nogil:
    """split_chunk with a classifier of choice, or the scalar machine alone for NULL."""
    cdef size_t at = position[0], k = 0
    cdef uint64_t starts
    while k < PIECES_PER_CHUNK and at < n_bytes:
        if classify != NULL:
            if family == DEEPSEEK:
                starts = deepseek_starts(classify, text, at, n_bytes)
            else:
                starts = window_starts(family, classify, text, at, n_bytes)
            if starts:
                k += tw_positions(starts, <uint32_t>at, ends + k)
                at += tw_highest(starts)
                continue
        at = next_deepseek(text, at, n_bytes) if family == DEEPSEEK else next_piece(family, text, at, n_bytes)
        ends[k] = <uint32_t>at
        k += 1
    position[0] = at
    return k


cdef size_t split_chunk(
    int family, const uint8_t* text, size_t n_bytes, size_t* position, uint32_t* ends
) noexcept nogil:
    return split_with(best_classifier, family, text, n_bytes, position, ends)


def split(pattern: str | tuple[str, ...] | int, bytes utf8, path="best") -> list[int]:
    """The ends of the pieces of well-formed `utf8`, by one of the paths that must all agree.

    Args:
        pattern: a key of FAMILIES or SEQUENCES, or the number of a family.
        path: `best` as in production, `sse2`, `plain` (no vector instructions) or `scalar` (no masks at all).

    Raises:
        KeyError: the pattern is not compiled here, or there is no such path.
    """
    cdef tw_classifier classify = NULL
    cdef uint32_t ends[PIECES_PER_CHUNK + SPLIT_SLACK + 8]
    cdef size_t n = PyBytes_GET_SIZE(utf8), position = 0, k, i
    cdef int family = pattern if isinstance(pattern, int) else {**FAMILIES, **SEQUENCES}[pattern]
    cdef bytes padded = utf8 + bytes(TEXT_PADDING)
    cdef const uint8_t* text = <const uint8_t*>PyBytes_AS_STRING(padded)
    cdef list result = []
    if path == "best":
        classify = best_classifier
    elif path == "sse2":
        classify = tw_classify_sse2
    elif path == "plain":
        classify = tw_classify_plain
    elif path != "scalar":
        raise KeyError(path)
    while position < n:
        k = split_with(classify, family, text, n, &position, ends)
        for i in range(k):
            result.append(ends[i])
    return result
