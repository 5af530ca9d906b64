/* Turns callgrind's counting on and off from Python, and writes what was counted under a name. */
#include <valgrind/callgrind.h>

void begin(void)
{
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void end(const char *name)
{
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}
