/* How large the caches of a scratch are. No token depends on it: the tests build the core with the smallest, and with
   TW_NO_CACHES, where nothing is ever entered. */
#pragma once

#ifndef TW_CACHE_BITS
#define TW_CACHE_BITS 16         /* sets of two slots of words: 4 MiB */
#endif
#ifndef TW_LONG_PIECES_BITS
#define TW_LONG_PIECES_BITS 13   /* pieces too long for these */
#endif
#ifndef TW_LONG_PIECES_BYTES
#define TW_LONG_PIECES_BYTES ((size_t)1 << 21)   /* of them and their ids */
#endif
#ifdef TW_NO_CACHES
#define TW_CACHES 0
#else
#define TW_CACHES 1
#endif
