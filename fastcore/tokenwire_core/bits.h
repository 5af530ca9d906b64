/* Loads, hashes and hints that Cython cannot spell; portable C, builtins of gcc and clang. */
#pragma once
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "word keys put the length in the top byte, which takes a little-endian machine"
#endif

#define TW_LIKELY(x) __builtin_expect(!!(x), 1)

static inline uint64_t tw_load64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }

static inline void tw_prefetch(const void *p) { __builtin_prefetch(p, 0, 3); }

/* The 128-bit product folded to 64 bits: every bit of both factors reaches the top bits. */
static inline uint64_t tw_fold(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    unsigned __int128 r = (unsigned __int128)a * b;
    return (uint64_t)r ^ (uint64_t)(r >> 64);
#else
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t m1 = ah * bl, m2 = al * bh, lo = al * bl;
    uint64_t mid = (lo >> 32) + (uint32_t)m1 + (uint32_t)m2;
    uint64_t hi = ah * bh + (m1 >> 32) + (m2 >> 32) + (mid >> 32);
    return ((mid << 32) | (uint32_t)lo) ^ hi;
#endif
}

/* The first n (0 to 8) of the 8 bytes at p, the others zero. */
static const uint8_t tw_mask_bytes[16] = {255, 255, 255, 255, 255, 255, 255, 255};
static inline uint64_t tw_first_bytes(const uint8_t *p, unsigned n) {
    return tw_load64(p) & tw_load64(tw_mask_bytes + 8 - n);
}

/* The least of n numbers, n a multiple of 4 above 0. */
typedef int32_t tw_int32x4 __attribute__((vector_size(16)));
static inline int32_t tw_least(const int32_t *numbers, size_t n) {
    tw_int32x4 least, next, is_less;
    memcpy(&least, numbers, sizeof least);
    for (size_t i = 4; i < n; i += 4) {
        memcpy(&next, numbers + i, sizeof next);
        is_less = next < least;
        least = (next & is_less) | (least & ~is_less);
    }
    int32_t a = least[0] < least[1] ? least[0] : least[1];
    int32_t b = least[2] < least[3] ? least[2] : least[3];
    return a < b ? a : b;
}

#define TW_K1 0x9E3779B97F4A7C15ull
#define TW_K2 0xD6E8FEB86659FD93ull

/* No such token. */
#define TW_NO_ID 0xFFFFFFFFu
