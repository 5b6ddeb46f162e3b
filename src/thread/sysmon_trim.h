/* Giving the memory of messages and small blocks back, by sysmon.
 *
 * What a burst has left is found once a second: lists that nobody needed since the last time. They are then given back in slices of at most 0.1 ms
 * for each size, one slice a millisecond, so that sysmon's other duties wait no longer; or all at once, when all workers sleep. */
#ifndef WEFT_THREAD_SYSMON_TRIM_H
#define WEFT_THREAD_SYSMON_TRIM_H

#include "sched/sched.h"

/* Finds what is not needed; or calls everything so that is not in use. */
void trim_survey(struct runtime *runtime, bool all);
void trim_slice(struct runtime *runtime, uint64_t now);
/* All that there is, for as long as nobody wakes up. */
void trim_asleep(struct runtime *runtime);

#endif
