/* Workers: how many there are, and the loop that their threads run. */
#ifndef WEFT_THREAD_WORKER_H
#define WEFT_THREAD_WORKER_H

#include "sched/sched.h"

void *worker_main(void *worker);
/* Under the lock: one more worker, without a thread yet; NULL when there is no memory. */
struct worker *worker_new(struct runtime *runtime, unsigned index);
/* WEFT_EBUSY: one that was to leave has pinned processes, and stays. No workers at all: they leave whatever they have. */
int workers_set(struct runtime *runtime, unsigned workers);
/* A process is pinned to the worker that runs it, or no longer. worker_pin is false when the worker is to leave; by its own thread. */
bool worker_pin(struct worker *own);
void worker_unpin(struct worker *own);
/* So many workers beside those that are wanted; by sysmon. */
void workers_compensate(struct runtime *runtime, unsigned hogs);
/* Beyond these, if there are more hogs than extra workers: for processes that were stopped and no worker takes (stopped.h, A6); by sysmon. */
void workers_relieve(struct runtime *runtime, unsigned hogs);
/* Sends the worker's thread away: it leaves soon, whatever there is to do, and worker_main returns. */
void worker_dismiss(struct runtime *runtime, struct worker *worker);

#endif
