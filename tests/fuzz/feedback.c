/* What the instrumented core reports while it runs: gcc's -fsanitize-coverage=trace-pc calls in at every edge.
 *
 * An edge is a pair of neighbouring calls, hashed to a slot of `counts`; slots touched since the last look stand in
 * `touched`, so that a look costs what was run and not what there is. One thread only.
 */

#include <stddef.h>
#include <stdint.h>

enum { SLOTS = 1 << 20 };

static uint8_t counts[SLOTS];
static uint8_t seen[SLOTS]; /* by slot: a bit for each power of two of counts that was seen */
static uint32_t touched[SLOTS];
static size_t n_touched;
static uintptr_t before;
static int is_on;

void __sanitizer_cov_trace_pc(void)
{
    uintptr_t here;
    uint32_t slot;
    if (!is_on)
        return;
    here = ((uintptr_t)__builtin_return_address(0) * 0x9E3779B97F4A7C15u) >> 20;
    slot = (uint32_t)(here ^ before) & (SLOTS - 1);
    before = here >> 1;
    if (!counts[slot])
        touched[n_touched++] = slot;
    counts[slot] += counts[slot] < 255;
}

/* Count from here on, or no longer. */
void feedback_switch(int on)
{
    is_on = on;
    before = 0;
}

/* Forget the counts. Returns how many of their edges were never seen so often, edges never seen at all in `*n_new`. */
size_t feedback_take(size_t *n_new)
{
    size_t i, n_news = 0;
    *n_new = 0;
    for (i = 0; i < n_touched; i++) {
        uint32_t slot = touched[i];
        uint8_t bit = (uint8_t)(1 << (31 - __builtin_clz(counts[slot])));
        n_news += !(seen[slot] & bit);
        *n_new += !seen[slot];
        seen[slot] |= bit;
        counts[slot] = 0;
    }
    n_touched = 0;
    return n_news;
}
