/* Stealing of fork/join tasks by idle workers: what the scheduler calls through its table of parts. */
#ifndef WEFT_FORKJOIN_THIEF_H
#define WEFT_FORKJOIN_THIEF_H

#include "sched/sched.h"

/* While runtime->fork_regions is not 0: a thief process, claimed; or NULL, and the owners of regions have been asked to open tasks. */
struct proc *forkjoin_steal(struct worker *worker);
/* The same for a worker that has other processes to run: only for tasks that are open already; no owner is asked. */
struct proc *forkjoin_take(struct worker *worker);
/* The second check before a worker sleeps: whether a task is open. If not, owners have been asked, and the next fork wakes a worker
 * (region.h, T5). */
bool forkjoin_anything(struct worker *worker);
void forkjoin_destroy_all(struct runtime *runtime);

#endif
