/* Counts what ties a process to others, for weft_info. From any thread, but not in signal handlers: it takes locks. */
#ifndef WEFT_LIFE_TALLY_H
#define WEFT_LIFE_TALLY_H

#include "sched/sched.h"

struct tally {
    uint32_t monitors, links; /* that it has */
    uint32_t watchers;        /* monitors, links, joins and calls that will be told of its end */
    weft_pid owner;           /* the process that owns its result; WEFT_NOBODY: none does */
    bool locked;              /* not all was counted: a lock was held */
};
/* Of the process in this slot. Not `waits`: counts what it can without waiting for a lock; for the dump of a thread that has faulted with one. */
struct tally tally_of(struct runtime *runtime, uint32_t slot, bool waits);

#endif
