/* Running one step of a process. */
#ifndef WEFT_STEP_STEP_H
#define WEFT_STEP_STEP_H

#include "sched/sched.h"

/* Runs a claimed process, then the processes it hands off to. False: the thread has lost its worker, and must not touch it. */
bool step_run(struct worker *worker, struct proc *proc);

#endif
