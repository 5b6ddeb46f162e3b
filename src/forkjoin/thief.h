/* Tasks of fork/join regions, taken by workers that have nothing better to do: what the scheduler's table of parts calls. */
#ifndef WEFT_FORKJOIN_THIEF_H
#define WEFT_FORKJOIN_THIEF_H

#include "sched/sched.h"

/* While runtime->fork_regions is not 0: a process that takes over a task, claimed; or NULL, and those who have tasks have been asked for some. */
struct proc *forkjoin_steal(struct worker *worker);
/* The same by a worker that has others to run: of tasks that lie open; nobody is asked. */
struct proc *forkjoin_take(struct worker *worker);
/* The second look: whether there is a task to be had. If not, the next fork anywhere wakes somebody. */
bool forkjoin_anything(struct worker *worker);
void forkjoin_destroy_all(struct runtime *runtime);

#endif
