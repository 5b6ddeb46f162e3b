/* Sysmon's trimming: giving the memory of messages and small blocks back to the system.
 *
 * What a burst has left is found once a second: free lists that were not used since the last time. They are then given back in slices of
 * at most 0.1 ms for each size, one slice a millisecond, so that sysmon's other duties wait no longer; or all at once, when all workers
 * sleep. */
#ifndef WEFT_THREAD_SYSMON_TRIM_H
#define WEFT_THREAD_SYSMON_TRIM_H

#include "sched/sched.h"

/* Finds what is not needed; `all`: everything that is not in use. */
void trim_survey(struct runtime *runtime, bool all);
void trim_slice(struct runtime *runtime, uint64_t now);
/* Gives everything back, for as long as no worker wakes up. */
void trim_asleep(struct runtime *runtime);

#endif
