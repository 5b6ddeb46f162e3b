/* Workers: making them, changing their number, and the loop that their threads run. */
#ifndef WEFT_THREAD_WORKER_H
#define WEFT_THREAD_WORKER_H

#include "sched/sched.h"

void *worker_main(void *argument);
/* Under `resizing`: makes one more worker, without a thread yet; NULL when there is no memory. */
struct worker *worker_new(struct runtime *runtime, unsigned index);
/* Of one that no thread drives. */
void worker_free(struct worker *worker);
/* WEFT_EBUSY: a worker that was to leave has pinned processes, and stays. `workers` 0: all leave, whatever they have. */
int workers_set(struct runtime *runtime, unsigned workers);
/* Pins the running process to its worker, and unpins it; by the worker's own thread. worker_pin is false when the worker is to leave. */
bool worker_pin(struct worker *own);
void worker_unpin(struct worker *own);
/* Drives `hogs` extra workers beside those wanted, at most extra_most; by sysmon. */
void workers_compensate(struct runtime *runtime, unsigned hogs);
/* Drives relief workers beyond these, if there are more hogs than extra workers: for stopped processes that no worker takes (stopped.h,
 * A6); by sysmon. */
void workers_relieve(struct runtime *runtime, unsigned hogs);
/* Sends the worker's thread away: it leaves soon, whatever there is to do, and worker_main returns. */
void worker_dismiss(struct runtime *runtime, struct worker *worker);

#endif
