/* 64 bytes to bit masks: one bit a byte, bit 0 the first. AVX2 where the processor has it, SSE2 on any other x86-64,
   plain C elsewhere and with TW_PORTABLE; all three give the same masks. The mask of a class is 0 where no byte is of
   it. */
#pragma once
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t letter;      /* A-Z a-z */
    uint64_t upper;       /* A-Z */
    uint64_t digit;       /* 0-9 */
    uint64_t space;       /* U+0020 */
    uint64_t blank;       /* tab, vertical tab, form feed */
    uint64_t newline;     /* CR, LF */
    uint64_t high;        /* not ASCII */
    uint64_t apostrophe;
    uint64_t slash;
} tw_masks;

typedef void (*tw_classifier)(const uint8_t *p, tw_masks *m);

static void tw_classify_plain(const uint8_t *p, tw_masks *m) {
    memset(m, 0, sizeof *m);
    for (int i = 0; i < 64; i++) {
        uint64_t bit = (uint64_t)1 << i;
        uint8_t c = p[i], lower = c | 0x20;
        if (lower >= 'a' && lower <= 'z') { m->letter |= bit; if (c < 'a') m->upper |= bit; }
        else if (c >= '0' && c <= '9') m->digit |= bit;
        else if (c == ' ') m->space |= bit;
        else if (c == '\n' || c == '\r') m->newline |= bit;
        else if (c == '\t' || c == '\v' || c == '\f') m->blank |= bit;
        else if (c >= 0x80) m->high |= bit;
        else if (c == '\'') m->apostrophe |= bit;
        else if (c == '/') m->slash |= bit;
    }
}

/* The controls among 64 bytes: below U+0020, or U+007F. Eight bytes at a time: a sum's top bit says whether the rest of
   the byte reaches a bound; the product gathers the top bits. */
static inline uint64_t tw_controls(const uint8_t *p) {
    const uint64_t ones = 0x0101010101010101u, low = 0x7F * ones, top = 0x80 * ones;
    uint64_t found = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t x = 0;
        for (int j = 0; j < 8; j++)
            x |= (uint64_t)p[8 * i + j] << 8 * j;
        uint64_t visible = ((x & low) + 0x60 * ones) & ~((x & low) + ones) & top;
        found |= ((~visible & ~x & top) >> 7) * 0x0102040810204080u >> 56 << 8 * i;
    }
    return found;
}

#if defined(__x86_64__) && !defined(TW_PORTABLE)
#include <immintrin.h>

/* x in [first, first + count) as signed compare: both sides are moved to the bottom of the range. */
#define TW_RANGE128(x, first, count) \
    _mm_cmplt_epi8(_mm_add_epi8(x, _mm_set1_epi8((char)(-(first) - 128))), _mm_set1_epi8((char)(-128 + (count))))
#define TW_IS128(x, c) _mm_cmpeq_epi8(x, _mm_set1_epi8(c))
#define TW_BITS128(v) ((uint64_t)(uint32_t)_mm_movemask_epi8(v) << shift)

static void tw_classify_sse2(const uint8_t *p, tw_masks *m) {
    memset(m, 0, sizeof *m);
    for (int shift = 0; shift < 64; shift += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(p + shift));
        uint64_t newline = TW_BITS128(_mm_or_si128(TW_IS128(x, '\n'), TW_IS128(x, '\r')));
        m->letter |= TW_BITS128(TW_RANGE128(_mm_or_si128(x, _mm_set1_epi8(0x20)), 'a', 26));
        m->upper |= TW_BITS128(TW_RANGE128(x, 'A', 26));
        m->digit |= TW_BITS128(TW_RANGE128(x, '0', 10));
        m->space |= TW_BITS128(TW_IS128(x, ' '));
        m->newline |= newline;
        m->blank |= TW_BITS128(TW_RANGE128(x, '\t', 5)) & ~newline;
        m->high |= TW_BITS128(x);
        m->apostrophe |= TW_BITS128(TW_IS128(x, '\''));
        m->slash |= TW_BITS128(TW_IS128(x, '/'));
    }
}

#define TW_RANGE256(x, first, count) \
    _mm256_cmpgt_epi8(_mm256_set1_epi8((char)(-128 + (count))), _mm256_add_epi8(x, _mm256_set1_epi8((char)(-(first) - 128))))
#define TW_IS256(x, c) _mm256_cmpeq_epi8(x, _mm256_set1_epi8(c))
#define TW_BITS256(lo, hi) ((uint64_t)(uint32_t)_mm256_movemask_epi8(lo) | (uint64_t)(uint32_t)_mm256_movemask_epi8(hi) << 32)

__attribute__((target("avx2"))) static void tw_classify_avx2(const uint8_t *p, tw_masks *m) {
    __m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)(p + 32));
    __m256i case_bit = _mm256_set1_epi8(0x20);
    m->newline = TW_BITS256(_mm256_or_si256(TW_IS256(a, '\n'), TW_IS256(a, '\r')),
                            _mm256_or_si256(TW_IS256(b, '\n'), TW_IS256(b, '\r')));
    m->letter = TW_BITS256(TW_RANGE256(_mm256_or_si256(a, case_bit), 'a', 26),
                           TW_RANGE256(_mm256_or_si256(b, case_bit), 'a', 26));
    m->upper = TW_BITS256(TW_RANGE256(a, 'A', 26), TW_RANGE256(b, 'A', 26));
    m->digit = TW_BITS256(TW_RANGE256(a, '0', 10), TW_RANGE256(b, '0', 10));
    m->space = TW_BITS256(TW_IS256(a, ' '), TW_IS256(b, ' '));
    m->blank = TW_BITS256(TW_RANGE256(a, '\t', 5), TW_RANGE256(b, '\t', 5)) & ~m->newline;
    m->high = TW_BITS256(a, b);
    m->apostrophe = TW_BITS256(TW_IS256(a, '\''), TW_IS256(b, '\''));
    m->slash = TW_BITS256(TW_IS256(a, '/'), TW_IS256(b, '/'));
}

static tw_classifier tw_best_classifier(void) {
    return __builtin_cpu_supports("avx2") ? tw_classify_avx2 : tw_classify_sse2;
}
#else
#define tw_classify_sse2 tw_classify_plain
#define tw_classify_avx2 tw_classify_plain
static tw_classifier tw_best_classifier(void) { return tw_classify_plain; }
#endif

static inline unsigned tw_lowest(uint64_t bits) { return (unsigned)__builtin_ctzll(bits); }
static inline unsigned tw_highest(uint64_t bits) { return 63u - (unsigned)__builtin_clzll(bits); }

/* Write base + position of each bit to out and return how many; scribbles up to 7 places past them. */
static inline unsigned tw_positions(uint64_t bits, uint32_t base, uint32_t *out) {
    unsigned n = (unsigned)__builtin_popcountll(bits);
    for (unsigned i = 0; i < n; i += 8)
        for (unsigned k = 0; k < 8; k++) {
            out[i + k] = base + (unsigned)__builtin_ctzll(bits | (uint64_t)1 << 63);
            bits &= bits - 1;
        }
    return n;
}
