/* How large the caches of a scratch are. No token depends on it: the tests build the core with the smallest, and with
   TW_NO_CACHES, where nothing is ever entered. */
#pragma once

#ifndef TW_CACHE_BITS
#define TW_CACHE_BITS 16         /* sets of two slots of words: 4 MiB */
#endif
#ifndef TW_LONG_PIECES_BITS
#define TW_LONG_PIECES_BITS 12   /* pieces too long for these: 1 MiB */
#endif
#ifdef TW_NO_CACHES
#define TW_CACHES 0
#else
#define TW_CACHES 1
#endif
