/* Deadlines that are durations: when the program began, and what is said. */
#include "sys/deadline.h"

#include "base/assert.h"
#include "sys/sys.h"

uint64_t deadline_earliest;

__attribute__((constructor)) static void deadline_begin(void) { deadline_earliest = sys->now() / 2; }

void deadline_refuse(const char *call) {
    if (sys->now() < deadline_earliest) return;
    WEFT_MISUSE(call, "the deadline is a duration: as a moment of the clock it was over long before this program began",
                "write weft_in(nanoseconds) for so long from now, WEFT_FOREVER for no deadline, 0 for not waiting at all");
}
