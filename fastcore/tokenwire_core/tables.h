/* Memory for hash tables: zeroed, on whole cache lines, and on huge pages where the system has them to give. */
#pragma once
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define TW_CACHE_LINE 64
#define TW_HUGE_PAGE ((size_t)1 << 21)

/* NULL when memory ran out. Free it with free(). A slot of 32 bytes or a set of 64 then never lies on two lines, and a
   table of some MiB needs a few entries of the TLB instead of thousands. */
static inline void *tw_new_table(size_t n_bytes) {
    void *table = NULL;
    if (posix_memalign(&table, n_bytes >= TW_HUGE_PAGE ? TW_HUGE_PAGE : TW_CACHE_LINE, n_bytes))
        return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (n_bytes >= TW_HUGE_PAGE)
        madvise(table, n_bytes, MADV_HUGEPAGE);
#endif
    return memset(table, 0, n_bytes);
}
