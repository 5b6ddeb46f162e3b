/* Running one step of a process: the call of a step process's function, or a stackful process until it leaves its stack. */
#ifndef WEFT_STEP_STEP_H
#define WEFT_STEP_STEP_H

#include "sched/sched.h"

/* Runs a claimed process, then the processes it hands off to. Returns the worker that the thread drives afterwards: often the same one,
 * sometimes another, NULL if it drives none. The thread does not touch `worker` any more (thread.h, D4). */
struct worker *step_run(struct worker *worker, struct proc *proc);

#endif
